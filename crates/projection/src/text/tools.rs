//! Tool calls as lines: what is done, how it went, and what changed in files.
//!
//! In: calls that begin and end. Out: one line when it is known what a call is about, one
//! more only if something is worth saying at its end; where lines can be taken back, that one takes
//! the place of the first. A diff is shown once, whether it first comes with a permission question
//! or with the result.

use std::hash::{DefaultHasher, Hash, Hasher};

use anstyle::Style;

use super::output::TextOutput;
use super::{TextProjection, output, whole_line};
use crate::calls::{CallKey, CallStatus, FileDiff, ToolCall};
use crate::command_output::CommandOutput;
use crate::conversation::Conversation;
use crate::diff::{Diff, DiffMark};
use crate::terminals::CommandEnd;
use crate::unshown_input::{short_path, without_cwd};
use wire::text::{sanitize, sanitize_line};

/// Lines of a diff, of a tool's output and of a failure that are shown.
const DIFF_LINES: usize = 40;
const DIFF_LINES_VERBOSE: usize = 400;
const OUTPUT_LINES: usize = 10;
const PRINTED_LINES_VERBOSE: usize = 200;
const FAILURE_LINES: usize = 3;
/// Longest line of a file that is shown; minified files have lines of megabytes.
const LONGEST_LINE: usize = 400;

/// Columns of output that is not a terminal, and the least a headline is cut to.
const UNKNOWN_WIDTH: usize = 200;
const NARROWEST: usize = 40;
/// Columns of the sign before a headline.
const MARK_COLUMNS: usize = 2;

/// The line and the diffs that were printed for a call.
#[derive(Debug, Clone, Default)]
pub(super) struct PrintedCall {
    /// The line that announced it, and the number of writes there were then.
    announced: Option<(String, u64)>,
    diffs_shown: Vec<u64>,
}

impl PrintedCall {
    /// Notes the line that was just printed for the call.
    pub(super) fn note_headline(&mut self, headline: String, page: &TextOutput) {
        self.announced = Some((headline, page.n_writes));
    }

    /// Notes a diff; true if it was not shown before.
    pub(super) fn note_diff(&mut self, file: &FileDiff) -> bool {
        let fingerprint = fingerprint(file);
        let is_new = !self.diffs_shown.contains(&fingerprint);
        if is_new {
            self.diffs_shown.push(fingerprint);
        }
        is_new
    }
}

impl TextProjection {
    pub(super) fn call_began(&mut self, key: CallKey, now: &Conversation, out: &mut String) {
        let call = now.call(key);
        // The line of its end names it as well.
        if call.is_ended() {
            return;
        }
        let headline = self.headline(call, now.cwd());
        self.output.marked(output::BUSY, "●", &headline, out);
        self.calls.entry(key).or_default().note_headline(headline, &self.output);
    }

    pub(super) fn call_ended(&mut self, key: CallKey, now: &Conversation, out: &mut String) {
        let call = now.call(key);
        let mut marks = self.calls.remove(&key).unwrap_or_default();
        let headline = self.headline(call, now.cwd());
        let is_fresh =
            !self.take_back_line(&marks, &headline, out) && self.is_last_line(&marks, &headline);
        let printed = CommandOutput::of(call, &now.terminals);
        let end = printed.as_ref().and_then(|printed| printed.end.as_ref());
        // Some agents call a command that failed a call that went well.
        let failure = end.and_then(CommandEnd::failure);
        match (call.status, failure) {
            (Some(CallStatus::Cancelled), _) => {
                self.output.marked(output::DIM, "⊘", &format!("{headline} cancelled"), out);
                return;
            }
            (Some(CallStatus::Failed), None) => {
                self.output.marked(output::BAD, "✗", &format!("{headline} failed"), out);
                if let Some(printed) = printed.filter(|printed| printed.is_from_terminal) {
                    return self.show_printed(&printed.text, out);
                }
                let limit = if self.options.verbose { OUTPUT_LINES } else { FAILURE_LINES };
                self.show_output(call, limit, out);
                return;
            }
            (_, Some(failure)) => {
                self.output.marked(output::BAD, "✗", &format!("{headline} {failure}"), out);
            }
            _ if is_fresh => {}
            _ => self.output.marked(output::GOOD, "✓", &headline, out),
        }
        for file in call.diffs() {
            if marks.note_diff(file) {
                self.show_diff(file, now.cwd(), out);
            }
        }
        match printed {
            Some(printed) => self.show_printed(&printed.text, out),
            None if self.options.verbose => self.show_output(call, OUTPUT_LINES, out),
            None => {}
        }
    }

    /// Prints the end of a command's output: what matters stands there.
    fn show_printed(&mut self, text: &str, out: &mut String) {
        let limit = if self.options.verbose { PRINTED_LINES_VERBOSE } else { OUTPUT_LINES };
        let text = sanitize(text);
        let n_before = text.lines().count().saturating_sub(limit);
        if n_before > 0 {
            let noun = if n_before == 1 { "line" } else { "lines" };
            self.output.line(output::DIM, &format!("  … {n_before} {noun} before"), out);
        }
        for line in text.lines().skip(n_before) {
            self.output.line(output::DIM, format!("  {}", cut(line)).trim_end(), out);
        }
    }

