//! `edit`: puts one text in the place of another in a file.

use std::ops::Range;
use std::sync::Arc;

use roots::ResolvedPath;
use serde::Deserialize;

use crate::native::files::{FileText, MAX_TEXT_BYTES, PlannedFileChange};
use crate::native::tool::arguments::{self, boolean, string};
use crate::native::tool::{
    CallDescription, Location, PreparedCall, Tool, ToolContext, ToolError, ToolKind, ToolOutput,
};

/// Places that an error names.
const MAX_NAMED: usize = 10;

#[derive(Deserialize)]
struct EditArguments {
    #[serde(alias = "file_path", alias = "filePath", alias = "filename")]
    path: String,
    #[serde(alias = "oldString", alias = "old_str", alias = "old_text")]
    old_string: String,
    #[serde(alias = "newString", alias = "new_str", alias = "new_text")]
    new_string: String,
    #[serde(default, alias = "replaceAll", deserialize_with = "arguments::flag")]
    replace_all: bool,
}

pub(super) fn tool() -> Arc<Tool> {
    let description = "Replaces `old_string` in a file by `new_string`. The file has to be read \
                       first. `old_string` is the text as it is in the file, without line \
                       numbers, and must be there exactly once: take lines around it along until \
                       it is, or set `replace_all`.";
    let arguments = [
        string("path", "The file, absolute or relative to the working directory").required(),
        string("old_string", "The text to replace").required(),
        string("new_string", "What takes its place").required(),
        boolean("replace_all", "Replace it everywhere in the file"),
    ];
    Tool::new("edit", ToolKind::Edit, description, arguments, prepare)
}

async fn prepare(asked: EditArguments, context: ToolContext) -> Result<PreparedCall, ToolError> {
    let files = context.workspace.files.clone();
    let place = files.resolve(&asked.path).await?;
    let name = files.shown(&place);
    let old = match (files.read(&place).await?, asked.old_string.is_empty()) {
        // Replacing nothing by something: how some models make a file.
        (None, true) => None,
        (None, false) => return Err(files.missing(&place).await),
        (Some(old), _) => {
            files.check_seen(&place, &old)?;
            Some(old)
        }
    };
    let edited = edit(&asked, &name, &place, old)?;
    let shown = CallDescription {
        title: format!("Edit {name}"),
        locations: vec![Location::of(&place, u32::try_from(edited.line).ok())],
        content: vec![edited.change.diff()],
        ..CallDescription::default()
    };
    let need = files.need_to_change(&[&place]);
    let work = async move {
        let permit = files.lock_changes().await;
        let (edited, content) = match files.read(&place).await? {
            // Another call of the same model came first: the edit is made in what it left.
            Some(now) if Some(&now) != edited.change.old.as_ref() => {
                files.check_seen(&place, &now)?;
                let edited = edit(&asked, &name, &place, Some(now))?;
                let content = vec![edited.change.diff()];
                (edited, content)
            }
            _ => (edited, Vec::new()),
        };
        files.change(&permit, &[edited.change]).await?;
        Ok(ToolOutput { content, ..ToolOutput::text(format!("edited `{name}`: {}", edited.about)) })
    };
    Ok(PreparedCall { shown, need, work: Box::pin(work) })
}

#[derive(Debug)]
struct EditResult {
    change: PlannedFileChange,
    line: usize,
    about: String,
}

fn edit(
    asked: &EditArguments,
    name: &str,
    place: &ResolvedPath,
    old: Option<FileText>,
) -> Result<EditResult, ToolError> {
    let whole = old.as_ref().map(FileText::plain).unwrap_or_default();
    let to_plain = |text: &str| match old.as_ref().is_some_and(FileText::is_crlf) {
        true => text.replace("\r\n", "\n"),
        false => text.to_owned(),
    };
    let (before, after) = (to_plain(&asked.old_string), to_plain(&asked.new_string));
    let Replacement { text, line, about } = replace(&whole, &before, &after, asked.replace_all)
        .map_err(|why| ToolError(format!("`{name}` was not changed: {why}")))?;
    if text.len() as u64 > MAX_TEXT_BYTES {
        return Err(ToolError(format!("`{name}` would become too large")));
    }
    let new = match &old {
        Some(old) => old.with_format_of(&text),
        None => FileText::new(text),
    };
    let change = PlannedFileChange::new(place.clone(), old, Some(new));
    Ok(EditResult { change, line, about })
}

