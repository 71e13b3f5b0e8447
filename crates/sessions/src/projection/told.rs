//! What of a call's input nothing else that is shown tells.
//!
//! In: what a tool is given, and what is shown beside it: a command, changes of files. Out: the
//! input without the members that are to be read there already. A member whose name nobody knows,
//! and one that says anything else than what is shown, stays: what an agent shows of a change is
//! its word, and the input is what will be done.

use std::path::Path;

use serde_json::{Map, Value};

use super::argv::command_line;
use super::diff::{Diff, Line, Mark};
use crate::shell;

const COMMANDS: [&str; 2] = ["command", "cmd"];
const PATHS: [&str; 11] = [
    "path",
    "filepath",
    "file_path",
    "filePath",
    "file",
    "filename",
    "fileName",
    "abs_path",
    "absolute_path",
    "target_file",
    "notebook_path",
];
/// A file's whole new text.
const TEXTS: [&str; 7] =
    ["content", "contents", "file_text", "fileText", "text", "new_content", "newContent"];
/// A text and what takes its place.
const PAIRS: [(&str, &str); 5] = [
    ("old_string", "new_string"),
    ("oldString", "newString"),
    ("old_str", "new_str"),
    ("old_text", "new_text"),
    ("oldText", "newText"),
];
const PATCHES: [&str; 4] = ["patch", "diff", "unified_diff", "unifiedDiff"];
/// Lists of such members.
const LISTS: [&str; 2] = ["edits", "changes"];
/// What a change of a list is, which its diff shows.
const WAYS: [&str; 2] = ["kind", "type"];

/// Whether also more is replaced than what is shown.
const FLAGS: [&str; 2] = ["replace_all", "replaceAll"];

/// A change as it is shown.
#[derive(Debug, Clone, Copy, Default)]
pub struct ShownChange<'a> {
    pub path: &'a str,
    pub old: &'a str,
    pub new: &'a str,
    /// In place of both texts.
    pub patch: Option<&'a str>,
}

/// What is shown beside an input.
#[derive(Debug, Clone, Default)]
pub struct Beside<'a> {
    pub command: Option<&'a str>,
    pub changes: Vec<ShownChange<'a>>,
    /// Where relative paths begin, if that is known.
    pub cwd: Option<&'a str>,
}

impl Beside<'_> {
    /// `input` without what is shown beside it; nothing (`null`) if that is all of it.
    pub fn untold(&self, input: &Value) -> Value {
        let Value::Object(members) = input else { return input.clone() };
        let beside = self.about_file(members);
        let is_left = |(name, value): &(&String, &Value)| !beside.is_told(name, value, members);
        let left = members.iter().filter(is_left);
        let left: Map<String, Value> =
            left.map(|(name, value)| (name.clone(), value.clone())).collect();
        if left.is_empty() { Value::Null } else { Value::Object(left) }
    }

    /// Only the changes of the file that these members are about, if they name one.
    fn about_file(&self, members: &Map<String, Value>) -> Self {
        let mut beside = self.clone();
        for path in PATHS.iter().filter_map(|name| members.get(*name)?.as_str()) {
            beside.changes.retain(|change| self.is_same_path(path, change.path));
        }
        beside
    }

    fn is_told(&self, name: &str, value: &Value, members: &Map<String, Value>) -> bool {
        let is = |names: &[&str]| names.contains(&name);
        match value {
            Value::Null => true,
            Value::Bool(false) if is(&FLAGS) => !self.changes.is_empty(),
            Value::String(text) if is(&COMMANDS) => self.command == Some(text),
            Value::Array(list) if self.is_command(list) => true,
            Value::String(_) if is(&PATHS) => !self.changes.is_empty(),
            Value::String(text) if is(&TEXTS) => {
                self.changes.iter().any(|change| change.patch.is_none() && change.new == text)
            }
            Value::String(patch) if is(&PATCHES) => self.is_shown_patch(patch),
            Value::String(way) if is(&WAYS) => self.is_shown_way(way),
            Value::String(text) => self.is_part(name, text, members),
            Value::Array(list) if is(&LISTS) => {
                !list.is_empty() && list.iter().all(|one| one.is_object() && self.is_all_told(one))
            }
            Value::Object(_) if is(&WAYS) => self.is_all_told(value),
            _ => false,
        }
    }

    fn is_all_told(&self, value: &Value) -> bool {
        !self.changes.is_empty() && self.untold(value).is_null()
    }

    /// Some agents give the command as a list, or as a list too.
    fn is_command(&self, list: &[Value]) -> bool {
        let words: Option<Vec<&str>> = list.iter().map(Value::as_str).collect();
        let (Some(words), Some(command)) = (words, self.command) else { return false };
        let is = |line: String| line == command;
        is(words.join(" "))
            || is(command_line(words.clone()))
            || is(shell::joined(words.into_iter()))
    }

    fn is_same_path(&self, a: &str, b: &str) -> bool {
        let whole = |path: &str| self.cwd.map(|cwd| Path::new(cwd).join(path));
        !a.is_empty() && (a == b || whole(a).is_some_and(|a| whole(b) == Some(a)))
    }

    /// Whether a change of this kind is what any reader sees.
    fn is_shown_way(&self, way: &str) -> bool {
        match way {
            "add" | "create" | "update" | "edit" => !self.changes.is_empty(),
            "delete" => {
                self.changes.iter().any(|change| !change.old.is_empty() && change.new.is_empty())
            }
            _ => false,
        }
    }

    /// Whether a text that is replaced, or takes the place of another, is shown as such.
    fn is_part(&self, name: &str, text: &str, members: &Map<String, Value>) -> bool {
        let Some((old_name, new_name)) =
            PAIRS.iter().find(|(old, new)| [*old, *new].contains(&name))
        else {
            return false;
        };
        let other = |name: &str| members.get(name).and_then(Value::as_str);
        let is_done = |change: &ShownChange<'_>| match (other(old_name), other(new_name)) {
            (Some(old), Some(new)) => change.replaces(old, new),
            _ => false,
        };
        let is_old = name == *old_name;
        self.changes.iter().any(|change| is_done(change) || change.shows(text, is_old))
    }

    /// Whether what stands before the hunks of a patch names a file whose changes are shown.
    fn is_shown_header(&self, line: &str) -> bool {
        let path = ["Index: ", "--- ", "+++ "].iter().find_map(|header| line.strip_prefix(header));
        match path.and_then(|path| path.split('\t').next()) {
            Some("/dev/null") => true,
            Some(path) => self.changes.iter().any(|change| self.is_same_path(path, change.path)),
            None => line.bytes().all(|byte| byte == b'='),
        }
    }

    /// Whether a patch says no more than the changes: the same patch, the text of a file that is
    /// new or gone, or hunks whose lines are all shown.
    fn is_shown_patch(&self, patch: &str) -> bool {
        let is_whole = |change: &ShownChange<'_>| match change.patch {
            Some(shown) => shown == patch,
            None => [(change.old, change.new), (change.new, change.old)].contains(&("", patch)),
        };
        if self.changes.iter().any(is_whole) {
            return true;
        }
        let hunks_at = patch.find("@@").unwrap_or(patch.len());
        let (head, hunks) = patch.split_at(hunks_at);
        let diff = Diff::of_patch(hunks);
        let n_lines = hunks.lines().filter(|line| !line.is_empty()).count();
        let is_shown = |hunk: &[Line<'_>]| {
            let is_odd = |line: &Line<'_>| line.mark == Mark::Note && !line.text.starts_with("\\ ");
            let side = |other: Mark| -> String {
                let lines = hunk.iter();
                let lines =
                    lines.filter(|line| ![other, Mark::Hunk, Mark::Note].contains(&line.mark));
                lines.flat_map(|line| [&*line.text, "\n"]).collect()
            };
            let (old, new) = (side(Mark::Added), side(Mark::Removed));
            let shows = |change: &ShownChange<'_>| {
                change.has_lines(&old, true) && change.has_lines(&new, false)
            };
            !hunk.iter().any(is_odd) && self.changes.iter().any(shows)
        };
        let mut hunks = diff.lines.chunk_by(|_, next| next.mark != Mark::Hunk);
        let is_plain = n_lines > 0 && n_lines == diff.lines.len();
        head.lines().all(|line| self.is_shown_header(line)) && is_plain && hunks.all(is_shown)
    }
}

