//! The members of a tool call's input that nothing else on the screen shows.
//!
//! In: a tool's input, and what is shown beside it: a command, changes of files. Out: the input
//! without the members that are to be read there already. A member with an unknown name, and one
//! that differs from what is shown, stays: a change as an agent shows it is its word, and the input
//! is what will be done.

use std::path::Path;

use serde_json::{Map, Value};

use super::calls::{FileChange, FileDiff};
use super::diff::{Diff, DiffLine, DiffMark};
use super::shell::command_line;

const COMMANDS: [&str; 2] = ["command", "cmd"];
/// The command as a list of words, or as a list of lines.
const COMMAND_LISTS: [&str; 4] = ["command", "cmd", "argv", "commands"];
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
/// Members that are lists of edits.
const LISTS: [&str; 2] = ["edits", "changes"];
/// The kind of a change in such a list, which its diff shows.
const CHANGE_KINDS: [&str; 2] = ["kind", "type"];

/// Flags for replacing every occurrence; only `false` says no more than the changes shown.
const REPLACE_ALL_FLAGS: [&str; 2] = ["replace_all", "replaceAll"];

/// A change of a file, as the reader sees it.
#[derive(Debug, Clone, Copy, Default)]
pub struct ShownChange<'a> {
    pub path: &'a str,
    pub old: &'a str,
    pub new: &'a str,
    /// A patch, in place of both texts.
    pub patch: Option<&'a str>,
}

/// The command and the changes that are shown beside an input.
#[derive(Debug, Clone, Default)]
pub struct ShownParts<'a> {
    pub command: Option<&'a str>,
    pub changes: Vec<ShownChange<'a>>,
    /// The directory that relative paths start from, if that is known.
    pub cwd: Option<&'a str>,
}

impl ShownParts<'_> {
    /// `input` without what is shown beside it; nothing (`null`) if that is all of it.
    pub fn unshown(&self, input: &Value) -> Value {
        let Value::Object(members) = input else { return input.clone() };
        let beside = self.about_file(members);
        let is_left = |(name, value): &(&String, &Value)| !beside.is_shown(name, value, members);
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

    fn is_shown(&self, name: &str, value: &Value, members: &Map<String, Value>) -> bool {
        let is = |names: &[&str]| names.contains(&name);
        match value {
            Value::Null => true,
            Value::Bool(false) if is(&REPLACE_ALL_FLAGS) => !self.changes.is_empty(),
            Value::String(text) if is(&COMMANDS) => self.command == Some(text),
            Value::Array(list) if is(&COMMAND_LISTS) => self.is_command(list),
            Value::String(_) if is(&PATHS) => !self.changes.is_empty(),
            Value::String(text) if is(&TEXTS) => {
                self.changes.iter().any(|change| change.patch.is_none() && change.new == text)
            }
            Value::String(patch) if is(&PATCHES) => self.is_shown_patch(patch),
            Value::String(way) if is(&CHANGE_KINDS) => self.is_shown_way(way),
            Value::String(_) => self.is_replaced(name, members),
            Value::Array(list) if is(&LISTS) && !list.is_empty() => {
                list.iter().all(|one| one.is_object() && self.is_all_shown(one))
                    || self.are_replaced(list)
            }
            Value::Object(_) if is(&CHANGE_KINDS) => self.is_all_shown(value),
            _ => false,
        }
    }

    fn is_all_shown(&self, value: &Value) -> bool {
        !self.changes.is_empty() && self.unshown(value).is_null()
    }

    /// Some agents give the command as a list, or as a list too.
    fn is_command(&self, list: &[Value]) -> bool {
        let words: Option<Vec<&str>> = list.iter().map(Value::as_str).collect();
        let (Some(words), Some(command)) = (words, self.command) else { return false };
        let is = |line: String| line == command;
        is(words.join(" ")) || is(command_line(words))
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

    /// Whether a text that is replaced, or takes the place of another, is all of a change. Where
    /// only one of them is known, it may be anything that is done with it.
    fn is_replaced(&self, name: &str, members: &Map<String, Value>) -> bool {
        let is_of = |(old, new): &&(&str, &str)| [*old, *new].contains(&name);
        let pair = PAIRS.iter().find(is_of).and_then(|pair| texts(pair, members));
        pair.is_some_and(|pair| self.changes.iter().any(|change| change.is_made_by(&[pair])))
    }

    /// Whether the list is of replacements that make a change together.
    fn are_replaced(&self, list: &[Value]) -> bool {
        let members: Option<Vec<_>> = list.iter().map(Value::as_object).collect();
        let Some(members) = members else { return false };
        let beside = members.iter().fold(self.clone(), |beside, one| beside.about_file(one));
        let mut pairs = Vec::new();
        for one in members {
            let Some(found) = PAIRS.iter().find(|pair| texts(pair, one).is_some()) else {
                return false;
            };
            let mut rest = one.clone();
            rest.retain(|name, _| ![found.0, found.1].contains(&name.as_str()));
            pairs.extend(texts(found, one));
            if !beside.is_all_shown(&Value::Object(rest)) {
                return false;
            }
        }
        beside.changes.iter().any(|change| change.is_made_by(&pairs))
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
        let is_odd =
            |line: &DiffLine<'_>| line.mark == DiffMark::Note && !line.text.starts_with("\\ ");
        let side = |hunk: &[DiffLine<'_>], other: DiffMark| -> String {
            let lines = hunk.iter();
            let lines =
                lines.filter(|line| ![other, DiffMark::Hunk, DiffMark::Note].contains(&line.mark));
            lines.flat_map(|line| [&*line.text, "\n"]).collect()
        };
        let hunks = diff.lines.chunk_by(|_, next| next.mark != DiffMark::Hunk);
        let pairs: Vec<(String, String)> = hunks
            .map(|hunk| (side(hunk, DiffMark::Added), side(hunk, DiffMark::Removed)))
            .collect();
        let pairs: Vec<(&str, &str)> = pairs.iter().map(|(old, new)| (&**old, &**new)).collect();
        let is_plain = n_lines > 0 && n_lines == diff.lines.len() && !diff.lines.iter().any(is_odd);
        head.lines().all(|line| self.is_shown_header(line))
            && is_plain
            && self.changes.iter().any(|change| change.is_made_by(&pairs))
    }
}

/// Both texts of a pair, if they are there.
fn texts<'a>(pair: &(&str, &str), members: &'a Map<String, Value>) -> Option<(&'a str, &'a str)> {
    let text = |name: &str| members.get(name).and_then(Value::as_str);
    Some((text(pair.0)?, text(pair.1)?))
}

