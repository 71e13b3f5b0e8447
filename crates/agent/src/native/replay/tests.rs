//! A session's past is told once, in order, and nothing in it is left hanging.

use std::sync::Arc;

use serde_json::json;

use super::*;
use crate::native::chat::{MessagePart, ModelToolCall};
use crate::native::journal::{CoveringKind, CoveringNote, PartEdit, PartShape};

fn entries(items: Vec<JournalItem>) -> Vec<JournalEntry> {
    let numbered = items.into_iter().enumerate();
    numbered.map(|(at, item)| JournalEntry { seq: at as u64 + 1, item: Arc::new(item) }).collect()
}

fn prompt(text: &str) -> JournalItem {
    let block = json!({ "type": "text", "text": text });
    JournalItem::Prompt { blocks: vec![block], parts: vec![MessagePart::text("told differently")] }
}

fn answer(text: &str, thought: &str, calls: &[&str]) -> JournalItem {
    let call = |name: &&str| ModelToolCall {
        id: format!("id-{name}"),
        name: (*name).to_owned(),
        arguments: "{}".into(),
    };
    let calls = calls.iter().map(call).collect();
    JournalItem::Answer {
        text: text.into(),
        thought: thought.into(),
        calls,
        is_whole: true,
        usage: None,
    }
}

fn called(answer: u64, index: usize, shown: Value) -> JournalItem {
    let mut shown = shown;
    shown["toolCallId"] = json!(call_id(answer, index));
    JournalItem::Called { answer, index, shown, parts: vec![] }
}

fn kinds(updates: &[Value]) -> Vec<&str> {
    updates.iter().map(|update| update["sessionUpdate"].as_str().unwrap()).collect()
}

#[test]
fn everything_comes_once_and_in_order() {
    let entries = entries(vec![
        prompt("hi"),
        answer("let me see", "hm", &["read", "bash"]),
        called(2, 1, json!({ "title": "ls", "status": "completed", "kind": "execute" })),
        called(2, 0, json!({ "title": "Read a", "status": "failed" })),
        answer("done", "", &[]),
    ]);

    let updates = updates(&entries, true);

    let expected = [
        "user_message_chunk",
        "agent_thought_chunk",
        "agent_message_chunk",
        "tool_call",
        "tool_call",
        "agent_message_chunk",
    ];
    assert_eq!(kinds(&updates), expected);
    assert_eq!(updates[0]["content"]["text"], "hi");
    assert_eq!(updates[3]["toolCallId"], "call-2-1");
    assert_eq!(updates[3]["kind"], "execute");
    assert_eq!(updates[4]["status"], "failed");
    assert_eq!(updates[5]["content"]["text"], "done");
}

#[test]
fn calls_that_a_crash_cut_off_have_failed() {
    let entries = entries(vec![
        prompt("hi"),
        answer("", "", &["read", "bash"]),
        called(2, 0, json!({ "title": "Read a", "status": "completed" })),
    ]);
    let updates = updates(&entries, true);
    assert_eq!(kinds(&updates), ["user_message_chunk", "tool_call", "tool_call"]);
    let of = |id: &str| updates.iter().filter(|u| u["toolCallId"] == id).collect::<Vec<_>>();
    assert_eq!(of("call-2-1").len(), 1);
    assert_eq!(of("call-2-1")[0]["status"], "failed");
    assert_eq!(of("call-2-1")[0]["title"], "bash");
    assert_eq!(of("call-2-0")[0]["status"], "completed");
}

#[test]
fn a_plan_is_shown_again_as_a_plan() {
    let todos = json!([{ "content": "look", "priority": "high", "status": "completed" }]);
    let shown = json!({ "name": "todo", "status": "completed", "rawInput": { "todos": todos } });
    let entries = entries(vec![prompt("x"), answer("", "", &["todo"]), called(2, 0, shown)]);
    let updates = updates(&entries, true);
    assert_eq!(updates[2], json!({ "sessionUpdate": "plan", "entries": todos }));
}

#[test]
fn a_summary_is_shown_to_those_who_can_show_it() {
    let entries = entries(vec![prompt("x"), JournalItem::Compacted { summary: "all".into() }]);
    let shown = updates(&entries, true);
    assert_eq!(shown[1]["status"], "completed");
    assert_eq!(shown[1]["summary"][0]["text"], "all");
    assert_eq!(kinds(&updates(&entries, false)), ["user_message_chunk"]);
}

#[test]
fn what_a_model_no_longer_sees_its_user_still_does() {
    let edits = vec![PartEdit { part: 1, shape: PartShape::Hidden }];
    let (name, note) = ("n".to_owned(), "later".to_owned());
    let covered = JournalItem::Covered(CoveringNote {
        name,
        cover: CoveringKind::Parked,
        note,
        parts: vec![1, 2],
    });
    let entries = entries(vec![
        prompt("hi"),
        answer("hello", "", &[]),
        JournalItem::Edited { edits },
        covered,
        JournalItem::Objective { text: Some("win".into()) },
        JournalItem::Threads { threads: vec![] },
        JournalItem::Uncovered { name: "n".into() },
        JournalItem::Cleared,
    ]);
    assert_eq!(kinds(&updates(&entries, true)), ["user_message_chunk", "agent_message_chunk"]);
}
