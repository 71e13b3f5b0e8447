//! Tool calls as envelopes: one start, one end.
//!
//! In: calls that begin and end. Out: `tool-call-start`, and `tool-call-end` when it ends or its
//! turn does. An end may stand alone, for a call that
//! nobody has seen start; a start never does.

use wire::{CallId, Json, TurnId};

use super::{EnvelopeEvent, EnvelopesProjection, media_ev};
use crate::calls::ToolCall;
use crate::content::ContentBlock;
use crate::conversation::Conversation;
use crate::inline::inline;

impl EnvelopesProjection {
    /// The start of a sub-agent stands before what it does.
    pub(super) fn call_seen(&mut self, call: &ToolCall, now: &Conversation) {
        if let Some(parent) = &call.parent {
            self.subagent_of(call.turn, parent, now);
        }
    }

    pub(super) fn start_call(&mut self, call: &ToolCall, now: &Conversation) {
        if call.is_orphan {
            return;
        }
        let name = call.name();
        let started = EnvelopeEvent::ToolCallStart {
            call: self.call_id(call.turn, &call.id),
            name: name.to_owned(),
            title: inline(call.title.as_deref().unwrap_or(name)),
            description: inline(&describe(call)),
            args: call.input().cloned().unwrap_or_else(|| Json::trusted("{}")),
        };
        self.push_from(self.subagent_behind(call), call.turn, started, now);
    }

    /// Images and sounds in a tool's output; the protocol has no place for the rest of it.
    pub(super) fn call_media(
        &mut self,
        call: &ToolCall,
        block: &ContentBlock<'_>,
        now: &Conversation,
    ) {
        if let Some(ev) = media_ev(block) {
            self.push_from(self.subagent_behind(call), call.turn, ev, now);
        }
    }

    pub(super) fn end_call(&mut self, call: &ToolCall, now: &Conversation) {
        if !call.is_left_open {
            self.leave_call(call, now);
            self.stop_subagent(call.turn, &call.id, now);
        }
    }

    pub(super) fn leave_call(&mut self, call: &ToolCall, now: &Conversation) {
        let ended = EnvelopeEvent::ToolCallEnd { call: self.call_id(call.turn, &call.id) };
        self.push_from(self.subagent_behind(call), call.turn, ended, now);
    }

    fn subagent_behind(&self, call: &ToolCall) -> Option<CallId> {
        call.parent.as_deref().map(|parent| self.subagent_id(call.turn, parent))
    }

    fn call_id(&self, turn: Option<TurnId>, id: &str) -> CallId {
        let turn = turn.as_ref().map_or("", TurnId::as_str);
        CallId::derived(&[self.session.as_bytes(), b"call", turn.as_bytes(), id.as_bytes()])
    }
}

fn describe(call: &ToolCall) -> String {
    call.input_text("description")
        .or_else(|| call.command())
        .or_else(|| call.locations.first().map(|place| place.path.clone()))
        .unwrap_or_else(|| format!("Running {}", call.name()))
}
