//! Differences between two texts, line by line.
//!
//! In: a file before and after. Out: the changed lines with a little context, and how many
//! were added and removed. The work is bounded whatever the size of the texts.

use std::fmt::Write;
use std::ops::Range;

use imara_diff::{Algorithm, InternedInput};

use super::calls::{FileChange, FileDiff};

/// Unchanged lines that are shown around a change.
const CONTEXT_LINES: usize = 3;

/// Beyond this many differing lines the middle is shown as one replaced block: the search
/// for the smallest difference is quadratic, and nobody reads a diff of that size anyway.
const LONGEST_SEARCH_LINES: usize = 8_000;

/// The note of `diff` for a last line without a line break.
const NO_LAST_BREAK: &str = "\\ No newline at end of file";

/// The kind of a line in a diff.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiffMark {
    /// `@@ -1,3 +1,4 @@`
    Hunk,
    Same,
    Added,
    Removed,
    /// Something about the line above, or about the file: `\ No newline at end of file`
    Note,
}

#[derive(Debug, PartialEq, Eq)]
pub struct DiffLine<'a> {
    pub mark: DiffMark,
    pub text: std::borrow::Cow<'a, str>,
}

#[derive(Debug, Default)]
pub struct Diff<'a> {
    pub lines: Vec<DiffLine<'a>>,
    pub n_added: usize,
    pub n_removed: usize,
}

impl<'a> Diff<'a> {
    pub fn of(change: &'a FileChange) -> Self {
        match change {
            FileChange::Texts { old, new } => {
                Self::between(old.as_deref().unwrap_or_default(), new)
            }
            FileChange::Patch(patch) => Self::of_patch(patch),
        }
    }

    pub fn between(old: &'a str, new: &'a str) -> Self {
        // Where all lines end alike, their line breaks are not shown; nor is a last line break that
        // both lack, as parts of files do.
        let is_windows = has_windows_lines(old) && has_windows_lines(new);
        let is_end_changed =
            !old.is_empty() && !new.is_empty() && old.ends_with('\n') != new.ends_with('\n');
        let sides = [old, new].map(|text| DiffSide {
            lines: lines(text, is_windows),
            lacks_last_break: is_end_changed && !text.ends_with('\n'),
        });
        let [old_side, new_side] = &sides;
        let replaced = match is_end_changed {
            true => {
                let [old, new] =
                    [old, new].map(|text| text.split_inclusive('\n').collect::<Vec<_>>());
                replacements(&old, &new)
            }
            false => replacements(&old_side.lines, &new_side.lines),
        };
        let mut diff = Self::default();
        // Changes whose surroundings meet are shown together.
        let is_near = |one: &Replacement, next: &Replacement| {
            next.old.start - one.old.end <= 2 * CONTEXT_LINES
        };
        for hunk in replaced.chunk_by(is_near) {
            diff.push_hunk(hunk, old_side, new_side);
        }
        diff
    }

    /// The lines of a patch that is given as such; of its headers those that name the file are
    /// left out.
    pub fn of_patch(patch: &'a str) -> Self {
        const HEADERS: [&str; 6] = ["diff --git ", "index ", "Index: ", "=====", "--- ", "+++ "];
        let mut diff = Self::default();
        let mut is_in_hunk = false;
        for line in lines(patch, has_windows_lines(patch)) {
            let (mark, text) = match line.split_at_checked(1) {
                Some(("@", _)) => (DiffMark::Hunk, line),
                _ if !is_in_hunk && HEADERS.iter().any(|header| line.starts_with(header)) => {
                    continue;
                }
                Some(("+", text)) if is_in_hunk => (DiffMark::Added, text),
                Some(("-", text)) if is_in_hunk => (DiffMark::Removed, text),
                Some((" ", text)) if is_in_hunk => (DiffMark::Same, text),
                None if line.is_empty() => continue,
                _ => (DiffMark::Note, line),
            };
            is_in_hunk |= mark == DiffMark::Hunk;
            diff.push(mark, text);
        }
        diff
    }

