//! A question shows all of what is asked.

use serde_json::{Value, json};

use super::tests::{asking, panel};
use crate::conversation::tests::{Log, call_id};
use crate::state::tests::{hear, opened};

fn asked(call: &Value) -> String {
    panel(&asking(call, &json!([])), 80, 60)
}

fn edit(old: &str, new: &str) -> Value {
    json!([{ "type": "diff", "path": "/w/safe", "oldText": old, "newText": new }])
}

#[test]
fn a_change_does_not_stand_for_arguments_that_say_something_else() {
    let shown = asked(&json!({ "toolCallId": "t", "title": "Edit", "content": edit("a\n", "b\n"),
        "rawInput": { "path": "/root/.bashrc", "content": "EVIL", "patch": "*** Delete File: X" } }));
    for part in ["path: /root/.bashrc", "content: EVIL", "patch: *** Delete File: X", "+b"] {
        assert!(shown.contains(part), "{shown}");
    }
    let shown = asked(&json!({ "toolCallId": "t", "title": "Edit", "content": edit("a\n", "b\n"),
        "rawInput": { "path": "/w/safe", "old_string": "a", "new_string": "b" } }));
    assert!(!shown.contains("path:") && !shown.contains("string"), "{shown}");
    let shown = asked(&json!({ "toolCallId": "t", "title": "ls",
        "rawInput": { "command": "ls", "cmd": "rm -rf ~" } }));
    assert!(shown.contains("cmd: rm -rf ~"), "{shown}");
}

#[test]
fn a_relative_path_is_that_of_a_change_in_the_session() {
    let asked_in = |cwd: &str| {
        let (mut state, mut log) = (opened(), Log::in_turn());
        hear(&mut state, [log.event("session_created", &json!({ "cwd": cwd }))]);
        hear(&mut state, log.prompt("go"));
        let call = json!({ "toolCallId": "t", "title": "Edit", "content": edit("a\n", "b\n"),
            "rawInput": { "path": "safe", "content": "b\n" } });
        let request = json!({ "toolCall": call, "options": [] });
        let asked = json!({ "requestId": call_id('q'), "ask": true, "request": request });
        hear(&mut state, [log.event("permission_requested", &asked)]);
        panel(&state, 80, 40)
    };
    assert!(!asked_in("/w").contains("path:"));
    assert!(asked_in("/root").contains("path: safe"));
}

#[test]
fn a_large_call_does_not_hide_its_arguments_either() {
    let new = "x\n".repeat(20_000);
    let shown = asked(&json!({ "toolCallId": "t", "title": "Edit", "content": edit("", &new),
        "rawInput": { "path": "/root/.bashrc", "content": new } }));
    assert!(shown.contains("path: /root/.bashrc"), "{shown}");
    let shown = asked(&json!({ "toolCallId": "t", "title": "Edit", "content": edit("", &new),
        "rawInput": { "path": "/w/safe", "content": new } }));
    assert!(!shown.contains("content:"), "{shown}");
}

#[test]
fn every_place_is_shown_or_counted() {
    let call = |n: usize| {
        let places: Vec<Value> = (0..n).map(|n| json!({ "path": format!("/w/f{n}") })).collect();
        json!({ "toolCallId": "t", "title": "Delete /w/f0", "kind": "delete", "locations": places })
    };
    let shown = asked(&call(30));
    assert!((1..30).all(|n| shown.contains(&format!("  /w/f{n}\n"))), "{shown}");
    let shown = panel(&asking(&call(500), &json!([])), 80, 240);
    assert!(shown.contains("  /w/f199\n  … 300 more places\n"), "{shown}");
    // What only begins like a place that the title names is another.
    let places = json!([{ "path": "/w/f0" }, { "path": "/w/f" }]);
    let call = json!({ "toolCallId": "t", "title": "Move /w/f0", "locations": places });
    assert!(asked(&call).contains("  /w/f\n"));
}

#[test]
fn changed_ends_of_lines_are_changes() {
    let shown =
        asked(&json!({ "toolCallId": "t", "title": "Edit", "content": edit("a\n", "a\r\n") }));
    assert!(shown.contains("-a\n") && shown.contains("+a\\x0d\n"), "{shown}");
    let shown = asked(&json!({ "toolCallId": "t", "title": "Edit", "content": edit("a\n", "a") }));
    assert!(shown.contains("\\ No newline at end of file\n"), "{shown}");
}

#[test]
fn what_is_left_out_of_many_changes_is_counted() {
    let diff = |n: usize| json!({ "type": "diff", "path": format!("/w/f{n}"), "newText": "a" });
    let diffs: Vec<Value> = (0..120).map(diff).collect();
    let call = json!({ "toolCallId": "t", "title": "Edit", "content": diffs });
    let shown = panel(&asking(&call, &json!([])), 80, 800);
    assert!(shown.contains("… 20 more parts are not shown"), "{shown}");
    let call =
        json!({ "toolCallId": "t", "title": "Edit", "content": edit("", &"a\n".repeat(3000)) });
    let shown = panel(&asking(&call, &json!([])), 80, 1500);
    assert!(shown.contains("… 2001 more lines"), "{shown}");
}
