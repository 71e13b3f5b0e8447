//! One prompt turn: its updates and its stop reason.
//!
//! In: the SDK's pending answer. Out: the stop reason and the session's updates in their order.

use super::record::ClientRecord;
use crate::test_home::PATIENCE;
use agent_client_protocol::Result;
use agent_client_protocol::v1::SentRequest;
use agent_client_protocol::v1::schema::{
    ContentBlock, ContentChunk, PromptResponse, SessionId, SessionUpdate, StopReason,
};
use std::sync::Arc;

/// A turn whose end has not been seen yet.
#[derive(Debug)]
pub struct RunningTurn {
    memory: Arc<ClientRecord>,
    session: SessionId,
    since: usize,
    response: SentRequest<PromptResponse>,
}

#[derive(Debug, Clone)]
pub struct Turn {
    /// The updates between the prompt and its answer.
    pub updates: Vec<SessionUpdate>,
    pub stop_reason: StopReason,
    pub response: PromptResponse,
}

impl RunningTurn {
    pub(super) fn new(
        memory: Arc<ClientRecord>,
        session: SessionId,
        since: usize,
        response: SentRequest<PromptResponse>,
    ) -> Self {
        Self { memory, session, since, response }
    }

    pub async fn finish(self) -> Result<Turn> {
        let response = tokio::time::timeout(PATIENCE, self.response.block_task());
        let response = response.await.expect("the turn does not end")?;
        let updates = self.memory.updates_of(&self.session, self.since);
        Ok(Turn { updates, stop_reason: response.stop_reason, response })
    }
}

impl Turn {
    /// The text of the agent's message chunks.
    pub fn text(&self) -> String {
        self.chunks(|update| match update {
            SessionUpdate::AgentMessageChunk(chunk) => Some(chunk),
            _ => None,
        })
    }

    /// The text of the agent's thought chunks.
    pub fn thoughts(&self) -> String {
        self.chunks(|update| match update {
            SessionUpdate::AgentThoughtChunk(chunk) => Some(chunk),
            _ => None,
        })
    }

    /// The kinds of the updates as they are on the wire, such as `tool_call`.
    pub fn kinds(&self) -> Vec<String> {
        let kind = |update: &SessionUpdate| {
            serde_json::to_value(update).unwrap()["sessionUpdate"].as_str().unwrap().to_owned()
        };
        self.updates.iter().map(kind).collect()
    }

    fn chunks(&self, pick: impl Fn(&SessionUpdate) -> Option<&ContentChunk>) -> String {
        self.updates.iter().filter_map(pick).map(text_of).collect()
    }
}

/// The text of a chunk; empty for other content.
pub fn text_of(chunk: &ContentChunk) -> &str {
    match &chunk.content {
        ContentBlock::Text(text) => &text.text,
        _ => "",
    }
}
