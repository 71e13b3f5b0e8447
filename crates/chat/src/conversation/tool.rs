//! A tool call, put together from the pieces that agents send.
//!
//! A field that is missing or null leaves what was known. What has ended has ended.

use serde_json::Value;
use sessions::projection::{Diff, DiffMark, sanitize};

use super::reading::{line, text_of};

/// The end of an output is what tells how it went.
const MAX_TEXT_BYTES: usize = 64 << 10;
/// Nobody reads more of a diff in a terminal.
const MAX_DIFF_LINES: usize = 2000;
const MAX_OUTPUTS: usize = 100;
const MAX_PATHS: usize = 20;

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

#[derive(Debug, Default)]
pub(crate) struct Tool {
    pub(crate) kind: String,
    pub(crate) title: String,
    pub(crate) status: Status,
    pub(crate) command: Option<String>,
    pub(crate) paths: Vec<String>,
    pub(crate) outputs: Vec<Output>,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Output {
    Text(String),
    Diff { path: String, lines: Vec<(DiffMark, String)>, n_added: usize, n_removed: usize },
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
        let input = &fields["rawInput"];
        if let Some(command) = command_line(input).filter(|command| !command.trim().is_empty()) {
            self.command = Some(line(&command, 1000));
        }
        if let Some(content) = fields["content"].as_array() {
            self.outputs = content.iter().filter_map(output).take(MAX_OUTPUTS).collect();
        }
        let raw = &fields["rawOutput"];
        if self.outputs.is_empty() && !raw.is_null() {
            let text = match raw {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            self.outputs.push(Output::Text(tail(&text)));
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

fn command_line(input: &Value) -> Option<String> {
    ["command", "cmd"].iter().find_map(|key| match &input[*key] {
        Value::String(command) => Some(command.clone()),
        Value::Array(words) => {
            let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
            Some(words.join(" "))
        }
        _ => None,
    })
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
        Some("terminal") => {
            let id = line(content["terminalId"].as_str().unwrap_or_default(), 60);
            Some(Output::Text(format!("[terminal {id}]")))
        }
        _ => {
            let text = text_of(content);
            (!text.trim().is_empty()).then(|| Output::Text(tail(&text)))
        }
    }
}

/// The safe form of a text's end.
fn tail(text: &str) -> String {
    let start = text.ceil_char_boundary(text.len().saturating_sub(MAX_TEXT_BYTES));
    sanitize(text.get(start..).unwrap_or_default()).trim_end().to_owned()
}
