use serde_json::{Value, json};

use super::*;
use crate::LogReader;
use crate::tests::log::{Log, turn};
use wire::Kind;

fn project(log: &Log) -> Vec<Envelope> {
    let mut envelopes = LogReader::new(EnvelopesProjection::new("session"));
    let mut out = Vec::new();
    for event in &log.events {
        envelopes.project(event, &mut out);
    }
    out
}

/// The `ev` of each envelope; ids are checked for consistency, never by value.
fn evs(log: &Log) -> Vec<Value> {
    let ev = |envelope: &Envelope| {
        let mut ev = serde_json::to_value(&envelope.ev).unwrap();
        if let Some(call) = ev.get_mut("call") {
            *call = "call".into();
        }
        ev
    };
    project(log).iter().map(ev).collect()
}

fn kinds(log: &Log) -> Vec<String> {
    evs(log).iter().map(|ev| ev["t"].as_str().unwrap().to_owned()).collect()
}

fn calls(log: &Log) -> Vec<String> {
    let call = |envelope: &Envelope| match &envelope.ev {
        EnvelopeEvent::ToolCallStart { call, .. } | EnvelopeEvent::ToolCallEnd { call } => {
            Some(call.to_string())
        }
        _ => None,
    };
    project(log).iter().filter_map(call).collect()
}

#[test]
fn a_turn_starts_once_however_often_it_is_said() {
    assert_eq!(kinds(&Log::started().start().start()), ["turn-start"]);
}

#[test]
fn a_turn_ends_with_the_status_of_its_stop_reason() {
    for (reason, status) in [
        ("end_turn", "completed"),
        ("max_tokens", "completed"),
        ("max_turn_requests", "completed"),
        ("refusal", "completed"),
        ("error", "failed"),
        ("cancelled", "cancelled"),
    ] {
        let evs = evs(&Log::started().end(reason));
        assert_eq!(evs[1], json!({ "t": "turn-end", "status": status, "stopReason": reason }));
    }
}

#[test]
fn a_turn_ends_once() {
    let log = Log::started().end("end_turn").end("end_turn").start().end("error");

    assert_eq!(kinds(&log), ["turn-start", "turn-end"]);
}

#[test]
fn an_end_without_a_start_gives_nothing() {
    assert!(project(&Log::new().in_turn(1).end("end_turn")).is_empty());
    assert_eq!(kinds(&Log::started().in_turn(2).end("end_turn")), ["turn-start"]);
}

#[test]
fn each_turn_carries_its_own_id() {
    let log = Log::started().text("a").end("end_turn").in_turn(2).start().text("b").end("end_turn");
    let turns: Vec<_> = project(&log).iter().map(|envelope| envelope.turn).collect();

    let (one, two) = (Some(turn(1)), Some(turn(2)));
    assert_eq!(turns, [one, one, one, two, two, two]);
}

#[test]
fn a_turn_whose_end_was_lost_fails_when_the_next_one_starts() {
    let log = Log::started().tool("c", json!({})).in_turn(2).start();

    assert_eq!(
        kinds(&log),
        ["turn-start", "tool-call-start", "tool-call-end", "turn-end", "turn-start"]
    );
    assert_eq!(evs(&log)[3]["status"], "failed");
}

#[test]
fn every_chunk_of_text_is_an_envelope() {
    let evs = evs(&Log::started().text("a").text("").text("b").thought("hm").thought(""));

    assert_eq!(evs[1], json!({ "t": "text", "text": "a" }));
    assert_eq!(evs[2], json!({ "t": "text", "text": "b" }));
    assert_eq!(evs[3], json!({ "t": "text", "text": "hm", "thinking": true }));
    assert_eq!(evs.len(), 4);
}

#[test]
fn what_comes_late_carries_the_turn_of_its_event_and_reopens_nothing() {
    let out = project(&Log::started().end("end_turn").text("late").outside().text("later"));

    assert_eq!(out.len(), 4);
    assert_eq!((out[2].turn, out[3].turn), (Some(turn(1)), None));
}

