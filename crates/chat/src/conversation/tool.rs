//! A tool call, put together from the pieces that agents send.
//!
//! A field that is missing or null leaves what was known. What has ended has ended.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use projection::{
    Beside, CommandEnd, Diff, DiffMark, ShownChange, sanitize, short_path, without_cwd,
};
use serde_json::Value;

use super::reading::{line, lines, text_of};
use super::terminals::id_of;
use projection::command_line as line_of;
use wire::Json;

/// The end of an output is what tells how it went.
const MAX_TEXT_BYTES: usize = 64 << 10;
/// Nobody reads more of a diff in a terminal.
const MAX_DIFF_LINES: usize = 2000;
const MAX_OUTPUTS: usize = 100;
/// More than anybody looks through.
const MAX_PATHS: usize = 200;
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

/// A call as far as it is known. Most calls of a long session are never looked at, so what
/// they say is made ready when it is drawn.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tool {
    pub(crate) status: Status,
    known: Known,
    cwd: Option<Arc<str>>,
}

#[derive(Debug, Clone)]
enum Known {
    /// The members that are shown, as they came.
    AsTold(Box<[Value; MEMBERS.len()]>),
    /// What is large is made ready at once, which makes it small.
    Ready(Box<Shown>),
}

impl Default for Known {
    fn default() -> Self {
        Self::AsTold(Box::default())
    }
}

const MEMBERS: [&str; 6] = ["kind", "title", "locations", "rawInput", "content", "rawOutput"];
static MISSING: Value = Value::Null;

/// A call as it is shown; every text in here is safe.
#[derive(Debug, Clone, Default)]
pub(crate) struct Shown {
    pub(crate) kind: String,
    pub(crate) title: String,
    /// May have several lines.
    pub(crate) command: Option<String>,
    /// What else it is given, a member a line.
    pub(crate) input: String,
    /// What of that neither the command nor the changes show.
    pub(crate) untold: String,
    pub(crate) paths: Vec<String>,
    pub(crate) n_paths_left_out: usize,
    pub(crate) outputs: Vec<Output>,
    pub(crate) n_outputs_left_out: usize,
    /// How its command ended, as far as the agent says it.
    pub(crate) end: Option<CommandEnd>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Output {
    Text(String),
    /// A terminal that Switchyard serves, by its id, which is never shown.
    Terminal(String),
    Diff {
        path: String,
        lines: Vec<(DiffMark, String)>,
        n_left_out: usize,
        n_added: usize,
        n_removed: usize,
    },
}

impl Tool {
    /// A call of which nothing is known yet, in a session that works there.
    pub(super) fn new(cwd: Option<Arc<str>>) -> Self {
        Self { cwd, ..Self::default() }
    }

    /// Where its session works.
    pub(crate) fn cwd(&self) -> Option<&str> {
        self.cwd.as_deref()
    }

    pub(super) fn merge(&mut self, mut fields: Value) {
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
        let told = match &mut self.known {
            Known::AsTold(told) => told,
            Known::Ready(shown) => return shown.merge(self.cwd.as_deref(), |name| &fields[name]),
        };
        for (member, name) in told.iter_mut().zip(MEMBERS) {
            let new = fields.get_mut(name).map(Value::take).unwrap_or_default();
            let says_something = match &new {
                Value::Null => false,
                Value::Object(members) => !members.is_empty(),
                _ => true,
            };
            if says_something {
                *member = new;
            }
        }
        if weight(told.as_slice()) > MAX_TOLD_BYTES {
            self.known = Known::Ready(Box::new(Shown::of(told, self.cwd.as_deref())));
        }
    }

    pub(crate) fn shown(&self) -> Cow<'_, Shown> {
        match &self.known {
            Known::AsTold(told) => Cow::Owned(Shown::of(told, self.cwd.as_deref())),
            Known::Ready(shown) => Cow::Borrowed(shown),
        }
    }

