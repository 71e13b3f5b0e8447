//! Sub-agents as envelopes: a start, what they do under an id of their own, a stop.
//!
//! In: messages that an agent sends on behalf of one of its calls. Out: `start` before the first of
//! them, `stop` when that call or its turn has ended, each once. The id is derived from the call's
//! own, which the protocol does not allow here.

use std::collections::HashSet;

use wire::{CallId, TurnId};

use super::{EnvelopeEvent, EnvelopesProjection};
use crate::conversation::Conversation;
use crate::inline::inline;

/// A sub-agent is known by the call that it works for.
type SubagentKey = (Option<TurnId>, String);

#[derive(Debug, Clone, Default)]
pub(super) struct Subagents {
    begun: HashSet<SubagentKey>,
    /// Those that have not stopped, in the order in which they began.
    running: Vec<SubagentKey>,
}

impl EnvelopesProjection {
    /// The sub-agent that works for the call `parent`, which has begun by now.
    pub(super) fn subagent_of(
        &mut self,
        turn: Option<TurnId>,
        parent: &str,
        now: &Conversation,
    ) -> CallId {
        let subagent = self.subagent_id(turn, parent);
        let key = (turn, parent.to_owned());
        if self.subagents.begun.insert(key.clone()) {
            let title = now.find_call(turn, parent).and_then(|call| call.title.as_deref());
            let started = EnvelopeEvent::Start { title: title.map(inline) };
            self.subagents.running.push(key);
            self.push_from(Some(subagent), self.turn_of(now), started, now);
        }
        subagent
    }

    pub(super) fn subagent_id(&self, turn: Option<TurnId>, parent: &str) -> CallId {
        let turn = turn.as_ref().map_or("", TurnId::as_str);
        let parts = [self.session.as_bytes(), b"subagent", turn.as_bytes(), parent.as_bytes()];
        CallId::derived(&parts)
    }

    /// The call that a sub-agent worked for has ended.
    pub(super) fn stop_subagent(&mut self, turn: Option<TurnId>, parent: &str, now: &Conversation) {
        let is_its = |key: &SubagentKey| key.0 == turn && key.1 == parent;
        let Some(place) = self.subagents.running.iter().position(is_its) else { return };
        let key = self.subagents.running.remove(place);
        self.stop(&key, now);
    }

    /// Stops all sub-agents: nothing of a turn goes on after its end.
    pub(super) fn stop_subagents(&mut self, now: &Conversation) {
        for key in std::mem::take(&mut self.subagents.running) {
            self.stop(&key, now);
        }
    }

    fn stop(&mut self, (turn, parent): &SubagentKey, now: &Conversation) {
        let subagent = self.subagent_id(*turn, parent);
        self.push_from(Some(subagent), *turn, EnvelopeEvent::Stop {}, now);
    }
}
