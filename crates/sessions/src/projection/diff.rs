//! Differences between two texts, line by line.
//!
//! In: a file before and after. Out: the changed lines with a little context, and how many
//! were added and removed. The work is bounded whatever the size of the texts.

use std::fmt::Write;
use std::ops::Range;

use similar::{Algorithm, ChangeTag, DiffOp};

use super::tools::{Change, FileDiff};

/// Unchanged lines that are shown around a change.
const CONTEXT_LINES: usize = 3;

/// Beyond this many differing lines the middle is shown as one replaced block: the search
/// for the smallest difference is quadratic, and nobody reads a diff of that size anyway.
const LONGEST_SEARCH_LINES: usize = 8_000;

/// What became of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// `@@ -1,3 +1,4 @@`
    Hunk,
    Same,
    Added,
    Removed,
}

#[derive(Debug, PartialEq, Eq)]
pub struct Line<'a> {
    pub mark: Mark,
    pub text: std::borrow::Cow<'a, str>,
}

#[derive(Debug, Default)]
pub struct Diff<'a> {
    pub lines: Vec<Line<'a>>,
    pub n_added: usize,
    pub n_removed: usize,
}

impl<'a> Diff<'a> {
    pub(crate) fn of(change: &'a Change) -> Self {
        match change {
            Change::Texts { old, new } => Self::between(old.as_deref().unwrap_or_default(), new),
            Change::Patch(patch) => Self::of_patch(patch),
        }
    }

    pub fn between(old: &'a str, new: &'a str) -> Self {
        let old: Vec<&str> = old.lines().collect();
        let new: Vec<&str> = new.lines().collect();
        let mut diff = Self::default();
        for group in similar::group_diff_ops(diff_ops(&old, &new), CONTEXT_LINES) {
            diff.push_hunk(&group, &old, &new);
        }
        diff
    }

    /// The lines of a patch that is given as such; its file headers are left out.
    pub fn of_patch(patch: &'a str) -> Self {
        let mut diff = Self::default();
        for line in patch.lines() {
            let (mark, text) = match line.split_at_checked(1) {
                Some(("@", _)) => (Mark::Hunk, line),
                _ if diff.lines.is_empty() => continue,
                Some(("+", text)) => (Mark::Added, text),
                Some(("-", text)) => (Mark::Removed, text),
                Some((" ", text)) => (Mark::Same, text),
                _ => continue,
            };
            diff.push(mark, text);
        }
        diff
    }

    fn push_hunk(&mut self, group: &[DiffOp], old: &[&'a str], new: &[&'a str]) {
        let (Some(first), Some(last)) = (group.first(), group.last()) else { return };
        let range = |start: Range<usize>, end: Range<usize>| {
            // A side without lines names the line before it, as diff(1) does.
            let n_lines = end.end - start.start;
            (if n_lines == 0 { start.start } else { start.start + 1 }, n_lines)
        };
        let (old_start, n_old) = range(first.old_range(), last.old_range());
        let (new_start, n_new) = range(first.new_range(), last.new_range());
        self.lines.push(Line {
            mark: Mark::Hunk,
            text: format!("@@ -{old_start},{n_old} +{new_start},{n_new} @@").into(),
        });
        for op in group {
            for change in op.iter_slices(old, new) {
                let (tag, lines) = change;
                for line in lines {
                    self.push(Mark::from(tag), line);
                }
            }
        }
    }

    fn push(&mut self, mark: Mark, text: &'a str) {
        match mark {
            Mark::Added => self.n_added += 1,
            Mark::Removed => self.n_removed += 1,
            Mark::Same | Mark::Hunk => {}
        }
        self.lines.push(Line { mark, text: text.into() });
    }
}

impl From<ChangeTag> for Mark {
    fn from(tag: ChangeTag) -> Self {
        match tag {
            ChangeTag::Equal => Self::Same,
            ChangeTag::Insert => Self::Added,
            ChangeTag::Delete => Self::Removed,
        }
    }
}

impl Mark {
    pub fn sign(self) -> &'static str {
        match self {
            Self::Hunk => "",
            Self::Same => " ",
            Self::Added => "+",
            Self::Removed => "-",
        }
    }
}

/// A file's difference in the format of `diff -u`.
pub(crate) fn unified(file: &FileDiff) -> String {
    let diff = Diff::of(&file.change);
    let is_new = matches!(&file.change, Change::Texts { old: None, .. });
    let old_path = if is_new { "/dev/null" } else { &file.path };
    // Writing to a String cannot fail.
    let mut text = format!("--- {old_path}\n+++ {}\n", file.path);
    for line in &diff.lines {
        let _ = writeln!(text, "{}{}", line.mark.sign(), line.text);
    }
    text
}

fn diff_ops(old: &[&str], new: &[&str]) -> Vec<DiffOp> {
    let n_prefix = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let (old_rest, new_rest) = (&old[n_prefix..], &new[n_prefix..]);
    let n_suffix =
        old_rest.iter().rev().zip(new_rest.iter().rev()).take_while(|(a, b)| a == b).count();
    let (n_old, n_new) = (old_rest.len() - n_suffix, new_rest.len() - n_suffix);
    if n_old + n_new <= LONGEST_SEARCH_LINES {
        return similar::capture_diff_slices(Algorithm::Myers, old, new);
    }
    let equal = |old_index, new_index, len| DiffOp::Equal { old_index, new_index, len };
    let replaced = DiffOp::Replace {
        old_index: n_prefix,
        old_len: n_old,
        new_index: n_prefix,
        new_len: n_new,
    };
    vec![equal(0, 0, n_prefix), replaced, equal(n_prefix + n_old, n_prefix + n_new, n_suffix)]
}

#[cfg(test)]
mod tests;
