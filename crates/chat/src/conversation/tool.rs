//! The card of a tool call.

use std::borrow::Cow;
use std::collections::HashSet;

use projection::json::JsonNode;
use projection::{
    CallLocation, CallStatus, CommandEnd, Diff, DiffMark, ShownChange, ShownParts, ToolCall,
    sanitize, short_path, without_cwd,
};
use serde_json::Value;
use wire::Json;

use super::safe_text::{line, lines};

/// Text that is kept of an output: its end is what tells how it went.
const MAX_TEXT_BYTES: usize = 64 << 10;
/// Lines of a diff that are kept; nobody reads more in a terminal.
const MAX_DIFF_LINES: usize = 2000;
const MAX_OUTPUTS: usize = 100;
/// Paths that are kept of a call; more than anybody looks through.
const MAX_PATHS: usize = 200;
/// The largest call that is kept as it came.
const MAX_UNPREPARED_BYTES: usize = 16 << 10;
/// A command is read from its beginning; so is whatever else a tool is given.
const MAX_COMMAND_CHARS: usize = 4000;
const MAX_INPUT_CHARS: usize = 8000;

/// A call as far as it is known. Most calls of a long session are never looked at, so the texts to
/// show are made only when it is drawn.
#[derive(Debug, Clone, Default)]
pub(crate) struct ToolCard {
    pub(crate) status: CallStatus,
    content: CardContent,
}

#[derive(Debug, Clone)]
enum CardContent {
    Unprepared(Box<ToolCall>),
    /// The texts to show of a large call are made at once, which makes it small.
    Ready(Box<CardText>),
}

impl Default for CardContent {
    fn default() -> Self {
        Self::Ready(Box::default())
    }
}

/// A call as it is shown; every text in here is safe.
#[derive(Debug, Clone, Default)]
pub(crate) struct CardText {
    pub(crate) kind: String,
    pub(crate) title: String,
    /// May have several lines.
    pub(crate) command: Option<String>,
    /// The rest of its input, a member a line.
    pub(crate) input: String,
    /// The members of the input that neither the command nor the changes show.
    pub(crate) unshown_input: String,
    pub(crate) paths: Vec<String>,
    pub(crate) n_paths_left_out: usize,
    pub(crate) outputs: Vec<CardOutput>,
    pub(crate) n_outputs_left_out: usize,
    /// How its command ended, as far as the agent reports it.
    pub(crate) end: Option<CommandEnd>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CardOutput {
    Text(String),
    /// A terminal that Switchyard serves, by its id, which is never shown.
    Terminal(String),
    Diff(CardDiff),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CardDiff {
    pub(crate) path: String,
    pub(crate) lines: Vec<(DiffMark, String)>,
    pub(crate) n_left_out: usize,
    pub(crate) n_added: usize,
    pub(crate) n_removed: usize,
}

impl ToolCard {
    /// Takes what is known of the call by now, in a session that works in `cwd`.
    pub(super) fn take(&mut self, call: &ToolCall, cwd: Option<&str>) {
        self.status = call.known_status();
        if call.is_late {
            // The reading of the log has freed what came before, which is only kept here.
            let mut shown = self.shown(cwd).into_owned();
            shown.merge(call, cwd);
            self.content = CardContent::Ready(Box::new(shown));
        } else if weight(call) > MAX_UNPREPARED_BYTES {
            self.content = CardContent::Ready(Box::new(CardText::of(call, cwd)));
        } else {
            self.content = CardContent::Unprepared(Box::new(call.clone()));
        }
    }

    pub(crate) fn shown(&self, cwd: Option<&str>) -> Cow<'_, CardText> {
        match &self.content {
            CardContent::Unprepared(call) => Cow::Owned(CardText::of(call, cwd)),
            CardContent::Ready(shown) => Cow::Borrowed(shown),
        }
    }

    /// The terminals that it shows.
    pub(super) fn terminals(&self) -> Vec<String> {
        match &self.content {
            CardContent::Unprepared(call) => call.output.iter().filter_map(terminal).collect(),
            CardContent::Ready(shown) => {
                let named = |output: &CardOutput| match output {
                    CardOutput::Terminal(id) => Some(id.clone()),
                    _ => None,
                };
                shown.outputs.iter().filter_map(named).collect()
            }
        }
    }
}

impl CardText {
    /// Whether it runs a command.
    pub(crate) fn is_command(&self) -> bool {
        let is_terminal = |output: &CardOutput| matches!(output, CardOutput::Terminal(_));
        self.kind == "execute" || self.outputs.iter().any(is_terminal)
    }

    fn of(call: &ToolCall, cwd: Option<&str>) -> Self {
        #[cfg(test)]
        N_MADE_READY.with(|n| n.set(n.get() + 1));
        let mut shown = Self::default();
        shown.merge(call, cwd);
        shown
    }