    /// Takes back the line that announced the call, if it is the last and one row, and the new line
    /// begins with the same text: nothing that an agent has announced is taken back.
    fn take_back_line(&mut self, marks: &PrintedCall, headline: &str, out: &mut String) -> bool {
        let announced = marks.announced.as_ref().filter(|_| self.replaces_lines);
        let Some((line, at)) = announced.filter(|(line, _)| headline.starts_with(line)) else {
            return false;
        };
        // Never too few: what may be two columns wide counts as that.
        let columns: usize = line.chars().map(|c| if c < '\u{1100}' { 1 } else { 2 }).sum();
        let is_row = MARK_COLUMNS + columns < self.options.width;
        let can = is_row && *at == self.output.n_writes;
        if can {
            self.output.take_back_row(out);
        }
        can
    }

    pub(super) fn is_last_line(&self, marks: &PrintedCall, headline: &str) -> bool {
        let told = marks.announced.as_ref();
        told.is_some_and(|(line, at)| line == headline && *at == self.output.n_writes)
    }

    /// What the call does, in one line: its title, and the path or command if the title
    /// does not name it.
    pub(super) fn headline(&self, call: &ToolCall, cwd: Option<&str>) -> String {
        let title = call.title.clone().unwrap_or_else(|| call.name().to_owned());
        let title = without_cwd(&title, cwd);
        let path = call.locations.iter().find(|place| Some(place.path.as_str()) != cwd);
        let path = path.map(|place| short_path(&place.path, cwd));
        let file = path.and_then(|path| path.rsplit('/').next());
        let text = match (path, file, call.command()) {
            // Some agents give the bare path as title; the kind says what is done to it.
            (Some(path), Some(file), _) if title == path || title == file => match &call.kind {
                Some(kind) if kind != "other" => format!("{} {path}", capitalized(kind)),
                _ => title,
            },
            (Some(path), Some(file), _) if !title.contains(file) => format!("{title} {path}"),
            // A title that shortens the command is cut right only as the command itself.
            (None, _, Some(command)) if is_beginning(&title, &command) => command,
            (None, _, Some(command)) if !title.contains(&command) => format!("{title}: {command}"),
            _ => title,
        };
        let width = if self.options.width == 0 { UNKNOWN_WIDTH } else { self.options.width };
        sanitize_line(&text, width.max(NARROWEST) - MARK_COLUMNS)
    }

    fn show_diff(&mut self, file: &FileDiff, cwd: Option<&str>, out: &mut String) {
        let diff = Diff::of(&file.change);
        let heading = format!("  {}", diff_heading(file, &diff, cwd));
        self.output.line(output::STRONG, &heading, out);
        let limit = if self.options.verbose { DIFF_LINES_VERBOSE } else { DIFF_LINES };
        for line in diff.lines.iter().take(limit) {
            let text = format!("  {}{}", line.mark.sign(), cut(&sanitize(&line.text)));
            self.output.line(diff_style(line.mark), text.trim_end(), out);
        }
        self.show_rest(diff.lines.len(), limit, out);
    }

    fn show_output(&mut self, call: &ToolCall, limit: usize, out: &mut String) {
        let mut text = call.output_text();
        if text.trim().is_empty() {
            text = call.raw_output_text().unwrap_or_default();
        }
        let text = sanitize(text.trim());
        for line in text.lines().take(limit) {
            self.output.line(output::DIM, &format!("  {}", cut(line)), out);
        }
        self.show_rest(text.lines().count(), limit, out);
    }

    fn show_rest(&mut self, n_lines: usize, limit: usize, out: &mut String) {
        if n_lines > limit {
            let rest = n_lines - limit;
            let noun = if rest == 1 { "line" } else { "lines" };
            self.output.line(output::DIM, &format!("  … {rest} more {noun}"), out);
        }
    }
}

pub(super) fn diff_style(mark: DiffMark) -> Style {
    match mark {
        DiffMark::Hunk => output::BUSY,
        DiffMark::Same => output::PLAIN,
        DiffMark::Added => output::GOOD,
        DiffMark::Removed => output::BAD,
        DiffMark::Note => output::DIM,
    }
}

/// The line above a diff: the file, and how many of its lines change.
pub(super) fn diff_heading(file: &FileDiff, diff: &Diff<'_>, cwd: Option<&str>) -> String {
    let path = whole_line(short_path(&file.path, cwd));
    match diff.lines.len() {
        0 => format!("{path} (no line changed)"),
        _ => format!("{path} (+{} -{})", diff.n_added, diff.n_removed),
    }
}

/// Whether a title is a command in one line, or as much of it as fits.
fn is_beginning(title: &str, command: &str) -> bool {
    let dense = |text: &str| text.split(['⏎', ' ', '\n', '\t']).collect::<String>();
    let beginning = dense(title.split('…').next().unwrap_or_default());
    !beginning.is_empty() && dense(command).starts_with(&beginning)
}

fn fingerprint(file: &FileDiff) -> u64 {
    let mut hasher = DefaultHasher::new();
    file.hash(&mut hasher);
    hasher.finish()
}

fn cut(line: &str) -> String {
    if line.chars().count() <= LONGEST_LINE {
        return line.to_owned();
    }
    line.chars().take(LONGEST_LINE).chain(['…']).collect()
}

fn capitalized(word: &str) -> String {
    let mut chars = word.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}
