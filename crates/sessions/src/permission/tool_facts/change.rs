//! Whether a tool's input shows that a file is changed, whatever the call says of its kind.

use serde_json::Value;

use super::{LIST_MEMBERS, PATH_MEMBERS};
use crate::name_list::names;

/// Members that hold what a text is replaced by, or which one.
const REPLACING: [&str; 6] =
    ["old_string", "new_string", "oldText", "newText", "old_str", "new_str"];
/// Members that hold what is written, if they stand beside a path.
const WRITTEN: &[&str] =
    names!("content contents file_content fileContent file_text fileText new_content newContent");
/// Members that hold changes, of whatever shape.
const CHANGES: [&str; 2] = ["edits", "replacements"];
/// Beginnings of lines that only patches have.
const IN_PATCHES: [&str; 5] =
    ["*** Begin Patch", "*** Update File: ", "*** Add File: ", "*** Delete File: ", "diff --git "];
/// Depth of values in each other, also where one is written as the text of another.
const MAX_DEPTH: usize = 16;

pub(super) fn shows_edit(input: &Value) -> bool {
    is_in(input, MAX_DEPTH)
}

fn is_in(value: &Value, depth: usize) -> bool {
    // What is that deep is not looked at, and may be one.
    let Some(depth) = depth.checked_sub(1) else { return true };
    match value {
        Value::String(text) if text.trim_start().starts_with(['{', '[']) => {
            let inner = serde_json::from_str::<Value>(text);
            inner.map_or_else(|_| is_patch(text), |inner| is_in(&inner, depth))
        }
        Value::String(text) => is_patch(text),
        Value::Array(values) => values.iter().any(|value| is_in(value, depth)),
        Value::Object(members) => {
            let has_text = |names: &[&str]| names.iter().any(|name| value[*name].is_string());
            let has_path =
                has_text(PATH_MEMBERS) || LIST_MEMBERS.iter().any(|name| value[*name].is_array());
            CHANGES.iter().any(|name| is_some(&value[*name]))
                || has_text(&REPLACING)
                || has_path && has_text(WRITTEN)
                || members.values().any(|value| is_in(value, depth))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

fn is_some(value: &Value) -> bool {
    match value {
        Value::Array(values) => !values.is_empty(),
        Value::Object(members) => !members.is_empty(),
        Value::String(text) => !text.is_empty(),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

fn is_patch(text: &str) -> bool {
    let has = |start: &str| text.lines().any(|line| line.trim_start().starts_with(start));
    IN_PATCHES.iter().any(|start| has(start)) || has("--- ") && has("+++ ")
}

#[cfg(test)]
mod tests {
    //! A change is seen in whatever shape it comes.

    use serde_json::json;

    use super::*;

    #[test]
    fn every_shape_is_seen() {
        for input in [
            json!({ "path": "a", "new_string": "x" }),
            json!({ "path": "a", "content": "x" }),
            json!({ "file_path": "a", "contents": "" }),
            json!({ "edits": [{ "old_string": "x", "new_string": "y" }] }),
            json!({ "input": { "path": "a", "content": "x" } }),
            json!({ "arguments": "{\"path\":\"a\",\"content\":\"x\"}" }),
            json!({ "patch": "*** Begin Patch\n*** Update File: a\n@@\n-x\n+y\n" }),
            json!({ "x": "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-x\n+y\n" }),
            json!("*** Begin Patch\n*** Add File: a\n+x\n"),
        ] {
            assert!(shows_edit(&input), "{input}");
        }
        for input in [
            json!({ "path": "a", "offset": 1, "limit": 20 }),
            json!({ "pattern": "x", "path": ".", "include": "*.rs" }),
            json!({ "thought": "--- then it is read" }),
            json!({ "content": "a thought" }),
            json!({ "query": "new_string" }),
            json!(null),
        ] {
            assert!(!shows_edit(&input), "{input}");
        }
        assert!(shows_edit(&(0..100).fold(json!(1), |inner, _| json!([inner]))));
    }
}
