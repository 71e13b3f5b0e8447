use serde_json::{Value, json};

use super::*;
use crate::tests::log::turn;

fn call(pieces: &[Value]) -> ToolCall {
    let mut calls = Calls::default();
    for piece in pieces {
        let piece = Json::of(piece);
        calls.merge(None, &JsonNode::of(&piece).object(), ReportKind::Update, Millis(0));
    }
    assert_eq!(calls.known.len(), 1);
    calls.known.into_values().next().unwrap()
}

#[test]
fn later_pieces_add_to_what_is_known() {
    let call = call(&[
        json!({ "toolCallId": "c", "title": "Read File", "status": "pending", "rawInput": {} }),
        json!({ "toolCallId": "c", "title": "Read a.rs", "locations": [{ "path": "/w/a.rs" }, 5] }),
        json!({ "toolCallId": "c", "title": null, "rawInput": { "n": 1 }, "kind": 7 }),
        json!({ "toolCallId": "c", "status": "completed", "rawOutput": "done" }),
    ]);

    assert_eq!(call.title.as_deref(), Some("Read a.rs"));
    assert_eq!(call.status, Some(CallStatus::Completed));
    assert_eq!(call.locations, [CallLocation { path: "/w/a.rs".into(), line: None }]);
    assert!(call.input().is_some() && call.kind.is_none());
    assert_eq!(call.raw_output_text().as_deref(), Some("done"));
}

#[test]
fn an_ended_call_stays_ended() {
    let call = call(&[
        json!({ "toolCallId": "c", "status": "failed" }),
        json!({ "toolCallId": "c", "status": "in_progress" }),
        json!({ "toolCallId": "c", "status": "completed" }),
    ]);

    assert_eq!(call.status, Some(CallStatus::Failed));
}

#[test]
fn the_same_id_in_another_turn_is_another_call() {
    let mut calls = Calls::default();
    let fields = Json::of(&json!({ "toolCallId": "c" }));
    let fields = JsonNode::of(&fields).object();
    let merge = |calls: &mut Calls, n: u64| {
        calls.merge(Some(turn(n)), &fields, ReportKind::Call, Millis(0))
    };

    let first = merge(&mut calls, 1);
    assert_eq!(calls.leave_open(), [first]);
    calls.free_ended();
    let second = merge(&mut calls, 2);
    assert_ne!(first, second);
    assert_eq!(merge(&mut calls, 1), first);
    assert_eq!(calls.leave_open(), [second]);
}

#[test]
fn numbers_serve_as_ids_too() {
    assert_eq!(call(&[json!({ "toolCallId": 5 }), json!({ "toolCallId": 5 })]).id, "5");
}

#[test]
fn output_is_read_in_every_shape() {
    let call = call(&[json!({ "toolCallId": "c", "content": [
        { "type": "content", "content": { "type": "text", "text": "a" } },
        { "type": "text", "text": "bare" },
        { "type": "diff", "path": "p", "newText": "n" },
        { "type": "diff", "path": "q", "patch": { "text": "@@\n+x" } },
        { "type": "terminal", "terminalId": "t1" },
        { "type": "content", "content": { "type": "image", "mimeType": "image/png" } },
        { "type": "diff" },
        17,
    ] })]);

    let diff = |path: &str, change| ToolOutput::Diff(FileDiff { path: path.into(), change });
    assert_eq!(
        call.output,
        [
            ToolOutput::Text("a".into()),
            ToolOutput::Text("bare".into()),
            diff("p", FileChange::Texts { old: None, new: "n".into() }),
            diff("q", FileChange::Patch("@@\n+x".into())),
            ToolOutput::Terminal("t1".into()),
            ToolOutput::Other("[image: image/png]".into()),
            diff("", FileChange::Texts { old: None, new: String::new() }),
        ]
    );
}

#[test]
fn a_command_may_be_a_string_or_an_argv() {
    let command = |input| call(&[json!({ "toolCallId": "c", "rawInput": input })]).command();

    assert_eq!(command(json!({ "command": "ls -l" })).as_deref(), Some("ls -l"));
    assert_eq!(command(json!({ "command": ["ls", "-l"] })).as_deref(), Some("ls -l"));
    assert_eq!(command(json!({ "command": 5 })), None);
    assert_eq!(command(json!("ls")), None);
}

fn report(calls: &mut Calls, id: &str, status: &str) -> CallKey {
    let piece = Json::of(&json!({ "toolCallId": id, "status": status }));
    let key = calls.merge(None, &JsonNode::of(&piece).object(), ReportKind::Update, Millis(0));
    calls.begin(key);
    if calls.get(key).is_ended() {
        calls.end(key);
    }
    calls.free_ended();
    key
}

#[test]
fn the_oldest_calls_that_are_over_are_forgotten_and_no_open_one() {
    let mut calls = Calls::default();
    let open = report(&mut calls, "open", "in_progress");
    let first = report(&mut calls, "0", "completed");
    for n in 1..=MAX_OVER {
        assert_eq!(report(&mut calls, "0", "completed"), first, "{n} later calls are over");
        // A late update does not make it younger.
        report(&mut calls, &n.to_string(), "completed");
    }

    assert_ne!(report(&mut calls, "0", "completed"), first);
    assert_eq!(report(&mut calls, "open", "in_progress"), open);
    assert_eq!(calls.known.len(), MAX_OVER + 1);
    assert_eq!(calls.by_id.len(), MAX_OVER + 1);
    assert_eq!(calls.get(first).id, "", "a forgotten call is an empty one");
}
