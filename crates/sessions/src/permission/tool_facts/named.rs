//! Paths that a tool's input names somewhere, whatever its members are called.
//!
//! Agents have their own words for what a tool takes. A rule that denies, and the wall around our
//! own files, hold for a path wherever it stands, but for the text that a tool writes.

use serde_json::Value;

/// Members that hold text, not what is done to it.
const TEXTS: [&str; 16] = [
    "content",
    "contents",
    "text",
    "old_string",
    "new_string",
    "oldText",
    "newText",
    "old_str",
    "new_str",
    "prompt",
    "description",
    "query",
    "pattern",
    "regex",
    "command",
    "cmd",
];
/// What the lines of patches begin with that name a file.
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
const MAX_DEPTH: usize = 6;
const MAX_PATHS: usize = 256;
const MAX_PATH_BYTES: usize = 4096;

pub(super) fn paths(input: &Value) -> Vec<String> {
    let mut found = Vec::new();
    look(input, MAX_DEPTH, &mut found);
    found
}

/// A path as the file system has it: without `~`, `$HOME` and `file://`.
pub(super) fn expanded(path: &str) -> String {
    let path = path.strip_prefix("file://").unwrap_or(path);
    let below = ["~/", "$HOME/", "${HOME}/"].iter().find_map(|home| path.strip_prefix(home));
    match (below, std::env::home_dir()) {
        (Some(below), Some(home)) => home.join(below).to_string_lossy().into_owned(),
        _ => path.to_owned(),
    }
}

fn look(value: &Value, depth: usize, found: &mut Vec<String>) {
    match value {
        _ if depth == 0 || found.len() >= MAX_PATHS => {}
        Value::String(text) if is_path(text) => found.push(text.clone()),
        Value::String(text) => found.extend(in_patch(text).take(MAX_PATHS)),
        Value::Array(values) => values.iter().for_each(|value| look(value, depth - 1, found)),
        Value::Object(members) => {
            for (name, value) in members {
                if is_path(name) {
                    found.push(name.clone());
                }
                if !TEXTS.contains(&name.as_str()) {
                    look(value, depth - 1, found);
                }
            }
        }
        _ => {}
    }
}

fn is_path(text: &str) -> bool {
    let starts = ["/", "./", "../", "~/", "$HOME/", "${HOME}/", "file://"];
    text.len() <= MAX_PATH_BYTES
        && !text.contains('\n')
        && starts.iter().any(|start| text.starts_with(start))
}

fn in_patch(text: &str) -> impl Iterator<Item = String> {
    text.lines().filter_map(|line| {
        let path = IN_PATCHES.iter().find_map(|start| line.strip_prefix(start))?.trim();
        let path = path.strip_prefix("a/").or(path.strip_prefix("b/")).unwrap_or(path);
        (!path.is_empty() && path.len() <= MAX_PATH_BYTES).then(|| path.to_owned())
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
            json!("/etc/passwd"),
        ] {
            let found: Vec<_> = paths(&input).iter().map(|path| expanded(path)).collect();
            assert!(found.contains(&"/etc/passwd".to_owned()), "{input}: {found:?}");
        }
        let home = std::env::home_dir().unwrap().join("x").display().to_string();
        for path in ["~/x", "$HOME/x", "${HOME}/x"] {
            assert_eq!(paths(&json!({ "a": path })), [path]);
            assert_eq!(expanded(path), home);
        }
        for text in [
            json!({ "content": "/etc/passwd", "new_string": "/etc/passwd", "command": "/bin/ls" }),
            json!({ "note": "see /etc/passwd", "many": "/a\n/b" }),
        ] {
            assert_eq!(paths(&text), Vec::<String>::new(), "{text}");
        }
    }

    #[test]
    fn what_is_found_is_bounded() {
        let many: Vec<_> = (0..10_000).map(|n| format!("/{n}")).collect();
        assert!(paths(&json!({ "a": many })).len() <= MAX_PATHS);
        let deep = (0..100).fold(json!("/deep"), |inner, _| json!([inner]));
        assert!(paths(&deep).is_empty());
    }
}
