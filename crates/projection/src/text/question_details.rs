//! The subject of a permission question, so that nobody allows what was not shown.
//!
//! In: the tool call that an agent asks about. Out: its command, its changes, or its input,
//! as lines. Nothing is cut in the middle: a long line goes on in the next row, and what is
//! longer than anybody reads at once ends with the number of lines that are still to come,
//! which a reader can have too ([`TextProjection::with_whole_questions`]).

use std::collections::HashSet;

use anstyle::Style;
use serde_json::Value;

use super::tools::{diff_heading, diff_style};
use super::{TextProjection, output};
use crate::calls::{CallKey, CallLocation, ToolCall};
use crate::conversation::Conversation;
use crate::diff::Diff;
use crate::json::JsonNode;
use crate::unshown_input::{ShownChange, ShownParts, names_path, short_path};
use wire::text::{sanitize, sanitize_line};

/// Rows of a question; more than a screen, and more than most changes have.
const MAX_ROWS: usize = 400;
/// Rows of a question that was decided without asking a person.
const MAX_ROWS_DECIDED: usize = 40;
/// More empty lines than this push what follows out of sight, so they are counted.
const MAX_EMPTY_LINES: usize = 5;
/// Columns before every row, and before one that goes on with the line above.
const INDENT: &str = "  ";
const CONTINUATION: &str = "  ↪ ";
const NARROWEST: usize = 20;
/// Columns of a tab, at most.
const TAB: usize = 8;

impl TextProjection {
    /// Shows all of what a question is about, however long it is.
    #[must_use]
    pub fn with_whole_questions(mut self) -> Self {
        self.shows_whole_questions = true;
        self
    }

    /// Whether the last question was longer than what is shown of it at first.
    pub fn is_question_long(&self) -> bool {
        self.is_question_long
    }

    /// Prints the call that a question is about, after the question's own line.
    pub(super) fn call_in_question(
        &mut self,
        key: CallKey,
        is_asked: bool,
        now: &Conversation,
        out: &mut String,
    ) {
        let call = now.call(key);
        let mut marks = self.calls.remove(&key).unwrap_or_default();
        let headline = self.headline(call, now.cwd());
        // Right below its own line, a call need not be named again.
        let question = if self.is_last_line(&marks, &headline) { "allow this?" } else { &headline };
        self.output.marked(output::ASKING, "?", question, out);
        let mut rows = QuestionRows { width: self.options.width, rows: Vec::new() };
        describe(call, &headline, now.cwd(), &mut rows);
        for file in call.diffs() {
            marks.note_diff(file);
        }
        let limit = if is_asked { MAX_ROWS } else { MAX_ROWS_DECIDED };
        self.is_question_long = rows.rows.len() > limit;
        let limit = if self.shows_whole_questions { usize::MAX } else { limit };
        for (style, row) in rows.rows.iter().take(limit) {
            self.output.line(*style, row, out);
        }
        let n_hidden = rows.rows.len().saturating_sub(limit);
        if n_hidden > 0 {
            let noun = if n_hidden == 1 { "line is" } else { "lines are" };
            let line = format!("{INDENT}… {n_hidden} more {noun} not shown");
            self.output.line(output::ASKING, &line, out);
        }
        marks.note_headline(headline, &self.output);
        self.calls.insert(key, marks);
    }
}

