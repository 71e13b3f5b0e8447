//! Patches between `*** Begin Patch` and `*** End Patch`: reads them, and makes their changes, which
//! are found by the lines around them.
//!
//! Always true: a hunk changes one place, below the one before it, and only where it can be
//! meant: with several places that fit it is refused unless a head says which.

use std::iter::Peekable;
use std::str::Lines;

use super::{PatchAction, PatchEdit, PatchStep};
use crate::native::file_tools::edit::{same_but_ends, same_but_indent};

const BEGIN: &str = "*** Begin Patch";
const END: &str = "*** End Patch";
const ADD: &str = "*** Add File:";
const DELETE: &str = "*** Delete File:";
const UPDATE: &str = "*** Update File:";
const MOVE: &str = "*** Move to:";
const END_OF_FILE: &str = "*** End of File";

pub(super) fn is_one(patch: &str) -> bool {
    let starts = [BEGIN, ADD, DELETE, UPDATE];
    patch.lines().any(|line| starts.iter().any(|start| line.trim().starts_with(start)))
}

/// Reads the steps. Text around the patch, such as a fence, does not count. The last line may be
/// missing.
pub(super) fn read(patch: &str) -> Result<Vec<PatchStep<'_>>, String> {
    let mut lines = patch.lines().peekable();
    let is_head = |line: &&str| [ADD, DELETE, UPDATE].iter().any(|head| line.starts_with(head));
    while lines.next_if(|line| line.trim() != BEGIN && !is_head(line)).is_some() {}
    lines.next_if(|line| line.trim() == BEGIN);
    let mut steps = Vec::new();
    while let Some(line) = lines.next() {
        if line.trim() == END {
            break;
        }
        if line.trim().is_empty() {
            continue;
        }
        let (action, path) = if let Some(path) = line.strip_prefix(ADD) {
            (PatchAction::Add(added(&mut lines)?), path)
        } else if let Some(path) = line.strip_prefix(DELETE) {
            (PatchAction::Delete, path)
        } else if let Some(path) = line.strip_prefix(UPDATE) {
            (update(&mut lines)?, path)
        } else {
            return Err(format!(
                "`{line}` stands where `{ADD}`, `{UPDATE}`, `{DELETE}` or `{END}` belongs"
            ));
        };
        steps.push(PatchStep { path: named(path)?, action });
    }
    match steps.is_empty() {
        true => Err("it changes no file".into()),
        false => Ok(steps),
    }
}

fn named(path: &str) -> Result<String, String> {
    match path.trim() {
        "" => Err("a file has no name".into()),
        path => Ok(path.to_owned()),
    }
}

fn added(lines: &mut Peekable<Lines<'_>>) -> Result<String, String> {
    let mut text = String::new();
    while let Some(line) = lines.next_if(|line| !line.starts_with("*** ")) {
        match line.strip_prefix('+') {
            Some(line) => {
                text.push_str(line);
                text.push('\n');
            }
            // Before the next file.
            None if line.trim().is_empty() => {}
            None => return Err(format!("`{line}`: lines of a new file begin with `+`")),
        }
    }
    Ok(text)
}

fn update<'a>(lines: &mut Peekable<Lines<'a>>) -> Result<PatchAction<'a>, String> {
    let to = match lines.next_if(|line| line.starts_with(MOVE)) {
        Some(line) => Some(named(line.strip_prefix(MOVE).unwrap_or_default())?),
        None => None,
    };
    let mut hunks: Vec<Hunk<'a>> = Vec::new();
    let is_of_hunk = |line: &&str| !line.starts_with("*** ") || line.trim() == END_OF_FILE;
    while let Some(line) = lines.next_if(is_of_hunk) {
        if line.trim() == END_OF_FILE {
            if let Some(hunk) = hunks.last_mut() {
                hunk.is_at_end = true;
            }
            continue;
        }
        if let Some(head) = line.strip_prefix("@@") {
            let head = head.trim();
            match hunks.last_mut() {
                // One head after the other: a class, then its method.
                Some(hunk) if hunk.lines.is_empty() && !head.is_empty() => hunk.heads.push(head),
                _ => hunks.push(Hunk {
                    heads: (!head.is_empty()).then_some(head).into_iter().collect(),
                    ..Hunk::default()
                }),
            }
            continue;
        }
        let line = match line.split_at_checked(1) {
            None => HunkLine::Same(""),
            Some((" ", rest)) => HunkLine::Same(rest),
            Some(("-", rest)) => HunkLine::Old(rest),
            Some(("+", rest)) => HunkLine::New(rest),
            Some(_) => {
                return Err(format!("`{line}` begins neither with a space nor with `-` or `+`"));
            }
        };
        if hunks.is_empty() {
            hunks.push(Hunk::default());
        }
        if let Some(hunk) = hunks.last_mut() {
            hunk.lines.push(line);
        }
    }
    for hunk in &mut hunks {
        hunk.trim();
    }
    hunks.retain(|hunk| !hunk.lines.is_empty());
    match hunks.is_empty() && to.is_none() {
        true => Err("a file to update has no changes".into()),
        false => Ok(PatchAction::Update { edit: PatchEdit::Hunks(hunks), to }),
    }
}

