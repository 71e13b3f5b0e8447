//! Early messages: those of an agent that come before its session can take them.
//!
//! Always true: they are bounded in bytes, whatever an agent says while it is given a session.
//! Later updates of a state replace earlier ones, so the oldest goes first; requests stay, since
//! the agent waits for their answers, and has only so many open at once.

use std::collections::VecDeque;

use crate::host::AgentMessage;

/// The bound in bytes: a list of models or commands has some hundred KiB.
const MAX_BYTES: usize = 4 << 20;
const MAX_MESSAGES: usize = 4096;

#[derive(Debug, Default)]
pub(crate) struct EarlyMessages {
    messages: VecDeque<AgentMessage>,
    n_bytes: usize,
}

impl EarlyMessages {
    pub(crate) fn push(&mut self, message: AgentMessage) {
        self.n_bytes += counted_bytes(&message);
        self.messages.push_back(message);
        while self.n_bytes > MAX_BYTES || self.messages.len() > MAX_MESSAGES {
            let Some(at) = self.messages.iter().position(may_go) else { break };
            if let Some(gone) = self.messages.remove(at) {
                self.n_bytes = self.n_bytes.saturating_sub(counted_bytes(&gone));
            }
        }
    }

    pub(crate) fn extend(&mut self, batch: Vec<AgentMessage>) {
        for message in batch {
            self.push(message);
        }
    }

    pub(crate) fn retain(&mut self, keep: impl Fn(&AgentMessage) -> bool) {
        self.messages.retain(keep);
        self.n_bytes = self.messages.iter().map(counted_bytes).sum();
    }

    pub(crate) fn len(&self) -> usize {
        self.messages.len()
    }

    pub(crate) fn into_messages(self) -> Vec<AgentMessage> {
        self.messages.into()
    }
}

fn may_go(message: &AgentMessage) -> bool {
    !matches!(message, AgentMessage::Request(_) | AgentMessage::Answer { .. })
}

/// The bytes that count; messages that have to stay take no room from the others.
fn counted_bytes(message: &AgentMessage) -> usize {
    if may_go(message) { message.n_bytes() } else { 0 }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use wire::{Json, Kind};

    use super::*;

    fn update(n: usize, n_bytes: usize) -> AgentMessage {
        let payload = Json::of(&json!({ "n": n, "text": "x".repeat(n_bytes) }));
        AgentMessage::Update { kind: Kind::update("config_option_update"), payload }
    }

    #[test]
    fn of_a_flood_the_newest_is_kept_and_it_is_bounded() {
        let mut early = EarlyMessages::default();
        for n in 0..1000 {
            early.push(update(n, 64 << 10));
        }
        let messages = early.into_messages();
        let n_bytes: usize = messages.iter().map(counted_bytes).sum();
        assert!(n_bytes <= MAX_BYTES && n_bytes > MAX_BYTES / 2, "{n_bytes}");
        let Some(AgentMessage::Update { payload, .. }) = messages.last() else { panic!() };
        assert_eq!(payload.read::<serde_json::Value>().unwrap()["n"], 999);

        let mut small = EarlyMessages::default();
        small.extend((0..(2 * MAX_MESSAGES)).map(|n| update(n, 1)).collect());
        assert_eq!(small.into_messages().len(), MAX_MESSAGES);
        let mut one = EarlyMessages::default();
        one.push(update(0, MAX_BYTES + 1));
        assert!(one.into_messages().is_empty());
    }
}
