//! Paths that a tool's input names somewhere, whatever its members are called.
//!
//! Agents have their own names for a tool's arguments. A rule that denies, and the protection of
//! our own files, hold for a path wherever it stands, but for the text that a tool writes.

use std::path::Path;

use serde_json::Value;

use super::{LIST_MEMBERS, PATH_MEMBERS};
use crate::name_list::names;

/// Members that hold text, and no paths.
const TEXTS: &[&str] = names!(
    "content contents text old_string new_string oldText newText old_str new_str prompt \
     description query pattern regex command cmd"
);
/// Beginnings of the lines of patches that name a file.
const IN_PATCHES: [&str; 8] = [
    "*** Update File: ",
    "*** Add File: ",
    "*** Delete File: ",
    "*** Move to: ",
    "+++ ",
    "--- ",
    "rename to ",
    "rename from ",
];
/// Depth of values in each other, also where one is written as the text of another.
const MAX_DEPTH: usize = 64;
const MAX_PATHS: usize = 1024;
const MAX_PATH_BYTES: usize = 4096;

/// The paths that a tool's input names.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct NamedPaths {
    pub(super) paths: Vec<String>,
    /// There are more than are looked at.
    pub(super) is_cut: bool,
}

pub(super) fn paths(input: &Value) -> NamedPaths {
    let mut named = NamedPaths::default();
    named.look(input, MAX_DEPTH, false);
    named
}

/// A path as the file system has it: without `~`, variables, `file:` and what is around it.
pub(super) fn expand(path: &str) -> String {
    let around = |c: char| c.is_whitespace() || "'\"`".contains(c);
    let path = path.trim_matches(around).trim_start_matches('@');
    let scheme = path.split_at_checked(5).filter(|(it, _)| it.eq_ignore_ascii_case("file:"));
    if let Some((_, url)) = scheme {
        let behind_host = url.strip_prefix("//").map(|rest| match rest.find('/') {
            Some(at) => rest.split_at(at).1,
            None => rest,
        });
        return percent_decoded(behind_host.unwrap_or(url));
    }
    if let Some((name, below)) = path.strip_prefix('$').and_then(|rest| rest.split_once('/')) {
        let name = name.trim_start_matches('{').trim_end_matches('}');
        if let Some(value) = std::env::var_os(name).filter(|value| !value.is_empty()) {
            return Path::new(&value).join(below).to_string_lossy().into_owned();
        }
    }
    let own_name = std::env::var("USER").map(|name| format!("~{name}/")).unwrap_or_default();
    let homes = ["~/", "$HOME/", "${HOME}/", &own_name];
    let below = homes.iter().filter(|home| !home.is_empty()).find_map(|at| path.strip_prefix(*at));
    match (below, std::env::home_dir()) {
        (Some(below), Some(home)) => home.join(below).to_string_lossy().into_owned(),
        // Somebody else's home, wherever it is: nothing that is below a working directory.
        _ if path.starts_with('~') => format!("/{path}"),
        _ => path.to_owned(),
    }
}

fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, behind)) = rest.split_first() {
        let digits = behind.get(..2).filter(|_| *first == b'%');
        let digits = digits.and_then(|digits| std::str::from_utf8(digits).ok());
        let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        rest = byte.map_or(behind, |_| behind.get(2..).unwrap_or_default());
        bytes.push(byte.unwrap_or(*first));
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

impl NamedPaths {
    /// Collects paths in a value; `is_path_wanted` if it stands where a path is expected.
    fn look(&mut self, value: &Value, depth: usize, is_path_wanted: bool) {
        if depth == 0 || self.is_cut {
            self.is_cut = true;
            return;
        }
        match value {
            Value::String(text) if is_path(text) => self.push(text),
            Value::String(text) if text.trim_start().starts_with(['{', '[', '"']) => {
                match serde_json::from_str(&wire::readable(text)) {
                    Ok(inner) => self.look(&inner, depth - 1, is_path_wanted),
                    Err(_) => in_patch(text).for_each(|path| self.push(path)),
                }
            }
            Value::String(text) if is_path_wanted && is_one_line(text) => self.push(text),
            Value::String(text) => in_patch(text).for_each(|path| self.push(path)),
            Value::Array(values) => {
                for value in values {
                    self.look(value, depth - 1, is_path_wanted);
                }
            }
            Value::Object(members) => {
                for (name, value) in members {
                    if is_path(name) {
                        self.push(name);
                    }
                    let name = name.as_str();
                    // A pattern of files may begin with a directory.
                    let is_pattern = name == "pattern" && value.as_str().is_some_and(is_glob);
                    if is_pattern || !TEXTS.contains(&name) {
                        let is_wanted =
                            PATH_MEMBERS.contains(&name) || LIST_MEMBERS.contains(&name);
                        self.look(value, depth - 1, is_wanted);
                    }
                }
            }
            _ => {}
        }
    }

    fn push(&mut self, path: &str) {
        match self.paths.len() < MAX_PATHS {
            true => self.paths.push(path.to_owned()),
            false => self.is_cut = true,
        }
    }
}

fn is_path(text: &str) -> bool {
    let starts = ["/", "./", "../", "~", "$", "file:"];
    let bare = expand(text);
    let is_one = |text: &str| starts.iter().any(|start| text.starts_with(start));
    is_one_line(text) && (is_one(text) || is_one(&bare))
}

fn is_one_line(text: &str) -> bool {
    (1..=MAX_PATH_BYTES).contains(&text.len()) && !text.contains('\n')
}

fn is_glob(text: &str) -> bool {
    text.contains('*') && text.contains('/')
}

fn in_patch(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| {
        let path = IN_PATCHES.iter().find_map(|start| line.strip_prefix(start))?.trim();
        let path = path.strip_prefix("a/").or(path.strip_prefix("b/")).unwrap_or(path);
        (!path.is_empty() && path.len() <= MAX_PATH_BYTES).then_some(path)
    })
}