#[test]
fn the_prompt_is_the_users() {
    let link = json!({ "type": "resource_link", "name": "a", "uri": "file:///a", "size": 3 });
    let unknown = json!({ "type": "resource_link", "name": "b", "uri": "file:///b" });
    let blocks =
        json!([{ "type": "text", "text": "hi" }, link, unknown, { "type": "text", "text": "" }]);
    let log = Log::new().in_turn(1).own(Kind::PromptReceived, json!({ "prompt": blocks }));
    let out = project(&log);

    assert!(
        out.iter().all(|envelope| envelope.role == EnvelopeSender::User && envelope.turn == Some(turn(1)))
    );
    assert_eq!(
        evs(&log),
        [
            json!({ "t": "text", "text": "hi" }),
            json!({ "t": "file", "ref": "file:///a", "name": "a", "size": 3 }),
        ]
    );
}

#[test]
fn a_tool_call_starts_and_ends_once() {
    let log = Log::started()
        .tool(
            "c",
            json!({ "title": "Run\n`ls`", "kind": "execute", "rawInput": { "command": "ls" } }),
        )
        .tool("c", json!({ "status": "in_progress" }))
        .tool_update("c", json!({ "status": "completed" }))
        .tool_update("c", json!({ "status": "completed" }));
    let evs = evs(&log);

    assert_eq!(
        evs[1],
        json!({
            "t": "tool-call-start", "call": "call", "name": "execute", "title": "Run `ls`",
            "description": "ls", "args": { "command": "ls" },
        })
    );
    assert_eq!(evs[2], json!({ "t": "tool-call-end", "call": "call" }));
    assert_eq!(evs.len(), 3);
    let calls = calls(&log);
    assert_eq!(calls[0], calls[1]);
}

#[test]
fn calls_have_their_own_ids_and_are_paired() {
    let call = json!({ "rawInput": { "x": 1 } });
    let log = Log::started().tool("a", call.clone()).tool("b", call.clone());
    let log = log.tool_update("b", json!({ "status": "failed" }));
    let log = log.tool_update("a", json!({ "status": "completed" })).end("end_turn");
    let log = log.in_turn(2).start().tool("a", call);
    let calls = calls(&log);

    let [a, b, b_end, a_end, a_again] = calls.as_slice() else { panic!("{calls:?}") };
    assert_eq!((a, b), (a_end, b_end));
    assert!(a != b && a != a_again && b != a_again);
}

#[test]
fn a_call_may_first_be_seen_in_an_update_or_in_a_question() {
    let log = Log::started().tool_update("a", json!({ "locations": [{ "path": "p" }] }));
    assert_eq!(kinds(&log), ["turn-start", "tool-call-start"]);

    let log = Log::started().ask("r", "b", json!({ "title": "T", "status": "pending" }));
    let log = log.tool("b", json!({ "title": "T" }));
    assert_eq!(kinds(&log), ["turn-start", "tool-call-start"]);
}

#[test]
fn the_result_of_an_unknown_call_is_an_end_alone() {
    let log = Log::started().tool_update("x", json!({ "status": "completed" }));
    let log = log.tool_update("x", json!({ "status": "completed" })).end("end_turn");

    assert_eq!(kinds(&log), ["turn-start", "tool-call-end", "turn-end"]);
    assert!(wire::CallId::parse(&calls(&log)[0]).is_ok());
}

#[test]
fn a_call_that_comes_complete_starts_and_ends() {
    let log = Log::started().tool("x", json!({ "status": "completed" }));

    assert_eq!(kinds(&log), ["turn-start", "tool-call-start", "tool-call-end"]);
}

