//! What a command printed, and how it ended.
//!
//! In: a tool call that ran a command. Out: its output without what surrounds it, and its
//! exit code where anybody says it. Agents say it in their own ways: as members of the raw
//! output, or in words before or after it. A terminal is gone when a log is read, so what was
//! in it is what the agent reports at the call's end.

use super::json::{Node, Object};
use super::tools::{Output, ToolCall};

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Printed {
    pub(crate) text: String,
    pub(crate) end: Option<End>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum End {
    Code(i64),
    /// Its name or number.
    Signal(String),
    TimedOut,
    /// Nobody knows how.
    Unknown,
}

impl End {
    /// How it failed, if it did: `failed with exit code 2`.
    pub(crate) fn failure(&self) -> Option<String> {
        match self {
            Self::Code(0) | Self::Unknown => None,
            Self::Code(code) => Some(format!("failed with exit code {code}")),
            Self::Signal(signal) => Some(format!("was killed by {signal}")),
            Self::TimedOut => Some("took too long and was ended".to_owned()),
        }
    }
}

/// Members of a raw output that hold what was printed.
const TEXT_MEMBERS: [&str; 5] =
    ["output", "formatted_output", "aggregated_output", "stdout", "content"];
const CODE_MEMBERS: [&str; 3] = ["exitCode", "exit_code", "exit"];

impl Printed {
    /// Nothing for a call that ran no command.
    pub(crate) fn of(call: &ToolCall) -> Option<Self> {
        let is_terminal = |output: &Output| matches!(output, Output::Terminal(_));
        let is_command =
            call.kind.as_deref() == Some("execute") || call.output.iter().any(is_terminal);
        if !is_command {
            return None;
        }
        let texts = call.output.iter().filter_map(|output| match output {
            Output::Text(text) => Some(text.as_str()),
            Output::Diff(_) | Output::Terminal(_) | Output::Other(_) => None,
        });
        let mut printed = Self::read(&texts.collect::<Vec<_>>().join("\n"));
        if let Some(raw) = &call.raw_output {
            let raw = Self::of_raw(Node::of(raw));
            if printed.text.is_empty() {
                printed.text = raw.text;
            }
            printed.end = printed.end.or(raw.end);
        }
        Some(printed)
    }

    fn of_raw(raw: Node<'_>) -> Self {
        if let Some(text) = raw.text() {
            return Self::read(&text);
        }
        let fields = raw.object();
        let metadata = fields.object("metadata");
        let code = |fields: &Object<'_>| CODE_MEMBERS.iter().find_map(|key| number(fields, key));
        let end = fields
            .label("signal")
            .map(|signal| End::Signal(signal.into_owned()))
            .or_else(|| code(&fields).or_else(|| code(&metadata)).map(End::Code));
        let text = TEXT_MEMBERS.iter().find_map(|key| fields.words(key));
        Self { text: text.map(|text| text.trim_end().to_owned()).unwrap_or_default(), end }
    }

    /// Takes off a fence of Markdown, and the sentence with which an agent says how the command
    /// ended. The built-in one says it before the output to the model, after it to people.
    fn read(text: &str) -> Self {
        let text = without_fence(text.trim_end());
        let (first, after) = text.split_once('\n').unwrap_or((text, ""));
        let (before, last) = text.rsplit_once('\n').unwrap_or(("", text));
        let (text, end) = match (sentence(first), sentence(last)) {
            (Some(end), _) => (after, Some(end)),
            (None, Some(end)) => (before, Some(end)),
            (None, None) => (text, None),
        };
        let text = match text.trim_matches('\n').trim_end() {
            "(no output)" => "",
            text => text,
        };
        Self { text: text.to_owned(), end }
    }
}

fn number(fields: &Object<'_>, key: &str) -> Option<i64> {
    fields.label(key)?.parse().ok()
}

fn without_fence(text: &str) -> &str {
    let ticks = text.len() - text.trim_start_matches('`').len();
    let (fence, rest) = text.split_at(ticks);
    let inside = rest.split_once('\n').and_then(|(_, inside)| inside.strip_suffix(fence));
    if ticks < 3 { text } else { inside.map_or(text, str::trim_end) }
}

/// How a command ended, if this is a sentence about it of an agent that we know.
fn sentence(line: &str) -> Option<End> {
    let word_after = |words: &str| line.strip_prefix(words)?.split_once(" after ");
    let code = word_after("Exit code ").or_else(|| word_after("Failed with exit code "));
    if let Some((code, _)) = code {
        return code.parse().ok().map(End::Code);
    }
    if let Some((signal, _)) = word_after("Killed by ").filter(|_| line.ends_with(" s.")) {
        return Some(End::Signal(signal.to_owned()));
    }
    // So says Copilot's shell, in the last line.
    let shell = line.strip_prefix("<shellId: ").and_then(|rest| rest.strip_suffix('>'));
    if let Some((_, code)) = shell.and_then(|rest| rest.split_once(" completed with exit code ")) {
        return code.parse().ok().map(End::Code);
    }
    if line.starts_with("Ended by us, ") {
        return Some(End::TimedOut);
    }
    let is_unknown = line.starts_with("Ended after ") && line.ends_with("; nobody knows how.");
    is_unknown.then_some(End::Unknown)
}

#[cfg(test)]
mod tests;
