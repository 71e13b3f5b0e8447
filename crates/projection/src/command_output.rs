//! The output of the command that a tool call ran, and how it ended.
//!
//! In: a tool call that ran a command, and what is known of the terminals that Switchyard
//! served. Out: its output without what surrounds it, and its exit code where anybody says it:
//! the log of its terminal, or the agent, as members of the raw output or around the text.

use super::calls::{ToolCall, ToolOutput};
use super::json::{JsonNode, JsonObject};
use super::terminals::{CommandEnd, Terminals};
use wire::Json;

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct CommandOutput {
    pub(crate) text: String,
    pub(crate) end: Option<CommandEnd>,
    /// The text is the terminal's own, without words of the agent.
    pub(crate) is_from_terminal: bool,
}

impl CommandEnd {
    /// The end as the agent reports it, in the text of a tool call and in its raw output.
    pub fn reported_by_agent(text: &str, raw_output: Option<&Json>) -> Option<Self> {
        let raw = raw_output.and_then(|raw| CommandOutput::of_raw(JsonNode::of(raw)).0.end);
        raw.or_else(|| CommandOutput::read(text).end)
    }
}

/// Members of a raw output that hold what was printed.
const TEXT_MEMBERS: [&str; 5] =
    ["output", "formatted_output", "aggregated_output", "stdout", "content"];
const CODE_MEMBERS: [&str; 3] = ["exitCode", "exit_code", "exit"];

impl CommandOutput {
    /// `None` for a call that ran no command.
    pub(crate) fn of(call: &ToolCall, terminals: &Terminals) -> Option<Self> {
        let mut shown = call.output.iter().filter_map(|output| match output {
            ToolOutput::Terminal(id) => Some(id),
            ToolOutput::Text(_) | ToolOutput::Diff(_) | ToolOutput::Other(_) => None,
        });
        let terminal = shown.next_back();
        if call.kind.as_deref() != Some("execute") && terminal.is_none() {
            return None;
        }
        let raw = call.raw_output.as_ref().map(|raw| Self::of_raw(JsonNode::of(raw)));
        let (raw, is_whole) = raw.unwrap_or_default();
        if let Some(terminal) = terminal.and_then(|id| terminals.get(id)) {
            let text = wire::text::last_screen(&terminal.text).trim_end().to_owned();
            // The agent's report comes first: it knows why it ended the command.
            let end = raw.end.or_else(|| terminal.end.clone());
            return Some(Self { text, end, is_from_terminal: true });
        }
        let texts = call.output.iter().filter_map(|output| match output {
            ToolOutput::Text(text) => Some(text.as_str()),
            ToolOutput::Diff(_) | ToolOutput::Terminal(_) | ToolOutput::Other(_) => None,
        });
        let mut printed = Self::read(&texts.collect::<Vec<_>>().join("\n"));
        // Where both the output and the end have members of their own, no words of the agent are
        // among them.
        if printed.text.is_empty() || is_whole {
            printed.text = raw.text;
        }
        printed.end = raw.end.or(printed.end);
        Some(printed)
    }

    /// Reads a raw output; the flag says that it has members for both the output and the end.
    fn of_raw(raw: JsonNode<'_>) -> (Self, bool) {
        if let Some(text) = raw.text() {
            return (Self::read(&text), false);
        }
        let fields = raw.object();
        let metadata = fields.object("metadata");
        let code =
            |fields: &JsonObject<'_>| CODE_MEMBERS.iter().find_map(|key| number(fields, key));
        let is_late = fields.get("timedOut").and_then(JsonNode::flag) == Some(true);
        let end = is_late
            .then_some(CommandEnd::TimedOut)
            .or_else(|| {
                fields.label("signal").map(|signal| CommandEnd::Signal(signal.into_owned()))
            })
            .or_else(|| code(&fields).or_else(|| code(&metadata)).map(CommandEnd::Code));
        let texts = || TEXT_MEMBERS.iter().filter_map(|key| fields.text(key));
        let is_whole = end.is_some() && texts().next().is_some();
        let text = texts().find(|text| !text.trim().is_empty());
        let text = text.map(|text| text.trim_end().to_owned()).unwrap_or_default();
        (Self { text, end, is_from_terminal: false }, is_whole)
    }

    /// Takes off a fence of Markdown, and the last line with which Copilot's shell says how the
    /// command ended.
    fn read(text: &str) -> Self {
        let text = without_fence(text.trim_end());
        let (before, last) = text.rsplit_once('\n').unwrap_or(("", text));
        let (text, end) = match end_of_shell(last) {
            Some(end) => (before, Some(end)),
            None => (text, None),
        };
        let text = text.trim_matches('\n').trim_end().to_owned();
        Self { text, end, is_from_terminal: false }
    }
}

fn number(fields: &JsonObject<'_>, key: &str) -> Option<i64> {
    fields.label(key)?.parse().ok()
}

fn without_fence(text: &str) -> &str {
    let ticks = text.len() - text.trim_start_matches('`').len();
    let (fence, rest) = text.split_at(ticks);
    let inside = rest.split_once('\n').and_then(|(_, inside)| inside.strip_suffix(fence));
    if ticks < 3 { text } else { inside.map_or(text, str::trim_end) }
}

fn end_of_shell(line: &str) -> Option<CommandEnd> {
    let shell = line.strip_prefix("<shellId: ")?.strip_suffix('>')?;
    let (_, code) = shell.split_once(" completed with exit code ")?;
    code.parse().ok().map(CommandEnd::Code)
}

#[cfg(test)]
mod tests;
