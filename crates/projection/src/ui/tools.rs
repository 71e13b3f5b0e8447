//! Tool calls for the user interface: one `tool_use`, one `tool_result` each.
//!
//! In: a call. Out: `tool_use` with its input, `tool_result` with the text of what the tool gave
//! back.

use wire::Json;
use wire::event::TurnOutcome;

use super::UiAgentUpdate;
use crate::calls::{CallStatus, ToolCall, ToolOutput};
use crate::command_output::CommandOutput;
use crate::conversation::Conversation;
use crate::diff::unified;
use crate::terminals::Terminals;

pub(super) fn tool_use(call: &ToolCall) -> UiAgentUpdate {
    UiAgentUpdate::ToolUse {
        id: call.id.clone(),
        name: call.name().to_owned(),
        input: call.input().cloned().unwrap_or_else(|| Json::trusted("{}")),
        started_at: call.first_seen.0,
    }
}

/// `turn` is the outcome of the turn, for a call whose own end was not reported: a page must not
/// wait for it for ever.
pub(super) fn tool_result(
    call: &ToolCall,
    now: &Conversation,
    turn: Option<TurnOutcome>,
) -> UiAgentUpdate {
    // Some agents call a command that failed a call that went well.
    let has_failed = || {
        let end = CommandOutput::of(call, now.terminals()).and_then(|printed| printed.end);
        end.is_some_and(|end| end.failure().is_some())
    };
    let is_error = match turn {
        Some(outcome) => outcome != TurnOutcome::Completed,
        None => call.status != Some(CallStatus::Completed) || has_failed(),
    };
    let content = result_text(call, now.terminals());
    UiAgentUpdate::ToolResult { tool_use_id: call.id.clone(), content, is_error }
}

fn result_text(call: &ToolCall, terminals: &Terminals) -> String {
    let texts = call.output.iter().map(|output| match output {
        ToolOutput::Text(text) | ToolOutput::Other(text) => text.clone(),
        ToolOutput::Diff(file) => unified(file),
        ToolOutput::Terminal(id) => printed_text(call, terminals)
            .filter(|text| !text.is_empty())
            .or_else(|| call.raw_output_text())
            .unwrap_or_else(|| format!("[terminal {id}]")),
    });
    let text = texts.filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n");
    if text.is_empty() { call.raw_output_text().unwrap_or_default() } else { text }
}

/// The output of the call's command, and how it failed if it did.
fn printed_text(call: &ToolCall, terminals: &Terminals) -> Option<String> {
    let CommandOutput { text, end, .. } = CommandOutput::of(call, terminals)?;
    Some(match end.and_then(|end| end.failure()) {
        Some(failure) => format!("{text}\n\n{failure}").trim_start().to_owned(),
        None => text,
    })
}