#[cfg(test)]
mod tests {
    //! A path is found wherever it stands, and text is none.

    use serde_json::json;

    use super::*;

    #[test]
    fn paths_are_found_in_every_shape() {
        for input in [
            json!({ "x": "/etc/passwd" }),
            json!({ "files": ["/etc/passwd"] }),
            json!({ "changes": { "/etc/passwd": { "type": "update" } } }),
            json!({ "edits": [{ "where": "/etc/passwd" }] }),
            json!({ "patch": "*** Begin Patch\n*** Update File: /etc/passwd\n@@\n" }),
            json!({ "patch": "--- /etc/passwd\n+++ /etc/passwd\n" }),
            json!({ "uri": "file:///etc/passwd" }),
            json!({ "uri": "file:/etc/passwd" }),
            json!({ "uri": "FILE:///etc/passwd" }),
            json!({ "a": " /etc/passwd" }),
            json!({ "a": "`/etc/passwd`" }),
            json!({ "a": "@/etc/passwd" }),
            json!({ "uri": "file://localhost/etc/passwd" }),
            json!({ "uri": "file:///etc/%70asswd" }),
            json!({ "in": "{\"a\":[\"/etc/passwd\"]}" }),
            (0..40).fold(json!("/etc/passwd"), |inner, _| json!([inner])),
            json!("/etc/passwd"),
        ] {
            let found: Vec<_> = paths(&input).paths.iter().map(|path| expand(path)).collect();
            assert!(found.contains(&"/etc/passwd".to_owned()), "{input}: {found:?}");
        }
        let home = std::env::home_dir().unwrap().join("x").display().to_string();
        for path in ["~/x", "$HOME/x", "${HOME}/x"] {
            assert_eq!(paths(&json!({ "a": path })).paths, [path]);
            assert_eq!(expand(path), home);
        }
        for path in ["~somebody/x", "~somebody", "~+/x"] {
            assert_eq!(expand(path), format!("/{path}"));
        }
        for below in [
            json!({ "args": { "path": "a/b" } }),
            json!({ "files": [{ "path": "a/b" }] }),
            json!({ "x": [{ "paths": ["a/b"] }] }),
            json!({ "x": { "files": ["a/b"] } }),
        ] {
            assert_eq!(paths(&below).paths, ["a/b"], "{below}");
        }
        for text in [
            json!({ "content": "/etc/passwd", "new_string": "/etc/passwd", "command": "/bin/ls" }),
            json!({ "note": "see /etc/passwd", "many": "/a\n/b" }),
        ] {
            assert_eq!(paths(&text), NamedPaths::default(), "{text}");
        }
    }

    #[test]
    fn what_is_found_is_bounded_and_says_so() {
        let many = |n: usize| json!({ "a": (0..n).map(|n| format!("/{n}")).collect::<Vec<_>>() });
        assert!(!paths(&many(MAX_PATHS)).is_cut);
        let more = paths(&many(MAX_PATHS + 1));
        assert!(more.is_cut && more.paths.len() == MAX_PATHS);
        let patch = vec!["+++ a"; MAX_PATHS + 1].join("\n");
        assert!(paths(&json!({ "patch": patch })).is_cut);
        let deep = (0..100).fold(json!("/deep"), |inner, _| json!([inner]));
        assert!(paths(&deep).is_cut);
        let in_text = (0..8).fold(json!("/deep"), |inner, _| json!([inner.to_string()]));
        let found = paths(&in_text).paths;
        assert_eq!(found.iter().map(|path| expand(path)).collect::<Vec<_>>(), ["/deep"]);
    }
}