impl ShownChange<'_> {
    /// Whether putting `new` in the place of `old` is this change.
    fn replaces(&self, old: &str, new: &str) -> bool {
        if self.patch.is_some() || (old.is_empty() && !self.old.is_empty()) {
            return false;
        }
        (self.old == old && self.new == new)
            || self.old.replacen(old, new, 1) == self.new
            || self.old.replace(old, new) == self.new
    }

    /// Whether a text is among the lines that are shown of the file before, or after. What is in
    /// the file and not among them nobody sees.
    fn shows(&self, text: &str, is_old: bool) -> bool {
        let whole = if is_old { self.old } else { self.new };
        if self.patch.is_none() && !whole.contains(text) {
            return false;
        }
        let mut lines = String::new();
        for line in &self.diff().lines {
            let is_of_side = match line.mark {
                Mark::Same => true,
                Mark::Removed => is_old,
                Mark::Added => !is_old,
                Mark::Note => continue,
                // What is left out between two hunks may be anything.
                Mark::Hunk => {
                    lines.push('\0');
                    continue;
                }
            };
            if is_of_side {
                lines.extend([&*line.text, "\n"]);
            }
        }
        lines.contains(text) && !text.contains('\0')
    }

    fn diff(&self) -> Diff<'_> {
        match self.patch {
            Some(patch) => Diff::of_patch(patch),
            None => Diff::between(self.old, self.new),
        }
    }

    fn has_lines(&self, lines: &str, is_old: bool) -> bool {
        let whole = if is_old { self.old } else { self.new };
        whole == lines || whole == lines.trim_end_matches('\n') || self.shows(lines, is_old)
    }
}

/// Whether a text of one line names this place, and no other that only begins or ends like it.
pub fn names_place(text: &str, path: &str) -> bool {
    let is_apart =
        |c: Option<char>| c.is_none_or(|c| c.is_whitespace() || "`'\"()[]<>,:;‘’“”".contains(c));
    let mut found = text.match_indices(path);
    !path.is_empty()
        && found.any(|(at, _)| {
            let (before, after) = (text.get(..at), text.get(at + path.len()..));
            is_apart(before.and_then(|before| before.chars().next_back()))
                && is_apart(after.and_then(|after| after.chars().next()))
        })
}

#[cfg(test)]
mod tests;
