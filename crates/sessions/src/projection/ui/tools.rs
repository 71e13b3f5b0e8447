//! Tool calls for the user interface: one `tool_use`, one `tool_result` each.
//!
//! In: the pieces of tool calls. Out: `tool_use` when the input is whole or can no longer
//! come, `tool_result` with the text of what the tool gave back.

use wire::{Event, Json};

use super::{AgentUpdate, Ui, UiEvent};
use crate::projection::diff::unified;
use crate::projection::json::Object;
use crate::projection::printed::Printed;
use crate::projection::terminals::Terminals;
use crate::projection::tools::{Entry, Output, Status, ToolCall};
use wire::event::Outcome;

#[derive(Debug, Default)]
pub(super) struct Marks {
    is_use_told: bool,
    is_result_told: bool,
    first_seen: i64,
}

impl Ui {
    pub(super) fn tool(&mut self, event: &Event, fields: &Object<'_>, out: &mut Vec<UiEvent>) {
        let turn = event.turn.or(self.turn.as_ref().and_then(|turn| turn.id));
        let (Entry { call, marks }, is_new) = self.tools.merge(turn, fields);
        if is_new {
            marks.first_seen = event.at.0;
        }
        let has_input = call.input().is_some() && !call.is_being_written();
        if has_input || call.is_ended() {
            tell_use(call, marks, out);
        }
        if call.is_ended() {
            // Some agents call a command that failed a call that went well.
            let has_failed = Printed::of(call, &self.terminals)
                .and_then(|printed| printed.end)
                .is_some_and(|end| end.failure().is_some());
            let is_error = call.status != Some(Status::Completed) || has_failed;
            tell_result(call, marks, &self.terminals, is_error, out);
        }
    }

    /// A question shows what it is about, whether or not there is an input.
    pub(super) fn tool_in_question(
        &mut self,
        event: &Event,
        fields: &Object<'_>,
        out: &mut Vec<UiEvent>,
    ) {
        let turn = event.turn.or(self.turn.as_ref().and_then(|turn| turn.id));
        let (Entry { call, marks }, is_new) = self.tools.merge(turn, fields);
        if is_new {
            marks.first_seen = event.at.0;
        }
        tell_use(call, marks, out);
    }

    /// Tells of the calls whose input was awaited: the agent has gone on to something else,
    /// so there is no more to wait for.
    pub(super) fn tell_waiting_tools(&mut self, out: &mut Vec<UiEvent>) {
        for Entry { call, marks } in self.tools.current() {
            tell_use(call, marks, out);
        }
    }

    /// Ends what the agent left open: a page must not wait for it for ever.
    pub(super) fn close_tools(&mut self, outcome: Outcome, out: &mut Vec<UiEvent>) {
        for Entry { call, marks } in self.tools.current() {
            tell_use(call, marks, out);
            tell_result(call, marks, &self.terminals, outcome != Outcome::Completed, out);
        }
        self.tools.end_turn();
    }
}

fn tell_use(call: &ToolCall, marks: &mut Marks, out: &mut Vec<UiEvent>) {
    if std::mem::replace(&mut marks.is_use_told, true) {
        return;
    }
    out.push(UiEvent::Agent(AgentUpdate::ToolUse {
        id: call.id.clone(),
        name: call.name().to_owned(),
        input: call.input().cloned().unwrap_or_else(|| Json::trusted("{}")),
        started_at: marks.first_seen,
    }));
}

fn tell_result(
    call: &ToolCall,
    marks: &mut Marks,
    terminals: &Terminals,
    is_error: bool,
    out: &mut Vec<UiEvent>,
) {
    if std::mem::replace(&mut marks.is_result_told, true) {
        return;
    }
    out.push(UiEvent::Agent(AgentUpdate::ToolResult {
        tool_use_id: call.id.clone(),
        content: result_text(call, terminals),
        is_error,
    }));
}

fn result_text(call: &ToolCall, terminals: &Terminals) -> String {
    let texts = call.output.iter().map(|output| match output {
        Output::Text(text) | Output::Other(text) => text.clone(),
        Output::Diff(file) => unified(file),
        Output::Terminal(id) => printed_text(call, terminals)
            .filter(|text| !text.is_empty())
            .or_else(|| call.raw_output_text())
            .unwrap_or_else(|| format!("[terminal {id}]")),
    });
    let text = texts.filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n");
    if text.is_empty() { call.raw_output_text().unwrap_or_default() } else { text }
}

/// What a command printed, and how it failed if it did.
fn printed_text(call: &ToolCall, terminals: &Terminals) -> Option<String> {
    let Printed { text, end, .. } = Printed::of(call, terminals)?;
    Some(match end.and_then(|end| end.failure()) {
        Some(failure) => format!("{text}\n\n{failure}").trim_start().to_owned(),
        None => text,
    })
}
