//! Sub-agents as envelopes: a start, what they do under an id of their own, a stop.
//!
//! In: what an agent tells on behalf of one of its calls. Out: `start` before the first of it,
//! `stop` when that call or its turn has ended, each once. The id is derived from the call's own,
//! which the protocol does not allow here.

use std::collections::HashSet;

use wire::{CallId, Event, TurnId};

use super::{Envelope, Envelopes, Ev};
use crate::projection::json::Object;
use crate::projection::tools::Entry;
use crate::projection::view::{inline, parent_call};

/// A sub-agent is known by the call that it works for.
type Key = (Option<TurnId>, String);

#[derive(Debug, Default)]
pub(super) struct Subagents {
    begun: HashSet<Key>,
    /// Those that have not stopped, in the order in which they began.
    running: Vec<Key>,
}

impl Envelopes {
    /// The sub-agent that tells `fields`, if one does.
    pub(super) fn subagent_of(
        &mut self,
        event: &Event,
        fields: &Object<'_>,
        out: &mut Vec<Envelope>,
    ) -> Option<CallId> {
        let parent = parent_call(fields)?;
        let turn = self.turn_of(event);
        let subagent = self.subagent_id(turn, &parent);
        let key = (turn, parent);
        if self.subagents.begun.insert(key.clone()) {
            let title = self.title_of_parent(event, &key, out);
            self.subagents.running.push(key);
            self.push_from(Some(subagent), event, turn, Ev::Start { title }, out);
        }
        Some(subagent)
    }

    pub(super) fn subagent_id(&self, turn: Option<TurnId>, parent: &str) -> CallId {
        let turn = turn.as_ref().map_or("", TurnId::as_str);
        let parts = [self.session.as_bytes(), b"subagent", turn.as_bytes(), parent.as_bytes()];
        CallId::derived(&parts)
    }

    /// The call itself is told before the one that works for it.
    fn title_of_parent(
        &mut self,
        event: &Event,
        (turn, parent): &Key,
        out: &mut Vec<Envelope>,
    ) -> Option<String> {
        let mut tools = std::mem::take(&mut self.tools);
        let title = tools.find(*turn, parent).and_then(|Entry { call, marks }| {
            if !std::mem::replace(&mut marks.is_started, true) {
                self.start_call(event, call, out);
            }
            call.title.as_deref().map(inline)
        });
        self.tools = tools;
        title
    }

    /// The call that a sub-agent worked for has ended.
    pub(super) fn stop_subagent(
        &mut self,
        event: &Event,
        turn: Option<TurnId>,
        parent: &str,
        out: &mut Vec<Envelope>,
    ) {
        let is_its = |key: &Key| key.0 == turn && key.1 == parent;
        let Some(place) = self.subagents.running.iter().position(is_its) else { return };
        let key = self.subagents.running.remove(place);
        self.stop(event, &key, out);
    }

    /// Nothing of a turn goes on after its end.
    pub(super) fn stop_subagents(&mut self, event: &Event, out: &mut Vec<Envelope>) {
        for key in std::mem::take(&mut self.subagents.running) {
            self.stop(event, &key, out);
        }
    }

    fn stop(&mut self, event: &Event, (turn, parent): &Key, out: &mut Vec<Envelope>) {
        let subagent = self.subagent_id(*turn, parent);
        self.push_from(Some(subagent), event, *turn, Ev::Stop {}, out);
    }
}
