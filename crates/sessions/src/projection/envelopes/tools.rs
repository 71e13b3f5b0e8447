//! Tool calls as envelopes: one start, one end.
//!
//! In: the pieces of tool calls. Out: `tool-call-start` when a call is first seen (or, if
//! its input is still being written, as soon as it no longer is), and `tool-call-end` when
//! it ends or its turn does. An end may stand alone, for a call that
//! nobody has seen start; a start never does.

use wire::{CallId, Event, Json, TurnId};

use super::{Envelope, Envelopes, Ev, media_ev};
use crate::projection::json::Object;
use crate::projection::tools::{Entry, ToolCall};
use crate::projection::view::{Block, blocks, inline};

#[derive(Debug, Default)]
pub(super) struct Marks {
    pub(super) is_started: bool,
    is_ended: bool,
    /// How many of its images were told; each piece of a call repeats those before.
    n_media: usize,
}

/// What told us about a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sighting {
    Call,
    Update,
    Question,
}

impl Envelopes {
    pub(super) fn tool(
        &mut self,
        event: &Event,
        fields: &Object<'_>,
        sighting: Sighting,
        out: &mut Vec<Envelope>,
    ) {
        // Its start stands before what it does.
        self.subagent_of(event, fields, out);
        let turn = self.turn_of(event);
        let mut tools = std::mem::take(&mut self.tools);
        let (Entry { call, marks }, is_new) = tools.merge(turn, fields);
        // The result of a call that nobody has seen start is an end without a start.
        let is_orphan = is_new && sighting == Sighting::Update && call.is_ended();
        marks.is_started |= is_orphan;
        if !marks.is_started && (sighting == Sighting::Question || !call.is_being_written()) {
            marks.is_started = true;
            self.start_call(event, call, out);
        }
        if marks.is_started && !marks.is_ended {
            self.media(event, call, fields, &mut marks.n_media, out);
        }
        if call.is_ended() && !std::mem::replace(&mut marks.is_ended, true) {
            self.end_call(event, call, out);
            let (turn, id) = (call.turn, call.id.clone());
            self.stop_subagent(event, turn, &id, out);
        }
        self.tools = tools;
    }

    /// Images and sounds among what a tool gave back; the rest the protocol has no place for.
    fn media(
        &mut self,
        event: &Event,
        call: &ToolCall,
        fields: &Object<'_>,
        n_told: &mut usize,
        out: &mut Vec<Envelope>,
    ) {
        let contents = fields.items("content").into_iter();
        // Some agents leave the wrapper out and send the block itself.
        let blocks = contents.flat_map(|node| match node.object().get("content") {
            Some(wrapped) => blocks(Some(wrapped)),
            None => vec![Block::of(node)],
        });
        for ev in blocks.filter_map(|block| media_ev(&block)).skip(*n_told) {
            *n_told += 1;
            self.push_from(self.subagent_behind(call), event, call.turn, ev, out);
        }
    }

    fn subagent_behind(&self, call: &ToolCall) -> Option<CallId> {
        call.parent.as_deref().map(|parent| self.subagent_id(call.turn, parent))
    }

    /// Starts the calls whose input was being written: the agent has gone on to something
    /// else, so there is no more to wait for.
    pub(super) fn start_waiting_calls(&mut self, event: &Event, out: &mut Vec<Envelope>) {
        let mut tools = std::mem::take(&mut self.tools);
        for Entry { call, marks } in tools.current() {
            if !std::mem::replace(&mut marks.is_started, true) {
                self.start_call(event, call, out);
            }
        }
        self.tools = tools;
    }

    pub(super) fn start_call(&mut self, event: &Event, call: &ToolCall, out: &mut Vec<Envelope>) {
        let name = call.name();
        let started = Ev::ToolCallStart {
            call: self.call_id(call.turn, &call.id),
            name: name.to_owned(),
            title: inline(call.title.as_deref().unwrap_or(name)),
            description: inline(&describe(call)),
            args: call.input().cloned().unwrap_or_else(|| Json::trusted("{}")),
        };
        self.push_from(self.subagent_behind(call), event, call.turn, started, out);
    }

    fn end_call(&mut self, event: &Event, call: &ToolCall, out: &mut Vec<Envelope>) {
        let ended = Ev::ToolCallEnd { call: self.call_id(call.turn, &call.id) };
        self.push_from(self.subagent_behind(call), event, call.turn, ended, out);
    }

    /// Ends the calls that the agent left open in the turn that ends.
    pub(super) fn end_open_calls(&mut self, event: &Event, out: &mut Vec<Envelope>) {
        let mut tools = std::mem::take(&mut self.tools);
        for Entry { call, marks } in tools.current() {
            if marks.is_started && !std::mem::replace(&mut marks.is_ended, true) {
                self.end_call(event, call, out);
            }
        }
        self.tools = tools;
    }

    fn call_id(&self, turn: Option<TurnId>, id: &str) -> CallId {
        let turn = turn.as_ref().map_or("", TurnId::as_str);
        CallId::derived(&[self.session.as_bytes(), b"call", turn.as_bytes(), id.as_bytes()])
    }
}

fn describe(call: &ToolCall) -> String {
    call.input_words("description")
        .or_else(|| call.command())
        .or_else(|| call.paths.first().cloned())
        .unwrap_or_else(|| format!("Running {}", call.name()))
}
