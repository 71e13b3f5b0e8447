//! A tool call, put together from the pieces that agents send.
//!
//! A field that is missing or null leaves what was known. What has ended has ended.

use std::borrow::Cow;
use std::collections::HashSet;

use serde_json::Value;
use sessions::projection::{Diff, DiffMark, sanitize};

use super::reading::{line, lines, text_of};
use super::terminals::id_of;
use crate::shell;

/// The end of an output is what tells how it went.
const MAX_TEXT_BYTES: usize = 64 << 10;
/// Nobody reads more of a diff in a terminal.
const MAX_DIFF_LINES: usize = 2000;
const MAX_OUTPUTS: usize = 100;
const MAX_PATHS: usize = 20;
/// What weighs less is kept as it was told.
const MAX_TOLD_BYTES: usize = 16 << 10;
/// A command is read from its beginning; so is whatever else a tool is given.
const MAX_COMMAND_CHARS: usize = 4000;
const MAX_INPUT_CHARS: usize = 8000;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Status {
    #[default]
    Pending,
    Running,
    Completed,
    Failed,
    Cancelled,
    /// Its turn ended and nobody said what became of it.
    LeftOpen,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Tool {
    pub(crate) kind: String,
    pub(crate) title: String,
    pub(crate) status: Status,
    /// May have several lines.
    pub(crate) command: Option<String>,
    /// What else it is given, a member a line.
    pub(crate) input: String,
    pub(crate) paths: Vec<String>,
    outputs: Outputs,
}

/// Most calls of a long session are never looked at, so what they put out is made ready when
/// it is drawn. What is large is made ready at once, which makes it small.
#[derive(Debug, Clone)]
enum Outputs {
    AsTold(Vec<Value>),
    Ready(Vec<Output>),
}

impl Default for Outputs {
    fn default() -> Self {
        Self::Ready(Vec::new())
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Output {
    Text(String),
    /// A terminal that Switchyard serves, by its id, which is never shown.
    Terminal(String),
    Diff {
        path: String,
        lines: Vec<(DiffMark, String)>,
        n_added: usize,
        n_removed: usize,
    },
}

impl Tool {
    pub(super) fn merge(&mut self, fields: &Value) {
        if let Some(kind) = fields["kind"].as_str() {
            self.kind = line(kind, 40);
        }
        if let Some(title) = fields["title"].as_str() {
            self.title = line(title, 400);
        }
        let has_ended = !matches!(self.status, Status::Pending | Status::Running);
        if let Some(status) = fields["status"].as_str()
            && !has_ended
        {
            self.status = match status {
                "in_progress" => Status::Running,
                "completed" => Status::Completed,
                "failed" => Status::Failed,
                "cancelled" => Status::Cancelled,
                _ => Status::Pending,
            };
        }
        if let Some(locations) = fields["locations"].as_array() {
            let path = |one: &Value| {
                let path = line(one["path"].as_str()?, 300);
                Some(match one["line"].as_u64() {
                    Some(number) => format!("{path}:{number}"),
                    None => path,
                })
            };
            self.paths = locations.iter().filter_map(path).take(MAX_PATHS).collect();
        }
        let given = &fields["rawInput"];
        if !given.is_null() {
            let command = command_line(given).filter(|command| !command.trim().is_empty());
            if let Some(command) = &command {
                self.command = Some(lines(command, MAX_COMMAND_CHARS));
            }
            self.input = input(given, command.as_deref());
        }
        if let Some(content) = fields["content"].as_array() {
            let is_small = content.len() <= MAX_OUTPUTS && weight(content) <= MAX_TOLD_BYTES;
            self.outputs = match is_small {
                true => Outputs::AsTold(content.clone()),
                false => Outputs::Ready(made(content)),
            };
        }
        let raw = &fields["rawOutput"];
        if !raw.is_null() && self.has_no_output() {
            let text = match raw {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            self.outputs = Outputs::Ready(vec![Output::Text(tail(&text))]);
        }
    }

    pub(crate) fn outputs(&self) -> Cow<'_, [Output]> {
        match &self.outputs {
            Outputs::AsTold(content) => Cow::Owned(made(content)),
            Outputs::Ready(outputs) => Cow::Borrowed(outputs),
        }
    }

    /// The terminals that it shows.
    pub(super) fn terminals(&self) -> Vec<String> {
        match &self.outputs {
            Outputs::AsTold(content) => {
                let named = |one: &Value| match one["type"] == "terminal" {
                    true => id_of(&one["terminalId"]),
                    false => None,
                };
                content.iter().filter_map(named).collect()
            }
            Outputs::Ready(outputs) => {
                let named = |output: &Output| match output {
                    Output::Terminal(id) => Some(id.clone()),
                    _ => None,
                };
                outputs.iter().filter_map(named).collect()
            }
        }
    }

    fn has_no_output(&self) -> bool {
        match &self.outputs {
            Outputs::AsTold(content) => made(content).is_empty(),
            Outputs::Ready(outputs) => outputs.is_empty(),
        }
    }

    /// Its turn is over. Whether that changes anything.
    pub(super) fn close(&mut self) -> bool {
        let is_open = matches!(self.status, Status::Pending | Status::Running);
        if is_open {
            self.status = Status::LeftOpen;
        }
        is_open
    }
}

fn made(content: &[Value]) -> Vec<Output> {
    content.iter().filter_map(output).take(MAX_OUTPUTS).collect()
}

/// At least what the texts in it take.
fn weight(values: &[Value]) -> usize {
    let of = |value: &Value| match value {
        Value::String(text) => text.len(),
        Value::Array(values) => weight(values),
        Value::Object(members) => {
            members.values().map(|one| weight(std::slice::from_ref(one))).sum()
        }
        _ => 0,
    };
    values.iter().map(|value| of(value) + std::mem::size_of::<Value>()).sum()
}

fn command_line(input: &Value) -> Option<String> {
    ["command", "cmd"].iter().find_map(|key| match &input[*key] {
        Value::String(command) => Some(command.clone()),
        Value::Array(words) => Some(shell::joined(words.iter().filter_map(Value::as_str))),
        _ => None,
    })
}

/// What a tool is given beside its command, a member a line.
fn input(given: &Value, command: Option<&str>) -> String {
    let text = match given {
        Value::Object(members) => {
            let mut text = String::new();
            for (name, value) in members {
                let is_command = ["command", "cmd"].contains(&name.as_str());
                if value.is_null() || (is_command && command.is_some()) {
                    continue;
                }
                let value = match value {
                    Value::String(value) if value.contains('\n') => {
                        format!("\n{}", value.trim_end())
                    }
                    Value::String(value) => format!(" {value}"),
                    other => format!(" {other}"),
                };
                text.push_str(&format!("{name}:{value}\n"));
            }
            text
        }
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    lines(&text, MAX_INPUT_CHARS)
}

fn output(content: &Value) -> Option<Output> {
    match content["type"].as_str() {
        Some("diff") => {
            let patch = content["patch"]["text"].as_str();
            let old = content["oldText"].as_str().unwrap_or_default();
            let new = content["newText"].as_str().unwrap_or_default();
            let diff = match patch {
                Some(patch) => Diff::of_patch(patch),
                None => Diff::between(old, new),
            };
            let lines = diff.lines.iter().take(MAX_DIFF_LINES);
            Some(Output::Diff {
                path: line(content["path"].as_str().unwrap_or_default(), 300),
                lines: lines.map(|one| (one.mark, sanitize(&one.text).into_owned())).collect(),
                n_added: diff.n_added,
                n_removed: diff.n_removed,
            })
        }
        Some("terminal") => id_of(&content["terminalId"]).map(Output::Terminal),
        _ => {
            let text = text_of(content);
            (!text.trim().is_empty()).then(|| Output::Text(tail(&text)))
        }
    }
}

/// The safe form of a text's end.
fn tail(text: &str) -> String {
    let start = text.ceil_char_boundary(text.len().saturating_sub(MAX_TEXT_BYTES));
    let end = text.get(start..).unwrap_or_default();
    without_fences(sanitize(end).trim_end())
}

/// Agents put what is to be shown as it is between fences of Markdown; here everything is.
fn without_fences(text: &str) -> String {
    if !text.contains("```") {
        return text.to_owned();
    }
    let all: Vec<&str> = text.lines().collect();
    let mut kept: Vec<&str> = Vec::with_capacity(all.len());
    // What is not closed after one line is not closed after a later one either.
    let mut never_closed = HashSet::new();
    let mut at = 0;
    while let Some(one) = all.get(at) {
        at += 1;
        let info = one.trim_start_matches('`');
        let n_ticks = one.len() - info.len();
        let opens = n_ticks >= 3 && !info.contains('`') && !never_closed.contains(&n_ticks);
        if !opens {
            kept.push(one);
            continue;
        }
        let rest = all.get(at..).unwrap_or_default();
        let closes = |other: &&str| {
            let other = other.trim_end();
            other.len() == n_ticks && other.bytes().all(|byte| byte == b'`')
        };
        match rest.iter().position(closes) {
            Some(n_inside) => {
                kept.extend(rest.iter().take(n_inside));
                at += n_inside + 1;
            }
            None => {
                never_closed.insert(n_ticks);
                kept.push(one);
            }
        }
    }
    kept.join("\n")
}
