use serde_json::json;

use super::*;

fn beside<'a>(changes: &[(&'a str, &'a str, &'a str)]) -> ShownParts<'a> {
    let change = |(path, old, new): &(&'a str, &'a str, &'a str)| ShownChange {
        path,
        old,
        new,
        patch: None,
    };
    ShownParts {
        changes: changes.iter().map(change).collect(),
        cwd: Some("/w"),
        ..ShownParts::default()
    }
}

#[test]
fn what_a_change_says_is_told() {
    let one = beside(&[("/w/a", "1\n2\n3\n", "1\ntwo\n3\n")]);
    for input in [
        json!({}),
        json!({ "path": "/w/a", "replace_all": false }),
        json!({ "filepath": "/w/a", "diff": "Index: /w/a\n===\n--- /w/a\t\n+++ a\n@@\n-2\n+two\n" }),
        json!({ "file_path": "a", "content": "1\ntwo\n3\n", "mode": null }),
        json!({ "path": "./a", "old_string": "2", "new_string": "two" }),
        json!({ "path": "a", "edits": [{ "oldText": "2\n3", "newText": "two\n3" }] }),
        json!({ "edits": [
            { "old_string": "1", "new_string": "one", "replace_all": false },
            { "old_string": "one\n2", "new_string": "1\ntwo", "path": "a" },
        ] }),
        json!({ "diff": "@@ -1 +1 @@\n 1\n@@ -2 +2 @@\n-2\n+two\n" }),
        json!({ "changes": [{ "path": "/w/a", "kind": { "type": "update", "move_path": null },
            "diff": "@@ -1,3 +1,3 @@\n 1\n-2\n+two\n 3\n" }] }),
    ] {
        assert_eq!(one.unshown(&input), Value::Null, "{input}");
    }
}

#[test]
fn what_a_change_does_not_say_is_left() {
    let one = beside(&[("/w/a", "1\n2\n3\n", "1\ntwo\n3\n")]);
    for input in [
        json!("a"),
        json!(["a"]),
        json!(1),
        json!({ "path": "/w/b" }),
        json!({ "path": "../a" }),
        json!({ "content": "two" }),
        json!({ "content": "" }),
        json!({ "x": "two" }),
        json!({ "replace_all": true }),
        json!({ "new_string": "other" }),
        json!({ "new_string": "two" }),
        json!({ "old_string": "3\n", "new_string": "" }),
        json!({ "old_string": "3\n", "newString": "" }),
        json!({ "edits": [{ "old_string": "2", "new_string": "two" }, { "old_string": "3", "new_string": "" }] }),
        json!({ "patch": "@@\n-3\n" }),
        json!({ "patch": "@@\n-2\n+two\n@@\n-3\n" }),
        json!({ "args": ["two"] }),
        json!({ "command": "two" }),
        json!({ "edits": [] }),
        json!({ "edits": [{ "new_string": "two" }, "x"] }),
        json!({ "edits": [{ "new_string": "two", "x": "two" }] }),
        json!({ "kind": "delete" }),
        json!({ "patch": "@@\n+evil" }),
        json!({ "patch": "--- a\n+++ /etc/passwd\n@@ -1,3 +1,3 @@\n 1\n-2\n+two\n 3\n" }),
        json!({ "patch": "*** Delete File: b" }),
        json!({ "patch": "" }),
    ] {
        assert_eq!(one.unshown(&input), input);
    }
    assert_eq!(one.unshown(&json!({ "path": "/w/a", "x": 1 })), json!({ "x": 1 }));
}

#[test]
fn a_change_of_one_file_says_nothing_of_another() {
    let two = beside(&[("/w/a", "", "one"), ("/w/b", "", "two")]);
    assert_eq!(two.unshown(&json!({ "path": "/w/a", "content": "one" })), Value::Null);
    let swapped = json!({ "path": "/w/a", "content": "two" });
    assert_eq!(two.unshown(&swapped), json!({ "content": "two" }));
}

#[test]
fn what_is_in_a_file_and_not_shown_is_not_told() {
    let far = |first: &str, last: &str| format!("{first}\n{}{last}\n", "x\n".repeat(20));
    let (old, new) = (far("EVIL", "a"), far("EVIL", "b"));
    let change = beside(&[("/w/a", &old, &new)]);
    let evil = json!({ "old_string": "EVIL", "new_string": "EVIL" });
    assert_eq!(change.unshown(&evil), evil);
    let long = json!({ "old_string": old, "new_string": new });
    assert_eq!(change.unshown(&long), Value::Null);
}

#[test]
fn a_command_is_told_once() {
    let beside = ShownParts { command: Some("ls -l"), ..ShownParts::default() };
    for input in
        [json!({ "command": "ls -l" }), json!({ "cmd": ["ls", "-l"], "argv": ["ls", "-l"] })]
    {
        assert_eq!(beside.unshown(&input), Value::Null);
    }
    for input in [
        json!({ "cmd": "rm" }),
        json!({ "command": ["ls", "-l", 1] }),
        json!({ "args": ["ls", "-l"] }),
    ] {
        assert_eq!(beside.unshown(&input), input);
    }
}

#[test]
fn a_text_names_whole_places_only() {
    assert!(names_path("Delete `/w/a`", "/w/a") && names_path("/w/a", "/w/a"));
    for text in ["Delete /w/ab", "Delete /w/a/b", "Delete /x/w/a", "Delete /w/a.rs", ""] {
        assert!(!names_path(text, "/w/a"), "{text}");
    }
    assert!(!names_path("a", ""));
}

#[test]
fn paths_are_told_from_where_the_session_works() {
    let cwd = Some("/w/app");
    assert_eq!(short_path("/w/app/src/a.rs", cwd), "src/a.rs");
    for path in ["/w/app", "/w/app/", "/w/apple/a", "/x/w/app/a", "a.rs"] {
        assert_eq!(short_path(path, cwd), path);
    }
    assert_eq!(short_path("/a", Some("/")), "/a");
    assert_eq!(without_cwd("mv /w/app/a '/w/app/b/c' /w/apple", cwd), "mv a 'b/c' /w/apple");
    for text in [
        "cat /x/w/app/a",
        "cat ../w/app/a",
        "cd /w/app",
        "rm -rf /w/app/",
        "find /w/app/ -delete",
        "Edit /w/app//etc/passwd",
        "chmod 777 /w/app//w/app/x",
        "Edit evil:/w/app/x",
        "",
    ] {
        assert_eq!(without_cwd(text, cwd), text);
    }
}
