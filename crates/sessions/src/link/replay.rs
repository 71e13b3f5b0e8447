//! Swallows an agent's replay of a conversation that it opens again.
//!
//! In: the request that opens the conversation. Out: its answer, messages with it that are no
//! part of the conversation, and the user's prompts in it. ACP lets `session/load` replay and
//! `session/resume` not, but there are agents that replay with both. An agent's questions are
//! never swallowed: it waits for the answers.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use wire::Json;
use wire::event::ResumeWay;

use super::{
    AgentLink, EarlierSession, EarlyMessages, LinkError, ReopenFailure, explain, params_for,
    reopen_failure,
};
use crate::host::{AgentMessage, Host};
use crate::name_list::names;
use bus::connection::{CallError, RpcResult};

/// A conversation that an agent has opened again.
pub(super) struct ReopenedSession {
    /// Its early messages are those so far that are no part of the conversation.
    pub(super) link: AgentLink,
    pub(super) prompts: ReplayedPrompts,
}

impl ReopenedSession {
    /// Asks for the conversation, to be resumed or loaded.
    pub(super) async fn ask(
        host: &Arc<Host>,
        public_id: &str,
        agent_session: &str,
        how: ResumeWay,
        known: &EarlierSession,
    ) -> Result<Self, ReopenFailure> {
        let method = if how == ResumeWay::Load { "session/load" } else { "session/resume" };
        let params = params_for(agent_session, &known.made_of.new_params);
        let taken = || ReopenFailure::Lost("another open session has it".into());
        let messages = host.routes.add(agent_session, public_id).ok_or_else(taken)?;
        host.resume();
        let tag = host.routes.tag(agent_session);
        let fail = |error| reopen_failure(host, agent_session, error);
        host.connection
            .call_tagged(tag, method, &params)
            .map_err(|error| fail(explain(host, method, error)))?;
        let link = AgentLink {
            host: host.clone(),
            agent_session: agent_session.to_owned(),
            messages,
            early: EarlyMessages::default(),
            answer: Json::trusted("{}"),
            how,
        };
        let mut replay = Self { link, prompts: ReplayedPrompts::default() };
        let within = host.settings.open_within;
        let outcome = match tokio::time::timeout(within, replay.until_answer(tag)).await {
            Ok(Some(outcome)) => outcome,
            Ok(None) => return Err(ReopenFailure::Fatal(LinkError::AgentEnded)),
            Err(_) => return Err(fail(LinkError::Silent { method, waited: within })),
        };
        let explained = |error| explain(host, method, CallError::Refused(error));
        replay.link.answer = outcome.map_err(|error| fail(explained(error)))?;
        Ok(replay)
    }

    /// Reads the agent's messages until it has answered; `None` when it ends before.
    async fn until_answer(&mut self, tag: u64) -> Option<RpcResult> {
        let mut answer = None;
        while answer.is_none() {
            for message in self.link.messages.recv().await? {
                match message {
                    AgentMessage::Answer { tag: answered, outcome } if answered == tag => {
                        answer = Some(outcome);
                    }
                    message if answer.is_some() => self.link.early.push(message),
                    message => self.hear(message),
                }
            }
        }
        answer
    }

    fn hear(&mut self, message: AgentMessage) {
        match is_conversation(&message) {
            true => self.prompts.hear(&message),
            false => self.link.early.push(message),
        }
    }

    /// Reads the messages after the answer, until the agent is quiet for a moment.
    pub(super) async fn read_late(&mut self) {
        /// The replay follows the answer within milliseconds, or not at all.
        const QUIET: Duration = Duration::from_millis(300);
        const AT_MOST: Duration = Duration::from_secs(2);
        for message in std::mem::take(&mut self.link.early).into_messages() {
            self.hear(message);
        }
        let hearing = async {
            while let Ok(Some(batch)) = tokio::time::timeout(QUIET, self.link.messages.recv()).await
            {
                for message in batch {
                    self.hear(message);
                }
            }
        };
        let _ = tokio::time::timeout(AT_MOST, hearing).await;
    }
}

/// Whether a message is part of the conversation, and not an update of a state.
pub(super) fn is_conversation(message: &AgentMessage) -> bool {
    const NAMES: &[&str] = names!(
        "user_message_chunk agent_message_chunk agent_thought_chunk tool_call tool_call_update plan \
         plan_update"
    );
    let AgentMessage::Update { kind, .. } = message else { return false };
    kind.update_name().is_some_and(|name| NAMES.contains(&name))
}

/// The user's side of a replayed conversation.
#[derive(Debug, Default)]
pub(super) struct ReplayedPrompts(String);

impl ReplayedPrompts {
    /// Kept text: more is not needed to recognise one prompt.
    const MAX_BYTES: usize = 1 << 20;

    fn hear(&mut self, message: &AgentMessage) {
        let AgentMessage::Update { kind, payload } = message else { return };
        if kind.update_name() != Some("user_message_chunk") {
            return;
        }
        let value: Value = payload.read().unwrap_or_default();
        if let Some(text) = value["update"]["content"]["text"].as_str() {
            if self.0.len() > Self::MAX_BYTES {
                self.0.clear();
            }
            self.0.push_str(text);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Agents trim and wrap what they replay, so only letters and digits are compared.
    pub(super) fn has(&self, prompt: &str) -> bool {
        let plain = |text: &str| text.chars().filter(|c| c.is_alphanumeric()).collect::<String>();
        plain(&self.0).contains(&plain(prompt))
    }
}