fn describe(call: &ToolCall, headline: &str, cwd: Option<&str>, rows: &mut QuestionRows) {
    // Titles are the agent's words; the input is what will run.
    let command = call.command();
    let beside = ShownParts {
        command: command.as_deref(),
        changes: call.diffs().map(ShownChange::of).collect(),
        cwd,
    };
    let input: Value = call.raw_input.as_ref().map_or(Value::Null, |input| {
        // What is nested too deep to be read stays as it came.
        input.read().unwrap_or_else(|_| JsonNode::of(input).raw().into())
    });
    if let Some(command) = &command {
        // Empty lines go, so that the first line to be seen has the prompt sign.
        rows.push_lines(command.trim_start_matches(['\n', '\r']), "  $ ", "  > ");
    }
    let rest = beside.unshown(&input);
    if command.is_none() && beside.changes.is_empty() {
        rows.push_texts(call, &input);
    } else {
        rows.push_members(&rest);
    }
    for file in call.diffs() {
        let diff = Diff::of(&file.change);
        rows.push(output::STRONG, INDENT, &diff_heading(file, &diff, cwd));
        for line in &diff.lines {
            let text = format!("{}{}", line.mark.sign(), sanitize(&line.text));
            rows.push(diff_style(line.mark), INDENT, text.trim_end());
        }
    }
    let members = || rest.as_object().into_iter().flat_map(|members| members.values());
    let mut seen = HashSet::new();
    for CallLocation { path, .. } in &call.locations {
        let is_shown = Some(path.as_str()) == cwd
            || names_path(headline, path)
            || names_path(headline, short_path(path, cwd))
            || beside.changes.iter().any(|change| change.path == path)
            || members().any(|value| value == path);
        if !is_shown && seen.insert(path) {
            rows.push_lines(short_path(path, cwd), INDENT, INDENT);
        }
    }
}

struct QuestionRows {
    /// 0 when unknown: then a line is a row.
    width: usize,
    rows: Vec<(Style, String)>,
}

impl QuestionRows {
    /// A line that is safe already, over as many rows as it takes.
    fn push(&mut self, style: Style, lead: &str, line: &str) {
        if self.width == 0 {
            self.rows.push((style, format!("{lead}{line}")));
            return;
        }
        let columns = self.width.saturating_sub(CONTINUATION.chars().count()).max(NARROWEST);
        let (mut row, mut used) = (lead.to_owned(), 0);
        for c in line.chars() {
            let takes = if c == '\t' { TAB } else { 1 };
            if used + takes > columns {
                self.rows.push((style, std::mem::replace(&mut row, CONTINUATION.to_owned())));
                used = 0;
            }
            row.push(c);
            used += takes;
        }
        self.rows.push((style, row));
    }

    /// Lines as they are, each made safe; long runs of empty ones are counted.
    fn push_lines(&mut self, text: &str, first: &str, next: &str) {
        let mut n_empty = 0;
        for (index, line) in text.trim_end().lines().enumerate() {
            if line.trim().is_empty() {
                n_empty += 1;
                if n_empty <= MAX_EMPTY_LINES {
                    self.push(output::PLAIN, next.trim_end(), "");
                }
                continue;
            }
            if n_empty > MAX_EMPTY_LINES {
                let counted = format!("…({} more empty lines)…", n_empty - MAX_EMPTY_LINES);
                self.push(output::DIM, next, &counted);
            }
            n_empty = 0;
            let lead = if index == 0 { first } else { next };
            self.push(output::PLAIN, lead, &sanitize_line(line, usize::MAX));
        }
    }

    /// Members of the input that nothing else shows: where a command runs, for how long.
    fn push_members(&mut self, rest: &Value) {
        let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        match rest {
            Value::Null => {}
            Value::Object(members) => {
                for (name, value) in members {
                    self.push_lines(&format!("{name}: {}", text(value)), INDENT, "    ");
                }
            }
            other => self.push_lines(&text(other), INDENT, INDENT),
        }
    }

    /// The agent's text about the call, unless it only repeats the input; then the input.
    fn push_texts(&mut self, call: &ToolCall, input: &Value) {
        let said = call.output_text();
        let input = pretty(input);
        let dense = |text: &str| text.split_whitespace().collect::<String>();
        let is_said = !input.is_empty() && dense(&said).contains(&dense(&input));
        if !is_said {
            self.push_lines(&said, INDENT, INDENT);
        }
        self.push_lines(&input, INDENT, INDENT);
    }
}

fn pretty(input: &Value) -> String {
    match input {
        Value::Null => String::new(),
        Value::Object(members) if members.is_empty() => String::new(),
        Value::String(text) => text.clone(),
        other => serde_json::to_string_pretty(other).unwrap_or_else(|_| other.to_string()),
    }
}

#[cfg(test)]
mod tests;