#[test]
fn an_input_that_comes_in_pieces_is_awaited() {
    let log = Log::started()
        .tool("c", json!({ "title": "Edit", "status": "pending", "rawInput": {} }))
        .tool_update("c", json!({ "rawInput": { "path": "a" } }))
        .tool_update(
            "c",
            json!({ "rawInput": { "path": "a", "new": "b" }, "status": "in_progress" }),
        );
    let evs = evs(&log);

    assert_eq!(evs.len(), 2);
    assert_eq!(evs[1]["args"], json!({ "path": "a", "new": "b" }));
}

#[test]
fn a_call_that_waits_for_its_input_starts_before_anything_else_is_said() {
    let pending = json!({ "title": "Edit", "status": "pending" });
    let log = Log::started().tool("c", pending).text("so");

    assert_eq!(kinds(&log), ["turn-start", "tool-call-start", "text"]);
    let log = log.end("end_turn");
    assert_eq!(kinds(&log)[3..], ["tool-call-end", "turn-end"]);
}

#[test]
fn calls_left_open_are_closed_before_their_turn() {
    let log = Log::started().tool("a", json!({})).tool("b", json!({})).end("cancelled");
    let log = log.tool_update("a", json!({ "status": "completed" }));

    let expected = ["turn-start", "tool-call-start", "tool-call-start", "tool-call-end"];
    assert_eq!(kinds(&log)[..4], expected);
    assert_eq!(kinds(&log)[4..], ["tool-call-end", "turn-end"]);
}

