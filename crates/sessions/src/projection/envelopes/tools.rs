//! Tool calls as envelopes: one start, one end.
//!
//! In: the pieces of tool calls. Out: `tool-call-start` when a call is first seen (or, if
//! its input is still being written, as soon as it no longer is), and `tool-call-end` when
//! it ends or its turn does. An end may stand alone, for a call that
//! nobody has seen start; a start never does.

use wire::{CallId, Event, Json, TurnId};

use super::{Envelope, Envelopes, Ev, Role};
use crate::projection::json::Object;
use crate::projection::tools::{Entry, ToolCall};

/// Longest title and description; they are shown in one line.
const LONGEST_INLINE: usize = 200;

#[derive(Debug, Default)]
pub(super) struct Marks {
    is_started: bool,
    is_ended: bool,
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
        if call.is_ended() && !std::mem::replace(&mut marks.is_ended, true) {
            let ended = Ev::ToolCallEnd { call: self.call_id(call.turn, &call.id) };
            self.push(event, Role::Agent, call.turn, ended, out);
        }
        self.tools = tools;
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

    fn start_call(&mut self, event: &Event, call: &ToolCall, out: &mut Vec<Envelope>) {
        let name = call.name();
        let started = Ev::ToolCallStart {
            call: self.call_id(call.turn, &call.id),
            name: name.to_owned(),
            title: inline(call.title.as_deref().unwrap_or(name)),
            description: inline(&describe(call)),
            args: call.input().cloned().unwrap_or_else(|| Json::trusted("{}")),
        };
        self.push(event, Role::Agent, call.turn, started, out);
    }

    /// Ends the calls that the agent left open in the turn that ends.
    pub(super) fn end_open_calls(&mut self, event: &Event, out: &mut Vec<Envelope>) {
        let mut tools = std::mem::take(&mut self.tools);
        for Entry { call, marks } in tools.current() {
            if marks.is_started && !std::mem::replace(&mut marks.is_ended, true) {
                let ended = Ev::ToolCallEnd { call: self.call_id(call.turn, &call.id) };
                self.push(event, Role::Agent, call.turn, ended, out);
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

/// `text` as one line without control characters, so that it stays inline markdown.
fn inline(text: &str) -> String {
    let text = text.replace(char::is_control, " ");
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match text.char_indices().nth(LONGEST_INLINE) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
