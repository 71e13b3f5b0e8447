//! Diffs of changes, for people.

use crate::native::tool_call::CallContent;
use std::path::Path;

/// A diff of more than this is shown around what changes only.
const MAX_SHOWN_BYTES: usize = 256 << 10;
const LINES_AROUND: usize = 3;

/// The diff of a file; of the part that changes where the whole would be too much.
pub(in crate::native) fn diff(path: &Path, old: Option<&str>, new: &str) -> CallContent {
    let path = path.to_owned();
    let before = old.unwrap_or_default();
    if before.len() + new.len() <= MAX_SHOWN_BYTES {
        return CallContent::Diff { path, old: old.map(str::to_owned), new: new.to_owned() };
    }
    let (above, below) = same(before, new);
    let cut = |text: &str| -> String {
        let n_lines = text.split_inclusive('\n').count();
        let from = above.saturating_sub(LINES_AROUND);
        let to = (n_lines - below).saturating_add(LINES_AROUND);
        text.split_inclusive('\n').take(to).skip(from).collect()
    };
    let (before, after) = (cut(before), cut(new));
    if before.len() + after.len() <= MAX_SHOWN_BYTES {
        return CallContent::Diff { path, old: old.map(|_| before), new: after };
    }
    CallContent::Text(format!(
        "{}: {} lines become {}, too many to show",
        path.display(),
        before.lines().count(),
        after.lines().count()
    ))
}

/// The first line that changes, counted from 1.
pub(in crate::native) fn first_line(old: &str, new: &str) -> u32 {
    u32::try_from(same(old, new).0 + 1).unwrap_or(u32::MAX)
}

/// How many lines are the same at the top and, of the others, at the bottom.
fn same(old: &str, new: &str) -> (usize, usize) {
    let lines = |text| -> Vec<&str> { str::split_inclusive(text, '\n').collect() };
    let (old, new) = (lines(old), lines(new));
    let above = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let rest = (old.len().min(new.len())) - above;
    let below = old.iter().rev().zip(new.iter().rev()).take(rest);
    (above, below.take_while(|(old, new)| old == new).count())
}

#[cfg(test)]
mod tests;