#[derive(Debug, PartialEq, Eq)]
struct Replacement {
    text: String,
    /// The line of the first change, counted from 1.
    line: usize,
    /// A report for the model.
    about: String,
}

/// Exactly as it was given first. If it is not there, line by line without regard to white
/// space at the ends of lines, then to how far the whole block is indented; but only where
/// that leaves a single place, and the model is told. Nothing outside of what was found changes.
fn replace(whole: &str, old: &str, new: &str, is_everywhere: bool) -> Result<Replacement, String> {
    if old == new {
        return Err("old_string and new_string are the same".into());
    }
    if old.is_empty() {
        return match whole.is_empty() {
            true => Ok(Replacement { text: new.into(), line: 1, about: "filled the file".into() }),
            false => Err("old_string is empty; use `write` to replace the whole file".into()),
        };
    }
    let found: Vec<usize> = whole.match_indices(old).map(|(at, _)| at).collect();
    match found.as_slice() {
        [] => replace_nearly(whole, old, new),
        [at] => {
            let line = line_of(whole, *at);
            let text = splice(whole, *at..*at + old.len(), new);
            Ok(Replacement { text, line, about: format!("1 replacement, at line {line}") })
        }
        [first, ..] if is_everywhere => Ok(Replacement {
            text: whole.replace(old, new),
            line: line_of(whole, *first),
            about: format!("{} replacements, at lines {}", found.len(), lines(whole, &found)),
        }),
        several => Err(format!(
            "old_string is there {} times, at lines {}; take more lines around it along, or set \
             replace_all",
            several.len(),
            lines(whole, several)
        )),
    }
}

/// A second try, which compares line by line.
fn replace_nearly(whole: &str, old: &str, new: &str) -> Result<Replacement, String> {
    let block = LineBlock::of(old);
    for (how, alike) in [
        ("white space at the ends of lines", same_but_ends as fn(&str, &str) -> bool),
        ("indentation", same_but_indent),
    ] {
        let found = block.places(whole, alike);
        match found.as_slice() {
            [] => {}
            [range] => {
                let here = whole.get(range.clone()).unwrap_or_default();
                let Some(new) = shifted(here, old, new) else { break };
                let line = line_of(whole, range.start);
                return Ok(Replacement {
                    text: splice(whole, range.clone(), &new),
                    line,
                    about: format!(
                        "1 replacement, at line {line}; old_string was found only without regard \
                         to {how}, so look at the result"
                    ),
                });
            }
            several => {
                let starts: Vec<_> = several.iter().map(|range| range.start).collect();
                return Err(format!(
                    "old_string is not there as given; without regard to {how} it is there {} \
                     times, at lines {}; read the file again and take more lines along",
                    several.len(),
                    lines(whole, &starts)
                ));
            }
        }
    }
    Err(not_found(whole, old))
}

/// Lines that are looked for as a whole.
struct LineBlock<'a> {
    lines: Vec<&'a str>,
    /// Whether the end of the last line belongs to it.
    is_closed: bool,
}

impl<'a> LineBlock<'a> {
    fn of(text: &'a str) -> Self {
        let is_closed = text.ends_with('\n');
        let lines = text.strip_suffix('\n').unwrap_or(text).split('\n').collect();
        Self { lines, is_closed }
    }