/// A change with the lines around it. It is found by them, not by numbers.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Hunk<'a> {
    /// Lines above the change that locate it, each below the one before.
    pub heads: Vec<&'a str>,
    pub lines: Vec<HunkLine<'a>>,
    pub is_at_end: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HunkLine<'a> {
    Same(&'a str),
    Old(&'a str),
    New(&'a str),
}

impl Hunk<'_> {
    /// Leaves out empty lines at its end that only separate it from what follows.
    fn trim(&mut self) {
        while !self.is_at_end && self.lines.last() == Some(&HunkLine::Same("")) {
            self.lines.pop();
        }
    }

    fn old(&self) -> Vec<&str> {
        let is_old = |line: &HunkLine<'_>| !matches!(line, HunkLine::New(_));
        self.lines.iter().filter(|line| is_old(line)).map(HunkLine::text).collect()
    }
}

impl<'a> HunkLine<'a> {
    fn text(&self) -> &'a str {
        match self {
            Self::Same(text) | Self::Old(text) | Self::New(text) => text,
        }
    }
}

pub(super) fn apply(whole: &str, hunks: &[Hunk<'_>]) -> Result<String, String> {
    // Not `lines()`, which would lose a CR where only some lines have one.
    let lines: Vec<&str> = match whole.strip_suffix('\n').unwrap_or(whole) {
        "" if whole.is_empty() => Vec::new(),
        text => text.split('\n').collect(),
    };
    let mut new: Vec<&str> = Vec::new();
    let mut at = 0;
    for (index, hunk) in hunks.iter().enumerate() {
        let begin = find(&lines, at, hunk).map_err(|why| format!("part {}: {why}", index + 1))?;
        new.extend(lines.get(at..begin).unwrap_or_default());
        at = begin;
        for line in &hunk.lines {
            match line {
                // As it is in the file, where the patch differs in white space.
                HunkLine::Same(_) => {
                    new.extend(lines.get(at));
                    at += 1;
                }
                HunkLine::Old(_) => at += 1,
                HunkLine::New(text) => new.push(text),
            }
        }
    }
    new.extend(lines.get(at..).unwrap_or_default());
    let mut text = new.join("\n");
    // A file that had lines keeps the end of the last one as it was.
    if !new.is_empty() && (whole.ends_with('\n') || whole.is_empty()) {
        text.push('\n');
    }
    Ok(text)
}

/// The line at which a hunk begins, not above `from`.
fn find(lines: &[&str], from: usize, hunk: &Hunk<'_>) -> Result<usize, String> {
    let mut from = from;
    for head in &hunk.heads {
        let below = lines.get(from..).unwrap_or_default();
        let is_head = |line: &&str| line.trim() == head.trim();
        let starts = |line: &&str| line.trim_start().starts_with(head.trim());
        let found = below.iter().position(is_head).or_else(|| below.iter().position(starts));
        match found {
            Some(n_down) => from += n_down,
            None => return Err(format!("there is no line `{head}` to begin at")),
        }
    }
    let old = hunk.old();
    if old.is_empty() {
        // Nothing but new lines: below the head, or at the end.
        return Ok(if hunk.heads.is_empty() || hunk.is_at_end { lines.len() } else { from + 1 });
    }
    for alike in [str::eq as fn(&str, &str) -> bool, same_but_ends, same_but_indent] {
        let fits = |at: &usize| {
            let there = lines.get(*at..*at + old.len());
            there.is_some_and(|there| there.iter().zip(&old).all(|(one, two)| alike(one, two)))
        };
        let last = lines.len().saturating_sub(old.len());
        let mut found: Vec<usize> = (from..=last).filter(fits).collect();
        if hunk.is_at_end {
            found.retain(|at| *at == last);
        }
        match found.as_slice() {
            [] => {}
            [at] => return Ok(*at),
            [at, ..] if !hunk.heads.is_empty() => return Ok(*at),
            several => {
                let named: Vec<_> =
                    several.iter().take(10).map(|at| (at + 1).to_string()).collect();
                return Err(format!(
                    "its lines are there {} times, at lines {}; put more lines around it, or a \
                     line from above it behind `@@`",
                    several.len(),
                    named.join(", ")
                ));
            }
        }
    }
    let first = old.iter().find(|line| !line.trim().is_empty()).unwrap_or(&"");
    Err(format!(
        "its old lines, from `{first}` on, are not in the file in this order; read the file again"
    ))
}