    fn push_hunk(&mut self, hunk: &[Replacement], old: &DiffSide<'a>, new: &DiffSide<'a>) {
        let (Some(first), Some(last)) = (hunk.first(), hunk.last()) else { return };
        let n_before = CONTEXT_LINES.min(first.old.start);
        let n_after = CONTEXT_LINES.min(old.lines.len() - last.old.end);
        let shown = first.old.start - n_before..last.old.end + n_after;
        let range = |shown: Range<usize>| {
            // A side without lines names the line before it, as diff(1) does.
            (if shown.is_empty() { shown.start } else { shown.start + 1 }, shown.len())
        };
        let (old_start, n_old) = range(shown.clone());
        let (new_start, n_new) = range(first.new.start - n_before..last.new.end + n_after);
        self.lines.push(DiffLine {
            mark: DiffMark::Hunk,
            text: format!("@@ -{old_start},{n_old} +{new_start},{n_new} @@").into(),
        });
        let mut same_from = shown.start;
        for replaced in hunk {
            self.push_all(DiffMark::Same, old, same_from..replaced.old.start);
            self.push_all(DiffMark::Removed, old, replaced.old.clone());
            self.push_all(DiffMark::Added, new, replaced.new.clone());
            same_from = replaced.old.end;
        }
        self.push_all(DiffMark::Same, old, same_from..shown.end);
    }

    fn push_all(&mut self, mark: DiffMark, side: &DiffSide<'a>, range: Range<usize>) {
        let has_last = !range.is_empty() && range.end == side.lines.len();
        for line in &side.lines[range] {
            self.push(mark, line);
        }
        if has_last && side.lacks_last_break {
            self.push(DiffMark::Note, NO_LAST_BREAK);
        }
    }

    fn push(&mut self, mark: DiffMark, text: &'a str) {
        match mark {
            DiffMark::Added => self.n_added += 1,
            DiffMark::Removed => self.n_removed += 1,
            DiffMark::Same | DiffMark::Hunk | DiffMark::Note => {}
        }
        self.lines.push(DiffLine { mark, text: text.into() });
    }
}

impl DiffMark {
    pub fn sign(self) -> &'static str {
        match self {
            Self::Hunk | Self::Note => "",
            Self::Same => " ",
            Self::Added => "+",
            Self::Removed => "-",
        }
    }
}

/// A file's difference in the format of `diff -u`.
pub(crate) fn unified(file: &FileDiff) -> String {
    let diff = Diff::of(&file.change);
    let is_new = matches!(&file.change, FileChange::Texts { old: None, .. });
    let old_path = if is_new { "/dev/null" } else { &file.path };
    // Writing to a String cannot fail.
    let mut text = format!("--- {old_path}\n+++ {}\n", file.path);
    for line in &diff.lines {
        let _ = writeln!(text, "{}{}", line.mark.sign(), line.text);
    }
    text
}

/// One side of a diff: its lines, and whether to note that the last one has no line break.
struct DiffSide<'a> {
    lines: Vec<&'a str>,
    lacks_last_break: bool,
}

/// Whether no line ends otherwise than with `\r\n`.
fn has_windows_lines(text: &str) -> bool {
    text.split_inclusive('\n').all(|line| line.ends_with("\r\n") || !line.ends_with('\n'))
}

fn lines(text: &str, is_windows: bool) -> Vec<&str> {
    let end = if is_windows { "\r\n" } else { "\n" };
    text.split_inclusive('\n').map(|line| line.strip_suffix(end).unwrap_or(line)).collect()
}

/// Old lines and the new ones that replace them; one of the two may be none.
struct Replacement {
    old: Range<usize>,
    new: Range<usize>,
}

/// The replaced lines, from the start to the end; the lines in between are the same.
fn replacements(old: &[&str], new: &[&str]) -> Vec<Replacement> {
    let n_prefix = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let (old_rest, new_rest) = (&old[n_prefix..], &new[n_prefix..]);
    let n_suffix =
        old_rest.iter().rev().zip(new_rest.iter().rev()).take_while(|(a, b)| a == b).count();
    let (n_old, n_new) = (old_rest.len() - n_suffix, new_rest.len() - n_suffix);
    if n_old + n_new > LONGEST_SEARCH_LINES {
        let (old, new) = (n_prefix..n_prefix + n_old, n_prefix..n_prefix + n_new);
        return vec![Replacement { old, new }];
    }
    let mut lines = InternedInput::default();
    lines.update_before(old.iter().copied());
    lines.update_after(new.iter().copied());
    let mut diff = imara_diff::Diff::compute(Algorithm::Histogram, &lines);
    diff.postprocess_lines(&lines);
    let range = |lines: Range<u32>| lines.start as usize..lines.end as usize;
    diff.hunks()
        .map(|hunk| Replacement { old: range(hunk.before), new: range(hunk.after) })
        .collect()
}

#[cfg(test)]
mod tests;