    /// The terminals that it shows.
    pub(super) fn terminals(&self) -> Vec<String> {
        match &self.known {
            Known::AsTold(told) => {
                let content = told.iter().zip(MEMBERS).find(|(_, name)| *name == "content");
                let content = content.and_then(|(content, _)| content.as_array());
                let named = |one: &Value| match one["type"] == "terminal" {
                    true => id_of(&one["terminalId"]),
                    false => None,
                };
                content.into_iter().flatten().filter_map(named).collect()
            }
            Known::Ready(shown) => {
                let named = |output: &Output| match output {
                    Output::Terminal(id) => Some(id.clone()),
                    _ => None,
                };
                shown.outputs.iter().filter_map(named).collect()
            }
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

impl Shown {
    /// Whether it runs a command.
    pub(crate) fn is_command(&self) -> bool {
        let is_terminal = |output: &Output| matches!(output, Output::Terminal(_));
        self.kind == "execute" || self.outputs.iter().any(is_terminal)
    }

    fn of(told: &[Value; MEMBERS.len()], cwd: Option<&str>) -> Self {
        #[cfg(test)]
        N_MADE_READY.with(|n| n.set(n.get() + 1));
        let mut shown = Self::default();
        shown.merge(cwd, |wanted| {
            let found = told.iter().zip(MEMBERS).find(|(_, name)| *name == wanted);
            found.map_or(&MISSING, |(member, _)| member)
        });
        shown
    }

    fn merge<'a>(&mut self, cwd: Option<&str>, member: impl Fn(&str) -> &'a Value) {
        if let Some(kind) = member("kind").as_str() {
            self.kind = line(kind, 40);
        }
        if let Some(title) = member("title").as_str() {
            self.title = line(&without_cwd(title, cwd), 400);
        }
        if let Some(locations) = member("locations").as_array() {
            let path = |one: &Value| {
                let path = line(short_path(one["path"].as_str()?, cwd), 300);
                Some(match one["line"].as_u64() {
                    Some(number) => format!("{path}:{number}"),
                    None => path,
                })
            };
            self.paths = locations.iter().filter_map(path).take(MAX_PATHS).collect();
            self.n_paths_left_out = locations.len().saturating_sub(MAX_PATHS);
        }
        let (given, content) = (member("rawInput"), member("content").as_array());
        if !given.is_null() {
            let command = command_line(given).filter(|command| !command.trim().is_empty());
            if let Some(command) = &command {
                self.command = Some(lines(command, MAX_COMMAND_CHARS));
            }
            let mut beside = Beside { command: command.as_deref(), changes: Vec::new(), cwd };
            self.input = input(&beside.untold(given));
            let shown = content.into_iter().flatten().take(MAX_OUTPUTS);
            beside.changes = shown.filter_map(change).collect();
            self.untold = input(&beside.untold(given));
        } else if content.is_some() {
            // Whether this shows it nobody can tell any more.
            self.untold.clone_from(&self.input);
        }
        if let Some(content) = content {
            self.outputs =
                content.iter().take(MAX_OUTPUTS).filter_map(|one| output(one, cwd)).collect();
            self.n_outputs_left_out = content.len().saturating_sub(MAX_OUTPUTS);
        }
        let raw = member("rawOutput");
        if self.is_command() {
            let texts = content.into_iter().flatten().map(|one| text_of(&one["content"]));
            let texts = texts.collect::<Vec<_>>().join("\n");
            let raw = (!raw.is_null()).then(|| Json::of(raw));
            self.end = CommandEnd::told(&texts, raw.as_ref()).or(self.end.take());
        }
        if self.outputs.is_empty() && !raw.is_null() {
            let text = match raw {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            self.outputs.push(Output::Text(tail(&text)));
        }
    }
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
        Value::Array(words) => Some(line_of(words.iter().filter_map(Value::as_str))),
        _ => None,
    })
}

/// What a tool is given, a member a line.
fn input(given: &Value) -> String {
    let text = match given {
        Value::Null => String::new(),
        Value::Object(members) => {
            let mut text = String::new();
            for (name, value) in members.iter().filter(|(_, value)| !value.is_null()) {
                let value = match value {
                    Value::String(value) if value.contains('\n') => {
                        format!("\n{}", value.trim_end())
                    }
                    Value::String(value) => format!(" {value}"),
                    other => format!(" {other}"),
                };
                text.extend([name.as_str(), ":", &value, "\n"]);
            }
            text
        }
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    lines(&text, MAX_INPUT_CHARS)
}

fn change(content: &Value) -> Option<ShownChange<'_>> {
    let text = |name: &str| content[name].as_str().unwrap_or_default();
    let patch = content["patch"]["text"].as_str();
    let (path, old, new) = (text("path"), text("oldText"), text("newText"));
    (content["type"] == "diff").then_some(ShownChange { path, old, new, patch })
}

fn output(content: &Value, cwd: Option<&str>) -> Option<Output> {
    match content["type"].as_str() {
        Some("diff") => {
            let ShownChange { path, old, new, patch } = change(content)?;
            let diff = match patch {
                Some(patch) => Diff::of_patch(patch),
                None => Diff::between(old, new),
            };
            let lines = diff.lines.iter().take(MAX_DIFF_LINES);
            Some(Output::Diff {
                path: line(short_path(path, cwd), 300),
                lines: lines.map(|one| (one.mark, sanitize(&one.text).into_owned())).collect(),
                n_left_out: diff.lines.len().saturating_sub(MAX_DIFF_LINES),
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

#[cfg(test)]
thread_local! {
    static N_MADE_READY: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// How often this thread has made a call ready to be shown.
#[cfg(test)]
pub(crate) fn n_made_ready() -> usize {
    N_MADE_READY.with(std::cell::Cell::get)
}