    /// Takes over the fields that the call has; the others stay as they were.
    fn merge(&mut self, call: &ToolCall, cwd: Option<&str>) {
        if let Some(kind) = &call.kind {
            self.kind = line(kind, 40);
        }
        if let Some(title) = &call.title {
            self.title = line(&without_cwd(title, cwd), 400);
        }
        if !call.locations.is_empty() {
            let place = |CallLocation { path, line: number }: &CallLocation| {
                let path = line(short_path(path, cwd), 300);
                number.map_or_else(|| path.clone(), |number| format!("{path}:{number}"))
            };
            self.paths = call.locations.iter().map(place).take(MAX_PATHS).collect();
            self.n_paths_left_out = call.locations.len().saturating_sub(MAX_PATHS);
        }
        let diffs = call.output.iter().take(MAX_OUTPUTS).filter_map(|output| match output {
            projection::ToolOutput::Diff(file) => Some(ShownChange::of(file)),
            _ => None,
        });
        if let Some(given) = &call.raw_input {
            let command = call.command();
            if let Some(command) = &command {
                self.command = Some(lines(command, MAX_COMMAND_CHARS));
            }
            let given: Value =
                given.read().unwrap_or_else(|_| Value::from(JsonNode::of(given).raw()));
            let mut beside = ShownParts { command: command.as_deref(), changes: Vec::new(), cwd };
            self.input = input(&beside.unshown(&given));
            beside.changes = diffs.collect();
            self.unshown_input = input(&beside.unshown(&given));
        } else if !call.output.is_empty() {
            // The input is gone, so whether these changes show it cannot be known any more.
            self.unshown_input.clone_from(&self.input);
        }
        if !call.output.is_empty() {
            let outputs = call.output.iter().take(MAX_OUTPUTS);
            self.outputs = outputs.filter_map(|one| output(one, cwd)).collect();
            self.n_outputs_left_out = call.output.len().saturating_sub(MAX_OUTPUTS);
        }
        if self.is_command() {
            let texts: Vec<&str> = call.output.iter().filter_map(words).collect();
            let end = CommandEnd::reported_by_agent(&texts.join("\n"), call.raw_output.as_ref());
            self.end = end.or(self.end.take());
        }
        if let Some(raw) = call.raw_output_text().filter(|_| self.outputs.is_empty()) {
            self.outputs.push(CardOutput::Text(tail(&raw)));
        }
    }
}

/// The size of a call: at least what the texts in it take.
fn weight(call: &ToolCall) -> usize {
    let of = |output: &projection::ToolOutput| match output {
        projection::ToolOutput::Diff(file) => {
            let ShownChange { old, new, patch, .. } = ShownChange::of(file);
            old.len() + new.len() + patch.map_or(0, str::len)
        }
        projection::ToolOutput::Text(text)
        | projection::ToolOutput::Terminal(text)
        | projection::ToolOutput::Other(text) => text.len(),
    };
    let raw = |json: &Option<Json>| json.as_ref().map_or(0, |json| json.as_str().len());
    let places = call.locations.iter().map(|place| place.path.len());
    let n_items = call.output.len() + call.locations.len();
    call.output.iter().map(of).chain(places).sum::<usize>()
        + raw(&call.raw_input)
        + raw(&call.raw_output)
        + n_items * std::mem::size_of::<CallLocation>()
}

/// The id of a terminal that Switchyard serves.
fn terminal(output: &projection::ToolOutput) -> Option<String> {
    match output {
        projection::ToolOutput::Terminal(id) => super::terminals::id_of(id),
        _ => None,
    }
}

fn words(output: &projection::ToolOutput) -> Option<&str> {
    match output {
        projection::ToolOutput::Text(text) => Some(text),
        _ => None,
    }
}

/// The input of a tool, a member a line.
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

fn output(told: &projection::ToolOutput, cwd: Option<&str>) -> Option<CardOutput> {
    match told {
        projection::ToolOutput::Diff(file) => {
            let diff = Diff::of(&file.change);
            let lines = diff.lines.iter().take(MAX_DIFF_LINES);
            Some(CardOutput::Diff(CardDiff {
                path: line(short_path(&file.path, cwd), 300),
                lines: lines.map(|one| (one.mark, sanitize(&one.text).into_owned())).collect(),
                n_left_out: diff.lines.len().saturating_sub(MAX_DIFF_LINES),
                n_added: diff.n_added,
                n_removed: diff.n_removed,
            }))
        }
        projection::ToolOutput::Terminal(_) => terminal(told).map(CardOutput::Terminal),
        projection::ToolOutput::Text(text) | projection::ToolOutput::Other(text) => {
            (!text.trim().is_empty()).then(|| CardOutput::Text(tail(text)))
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
    // Fences of lengths that are not closed after one line; they are not closed after a later one
    // either.
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