impl<'a> ShownChange<'a> {
    pub fn of(file: &'a FileDiff) -> Self {
        let path = &file.path;
        match &file.change {
            FileChange::Texts { old, new } => {
                Self { path, old: old.as_deref().unwrap_or_default(), new, patch: None }
            }
            FileChange::Patch(patch) => Self { path, old: "", new: "", patch: Some(patch) },
        }
    }

    /// Whether these replacements, one after the other, make this change: then it shows all that
    /// they say.
    fn is_made_by(&self, pairs: &[(&str, &str)]) -> bool {
        if self.patch.is_some() {
            return false;
        }
        let ended = |text: &str| match text.is_empty() || text.ends_with('\n') {
            true => text.to_owned(),
            false => format!("{text}\n"),
        };
        let made = |old: String, is_each: bool| {
            pairs.iter().try_fold(old, |text, (old, new)| match (old.is_empty(), is_each) {
                (true, _) => text.is_empty().then(|| (*new).to_owned()),
                (false, _) if !text.contains(old) => None,
                (false, false) => Some(text.replacen(old, new, 1)),
                (false, true) => Some(text.replace(old, new)),
            })
        };
        let is_made = |old: String, new: &str| {
            [false, true].iter().any(|is_each| made(old.clone(), *is_each).as_deref() == Some(new))
        };
        // The lines of a patch have ends that those of a file may lack.
        is_made(self.old.to_owned(), self.new) || is_made(ended(self.old), &ended(self.new))
    }
}

/// Whether a text of one line names this place, and no other that only begins or ends like it.
pub fn names_path(text: &str, path: &str) -> bool {
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

/// A path relative to the session's directory, if it lies below it.
pub fn short_path<'a>(path: &'a str, cwd: Option<&str>) -> &'a str {
    let cwd = cwd.map(|cwd| cwd.trim_end_matches('/')).filter(|cwd| !cwd.is_empty());
    let below = cwd.and_then(|cwd| path.strip_prefix(cwd)?.strip_prefix('/'));
    below.filter(|below| !below.is_empty()).unwrap_or(path)
}

/// A text with every path below the session's directory as [`short_path`] has it.
pub fn without_cwd(text: &str, cwd: Option<&str>) -> String {
    let cwd = cwd.map(|cwd| cwd.trim_end_matches('/')).filter(|cwd| !cwd.is_empty());
    let Some(cwd) = cwd.map(|cwd| format!("{cwd}/")) else { return text.to_owned() };
    // Where it is the end of another path, it is part of that one; and the directory itself, or
    // what is not plainly a name below it, is not left out.
    let is_within = |c: char| c.is_alphanumeric() || "/._-~:@=+})]%$".contains(c);
    let is_name = |c: char| c.is_alphanumeric() || "._-".contains(c);
    let (mut short, mut rest) = (String::with_capacity(text.len()), text);
    while let Some((before, after)) = rest.split_once(&cwd) {
        let last = before.chars().next_back().or_else(|| short.chars().next_back());
        short.push_str(before);
        if last.is_some_and(is_within) || !after.starts_with(is_name) {
            short.push_str(&cwd);
        }
        rest = after;
    }
    short.push_str(rest);
    short
}

#[cfg(test)]
mod tests;
