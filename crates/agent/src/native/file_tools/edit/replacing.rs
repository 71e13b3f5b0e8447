//! Finds the text to replace, and replaces it.
//!
//! Exactly as it was given first. If it is not there, line by line without regard to white
//! space at the ends of lines, then to how far the whole block is indented; but only where
//! that leaves a single place, and the model is told.
//!
//! Always true: nothing outside of what was found changes.

use std::ops::Range;

/// Places that an error names.
const MAX_NAMED: usize = 10;

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Replacement {
    pub text: String,
    /// The line of the first change, counted from 1.
    pub line: usize,
    /// A report for the model.
    pub about: String,
}

pub(super) fn replace(
    whole: &str,
    old: &str,
    new: &str,
    is_everywhere: bool,
) -> Result<Replacement, String> {
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

pub(in crate::native::file_tools) fn same_but_ends(there: &str, line: &str) -> bool {
    there.trim_end() == line.trim_end()
}

pub(in crate::native::file_tools) fn same_but_indent(there: &str, line: &str) -> bool {
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
    let mut text = String::with_capacity(whole.len() + new.len());
    text.push_str(whole.get(..range.start).unwrap_or_default());
    text.push_str(new);
    text.push_str(whole.get(range.end..).unwrap_or_default());
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
