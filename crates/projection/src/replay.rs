//! The log as ACP: what `session/load` replays.
//!
//! In: every event. Out: the `params` of `session/update` notifications. The agent's own
//! updates come out byte for byte; the user's prompts come out as `user_message_chunk`, one
//! per content block, unless the agent has echoed them; the output of terminals that Switchyard
//! served comes out as text. Nothing else is replayed. What we add ourselves stands under
//! `_meta.switchyard`.

mod terminals;

use serde::{Deserialize, Serialize};
use wire::event::PromptReceived;
use wire::{Event, Json};

use super::prompts::{MessageSource, Prompts, UserMessage};
pub use terminals::{OutputPace, TerminalsAsText};

/// Projects a log into the updates of a `session/load`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct AcpReplay {
    session: String,
    prompts: Prompts,
    /// After the replay, to go on with live events.
    pub terminals: TerminalsAsText,
}

impl AcpReplay {
    /// `session` is the id that synthesized updates name.
    pub fn new(session: impl Into<String>) -> Self {
        let session = session.into();
        let terminals = TerminalsAsText::new(&session, false);
        Self { session, prompts: Prompts::default(), terminals }
    }

    /// For a session whose terminals are all served by Switchyard.
    #[must_use]
    pub fn serving_terminals(self) -> Self {
        Self { terminals: TerminalsAsText::new(&self.session, true), ..self }
    }

    pub fn project(&mut self, event: &Event, out: &mut Vec<Json>) {
        for UserMessage { source, .. } in self.prompts.project(event) {
            match source {
                MessageSource::Prompt(blocks) => {
                    out.extend(blocks.iter().map(|block| self.user_chunk(event, block)));
                }
                MessageSource::Agent(params) => out.push(params),
            }
        }
        let told = self.terminals.project(event, OutputPace::AtTheEnd);
        match event.kind.update_name() {
            Some("user_message_chunk") => {}
            None => out.extend(told),
            Some(_) => out.push(told.unwrap_or_else(|| event.payload.clone())),
        }
    }

    /// The `user_message_chunk` updates of a prompt.
    pub fn prompt(&self, event: &Event, received: &PromptReceived<'_>) -> Vec<Json> {
        let blocks: Vec<Json> = received.prompt.read().unwrap_or_default();
        blocks.iter().map(|block| self.user_chunk(event, block)).collect()
    }

    fn user_chunk(&self, event: &Event, block: &Json) -> Json {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct SessionUpdateParams<'a> {
            session_id: &'a str,
            update: UserChunk<'a>,
        }
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct UserChunk<'a> {
            session_update: &'static str,
            content: &'a Json,
            #[serde(rename = "_meta")]
            meta: serde_json::Value,
        }
        let origin = serde_json::json!({ "seq": event.seq.0, "turn": event.turn });
        let update = UserChunk {
            session_update: "user_message_chunk",
            content: block,
            meta: serde_json::json!({ "switchyard": origin }),
        };
        Json::of(&SessionUpdateParams { session_id: &self.session, update })
    }
}

#[cfg(test)]
mod tests;
