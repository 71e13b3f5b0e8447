//! Commands that failed, what an agent warns of, and where it works, on the screen.

use serde_json::{Value, json};

use super::tests::drawn;
use crate::conversation::tests::Log;
use crate::state::tests::{hear, opened};

/// `run` and the page come to the same with the same cases.
#[test]
fn whether_a_command_has_failed_is_told_as_everywhere() {
    let cases = include_str!("../../../projection/src/command_output/ends.json");
    let cases: Vec<Value> = serde_json::from_str(cases).unwrap();
    assert!(cases.len() > 15);
    for case in cases {
        let mut state = opened();
        let mut log = Log::in_turn();
        hear(&mut state, log.prompt("go"));
        let mut card = json!({ "sessionUpdate": "tool_call", "toolCallId": "t", "title": "make",
            "status": "completed" });
        card.as_object_mut().unwrap().extend(case["call"].as_object().unwrap().clone());
        hear(&mut state, [log.update(&card)]);
        for payload in case["exited"].as_array().unwrap() {
            hear(&mut state, [log.event("terminal_exited", payload)]);
        }
        let shown = drawn(&state);
        let head = shown.lines().find(|line| line.contains("make")).unwrap();
        match case["failure"].as_str() {
            Some(failure) => {
                assert!(head.contains('✗') && shown.contains(failure), "{}: {shown}", case["name"]);
            }
            None => assert!(head.contains('✓'), "{}: {shown}", case["name"]),
        }
    }
}

#[test]
fn a_notice_of_the_agent_is_shown() {
    let mut state = opened();
    let mut log = Log::in_turn();
    hear(&mut state, log.prompt("go"));
    let notice = json!({ "sessionUpdate": "notice", "severity": "warning",
        "title": "this model takes no tools", "description": "it can only talk" });
    hear(&mut state, [log.update(&notice)]);
    let shown = drawn(&state);
    assert!(shown.contains("this model takes no tools: it can only talk"), "{shown}");
}

#[test]
fn the_file_of_an_edit_is_named_once_and_from_where_the_session_works() {
    let mut state = opened();
    let mut log = Log::in_turn();
    hear(&mut state, [log.event("session_created", &json!({ "cwd": "/srv/hello" }))]);
    hear(&mut state, log.prompt("go"));
    let (path, title) = ("/srv/hello/src/main.rs", "Edit /srv/hello/src/main.rs");
    let edit = json!({ "sessionUpdate": "tool_call", "toolCallId": "t", "kind": "edit",
        "title": title, "status": "completed", "locations": [{ "path": path, "line": 2 }],
        "content": [{ "type": "diff", "path": path, "oldText": "a", "newText": "b" }] });
    hear(&mut state, [log.update(&edit)]);
    let shown = drawn(&state);
    assert_eq!(shown.matches("main.rs").count(), 1, "{shown}");
    assert!(shown.contains("Edit src/main.rs") && !shown.contains("/srv/hello"), "{shown}");

    // What a title does not name is told with the change, and elsewhere is told as it is.
    let (path, other) = ("/srv/hello/src/lib.rs", "/srv/other/lib.rs");
    let change = |path| json!({ "type": "diff", "path": path, "oldText": "a", "newText": "b" });
    let edit = json!({ "sessionUpdate": "tool_call", "toolCallId": "u", "kind": "edit",
        "title": "Mend it", "status": "completed", "locations": [{ "path": path }],
        "content": [change(path), change(other)] });
    hear(&mut state, [log.update(&edit)]);
    let shown = drawn(&state);
    assert!(shown.contains("\n  src/lib.rs +1 −1"), "{shown}");
    assert!(shown.contains("\n  /srv/other/lib.rs +1 −1"), "{shown}");
}