    /// The places of the block in `whole`, which do not overlap.
    fn places(&self, whole: &str, alike: fn(&str, &str) -> bool) -> Vec<Range<usize>> {
        // White space alone is everywhere.
        if self.lines.iter().all(|line| line.trim().is_empty()) {
            return Vec::new();
        }
        let mut at = 0;
        let mut there: Vec<Range<usize>> = Vec::new();
        for line in whole.split_inclusive('\n') {
            there.push(at..at + line.len());
            at += line.len();
        }
        let text_of = |range: &Range<usize>| whole.get(range.clone()).unwrap_or_default();
        let mut found: Vec<Range<usize>> = Vec::new();
        for window in there.windows(self.lines.len()) {
            let (Some(first), Some(last)) = (window.first(), window.last()) else { continue };
            let is_free = found.last().is_none_or(|before| before.end <= first.start);
            let matches = |(range, line): (&Range<usize>, &&str)| {
                alike(text_of(range).strip_suffix('\n').unwrap_or(text_of(range)), line)
            };
            if is_free && window.iter().zip(&self.lines).all(matches) {
                let has_end = text_of(last).ends_with('\n');
                let keep_end = has_end && !self.is_closed;
                // A CR before it belongs to the end of the line.
                let n_end = match (keep_end, text_of(last).ends_with("\r\n")) {
                    (false, _) => 0,
                    (true, is_crlf) => 1 + usize::from(is_crlf),
                };
                found.push(first.start..last.end - n_end);
            }
        }
        found
    }
}

pub(super) fn same_but_ends(there: &str, line: &str) -> bool {
    there.trim_end() == line.trim_end()
}

pub(super) fn same_but_indent(there: &str, line: &str) -> bool {
    there.trim() == line.trim()
}

/// `new` with the indentation of `here` instead of that of `old`, if all lines of both differ
/// by the same.
fn shifted(here: &str, old: &str, new: &str) -> Option<String> {
    let mut shift: Option<IndentShift<'_>> = None;
    for (there, line) in here.lines().zip(old.lines()) {
        if line.trim().is_empty() {
            continue;
        }
        let of_line = IndentShift::between(indent(line), indent(there))?;
        match &shift {
            Some(shift) if *shift != of_line => return None,
            _ => shift = Some(of_line),
        }
    }
    let shift = shift?;
    new.split_inclusive('\n').map(|line| shift.applied(line)).collect()
}

#[derive(Debug, PartialEq, Eq)]
enum IndentShift<'a> {
    In(&'a str),
    Out(&'a str),
}

impl<'a> IndentShift<'a> {
    fn between(from: &'a str, to: &'a str) -> Option<Self> {
        match (to.strip_suffix(from), from.strip_suffix(to)) {
            (Some(more), _) => Some(Self::In(more)),
            (None, Some(less)) => Some(Self::Out(less)),
            (None, None) => None,
        }
    }

    fn applied(&self, line: &str) -> Option<String> {
        match self {
            _ if line.trim().is_empty() => Some(line.to_owned()),
            Self::In(more) => Some(format!("{more}{line}")),
            Self::Out(less) => line.strip_prefix(less).map(str::to_owned),
        }
    }
}

fn indent(line: &str) -> &str {
    line.get(..line.len() - line.trim_start().len()).unwrap_or_default()
}

fn not_found(whole: &str, old: &str) -> String {
    let first = old.lines().map(str::trim).find(|line| line.len() > 2).unwrap_or_default();
    let near: Vec<String> = whole
        .lines()
        .enumerate()
        .filter(|(_, line)| !first.is_empty() && line.trim() == first)
        .map(|(index, _)| (index + 1).to_string())
        .take(MAX_NAMED)
        .collect();
    match near.as_slice() {
        [] => "old_string is not in the file; read it again and copy the text exactly, without \
               line numbers"
            .into(),
        near => format!(
            "old_string is not in the file, though its first line is, at line {}; read it again \
             and copy the text exactly, without line numbers",
            near.join(", ")
        ),
    }
}

fn splice(whole: &str, range: Range<usize>, new: &str) -> String {
    let mut text = whole.to_owned();
    text.replace_range(range, new);
    text
}

fn line_of(whole: &str, at: usize) -> usize {
    whole.get(..at).unwrap_or_default().matches('\n').count() + 1
}

fn lines(whole: &str, places: &[usize]) -> String {
    let mut named: Vec<String> =
        places.iter().take(MAX_NAMED).map(|at| line_of(whole, *at).to_string()).collect();
    if places.len() > MAX_NAMED {
        named.push("…".into());
    }
    named.join(", ")
}

#[cfg(test)]
mod tests;