#[test]
fn args_are_an_object_and_keep_their_bytes() {
    let log = Log::started().tool("a", json!({ "rawInput": "text" })).text("so");
    assert_eq!(evs(&log)[1]["args"], json!({}));

    let mut log = Log::started().tool("a", json!({}));
    let payload =
        r#"{"update":{"toolCallId":"a","rawInput":{"z":1, "a":12345678901234567890123}}}"#;
    log.events[1].payload = wire::Json::parse(payload).unwrap();
    let line = serde_json::to_string(&project(&log)[1]).unwrap();
    assert!(line.contains(r#""args":{"z":1, "a":12345678901234567890123}"#), "{line}");
}

#[test]
fn what_the_protocol_has_no_word_for_gives_nothing() {
    let mut log = Log::started();
    for kind in [
        Kind::PermissionResolved,
        Kind::ElicitationRequested,
        Kind::ElicitationResolved,
        Kind::WorkerStarted,
        Kind::WorkerExited,
        Kind::AgentStderr,
        Kind::AgentNotification,
        Kind::CancelRequested,
        Kind::CancelStep,
        Kind::SessionCreated,
    ] {
        log = log.raw(kind, &json!({ "text": "x", "message": "x" }));
    }
    for name in ["usage_update", "available_commands_update", "current_mode_update", "unheard_of"] {
        log = log.update(name, json!({ "used": 1 }));
    }

    assert_eq!(kinds(&log), ["turn-start"]);
}

#[test]
fn an_error_inside_a_turn_is_a_service_message_once() {
    let error = json!({ "category": "auth", "message": "no key", "remedy": "log in" });
    let log = Log::started().own(Kind::Error, error.clone());
    let end = json!({ "stopReason": "error", "error": error });
    let log = log.own(Kind::TurnEnded, end).own(Kind::Error, json!({ "message": "outside" }));
    let evs = evs(&log);

    assert_eq!(evs[1], json!({ "t": "service", "text": "Error: no key\nlog in" }));
    assert_eq!(evs[2]["status"], "failed");
    assert_eq!(evs.len(), 3);
}

#[test]
fn a_plan_is_told_when_it_changes() {
    let plan =
        |status| json!({ "entries": [{ "content": "a", "status": status }, { "content": "b" }] });
    let log = Log::started().update("plan", plan("pending")).update("plan", plan("pending"));
    let log = log.update("plan", plan("in_progress")).update("plan", plan("completed"));
    let texts: Vec<_> = evs(&log)[1..].iter().map(|ev| ev["text"].clone()).collect();

    assert_eq!(texts, ["Plan\n[ ] a\n[ ] b", "Plan\n[~] a\n[ ] b", "Plan\n[x] a\n[ ] b"]);
}

#[test]
fn usage_stands_on_the_end_of_the_turn() {
    let usage =
        json!({ "inputTokens": 5, "outputTokens": 6, "cachedReadTokens": 7, "totalTokens": 11 });
    let log = Log::started().update("usage_update", json!({ "used": 1, "size": 1000 }));
    let end = json!({ "stopReason": "end_turn", "usage": usage });
    let out = project(&log.own(Kind::TurnEnded, end));

    let expected = json!({
        "input_tokens": 5, "output_tokens": 6, "cache_read_input_tokens": 7,
        "total_tokens": 11, "context_window": 1000,
    });
    assert_eq!(serde_json::to_value(&out[1].usage).unwrap(), expected);
    assert!(out[0].usage.is_none());
}

#[test]
fn time_does_not_go_back() {
    let mut log = Log::started().text("a").text("b");
    log.events[1].at = wire::Millis(5);
    let times: Vec<_> = project(&log).iter().map(|envelope| envelope.time).collect();

    assert_eq!(times, [1010, 1010, 1030]);
}

#[test]
fn a_full_turn_is_consistent() {
    let log = Log::new().in_turn(1).prompt("hi").start().text("a");
    let log = log.tool("c", json!({})).tool_update("c", json!({ "status": "completed" }));
    let log = log.text("b").end("end_turn");
    let out = project(&log);

    assert_eq!(
        kinds(&log),
        ["text", "turn-start", "text", "tool-call-start", "tool-call-end", "text", "turn-end"]
    );
    assert!(out.iter().all(|envelope| envelope.turn == Some(turn(1))));
    let ids: std::collections::HashSet<_> = out.iter().map(|envelope| envelope.id).collect();
    assert_eq!(ids.len(), out.len());
    assert_eq!(project(&log), out);
    let mut other = LogReader::new(EnvelopesProjection::new("another session"));
    let mut others = Vec::new();
    for event in &log.events {
        other.project(event, &mut others);
    }
    assert!(others.iter().all(|envelope| !ids.contains(&envelope.id)));
}

/// As Claude's own ACP agent and ours tell it.
fn made_by(parent: &str) -> [Value; 2] {
    [
        json!({ "claudeCode": { "parentToolUseId": parent } }),
        json!({ "switchyard": { "parentToolCallId": parent } }),
    ]
}

#[test]
fn what_a_subagent_does_is_told_under_an_id_of_its_own() {
    for meta in made_by("task") {
        let log = Log::started()
            .tool("task", json!({ "title": "Look\naround", "status": "pending" }))
            .tool("inner", json!({ "title": "Read", "_meta": meta }))
            .update(
                "agent_message_chunk",
                json!({ "content": { "type": "text", "text": "found" }, "_meta": meta }),
            )
            .tool_update("inner", json!({ "status": "completed" }))
            .tool_update("task", json!({ "status": "completed" }))
            .text("done")
            .end("end_turn");
        let out = project(&log);
        let told: Vec<_> = kinds(&log)
            .into_iter()
            .zip(&out)
            .map(|(kind, envelope)| (kind, envelope.subagent.is_some()))
            .collect();
        let expected = [
            ("turn-start", false),
            ("tool-call-start", false),
            ("start", true),
            ("tool-call-start", true),
            ("text", true),
            ("tool-call-end", true),
            ("tool-call-end", false),
            ("stop", true),
            ("text", false),
            ("turn-end", false),
        ];
        assert_eq!(told, expected.map(|(kind, is_of_subagent)| (kind.to_owned(), is_of_subagent)));
        assert_eq!(evs(&log)[2], json!({ "t": "start", "title": "Look around" }));
        let ids: std::collections::HashSet<_> = out.iter().filter_map(|one| one.subagent).collect();
        assert_eq!(ids.len(), 1);
        let EnvelopeEvent::ToolCallStart { call, .. } = &out[1].ev else { panic!("{out:?}") };
        assert!(!ids.contains(call) && ids.iter().all(|id| id.as_str() != "task"));
    }
}

#[test]
fn a_subagent_begins_once_and_stops_at_the_latest_with_its_turn() {
    let [meta, _] = made_by("unseen");
    let call = |meta: &Value| json!({ "rawInput": { "x": 1 }, "_meta": meta });
    let log = Log::started()
        .tool("a", call(&meta))
        .tool("b", call(&meta))
        .end("cancelled")
        .tool("c", call(&meta));
    let expected = ["turn-start", "start", "tool-call-start", "tool-call-start"];
    assert_eq!(kinds(&log)[..4], expected);
    let expected = ["tool-call-end", "tool-call-end", "stop", "turn-end", "tool-call-start"];
    assert_eq!(kinds(&log)[4..], expected);
    assert_eq!(evs(&log)[1], json!({ "t": "start" }));
    // The same call in another turn has another sub-agent.
    let log = log.in_turn(2).start().tool("a", call(&meta));
    let out = project(&log);
    assert_ne!(out.last().unwrap().subagent, out[1].subagent);
}

fn image(data: &str) -> Value {
    json!({ "type": "image", "mimeType": "image/png", "data": data })
}

#[test]
fn an_image_of_the_agent_is_a_file_and_a_large_one_a_line() {
    let log = Log::started().update("agent_message_chunk", json!({ "content": image("QUJD") }));
    let file = json!({
        "t": "file", "ref": "data:image/png;base64,QUJD", "name": "image.png", "size": 3,
        "mimeType": "image/png",
    });
    assert_eq!(evs(&log)[1], file);

    let large = image(&"A".repeat(2 << 20));
    let log = Log::started().update("agent_message_chunk", json!({ "content": large }));
    let told = json!({ "t": "service", "text": "[image image/png, 1.5 MB]" });
    assert_eq!(evs(&log)[1], told);
    let asked = json!({ "prompt": [image("QUJD"), large] });
    assert_eq!(evs(&Log::new().in_turn(1).own(Kind::PromptReceived, asked)), [file]);
}

#[test]
fn the_images_of_a_tool_are_told_once_before_its_end() {
    let content = |images: &[&str]| {
        let wrapped = |data: &&str| json!({ "type": "content", "content": image(data) });
        json!(images.iter().map(wrapped).collect::<Vec<_>>())
    };
    let log = Log::started()
        .tool("c", json!({ "title": "Shoot", "content": content(&["QUJD"]) }))
        .tool_update("c", json!({ "content": content(&["QUJD", "REVG"]) }))
        .tool_update("c", json!({ "content": content(&["QUJD", "REVG"]), "status": "completed" }))
        .tool_update("c", json!({ "content": content(&["QUJD", "REVG", "R0hJ"]) }))
        .tool("bare", json!({ "content": [image("QUJD")] }));
    let expected = ["turn-start", "tool-call-start", "file", "file", "tool-call-end"];
    assert_eq!(kinds(&log)[..5], expected);
    assert_eq!(kinds(&log)[5..], ["tool-call-start", "file"]);
    assert_eq!(evs(&log)[3]["ref"], "data:image/png;base64,REVG");
}

#[test]
fn an_answer_that_is_told_again_after_a_retry_is_told_once() {
    let retry = json!({ "method": "_session/retrying" });
    let log = Log::started().text("Hello").text(" from").own(Kind::AgentNotification, retry);
    let log = log.text("Hello").text(" from the").text(" model");
    let texts: Vec<_> = evs(&log)[1..].iter().map(|ev| ev["text"].clone()).collect();

    assert_eq!(texts, ["Hello", " from", " the", " model"]);
}
