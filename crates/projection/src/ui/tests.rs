use serde_json::{Value, json};

use super::*;
use crate::LogReader;
use crate::tests::log::{Log, request, turn};
use wire::Kind;

fn project(log: &Log) -> Vec<UiEvent> {
    let mut ui = LogReader::<UiProjection>::default();
    let mut out = Vec::new();
    for event in &log.events {
        ui.project(event, &mut out);
    }
    out
}

fn all(log: &Log) -> Vec<Value> {
    project(log).iter().map(|event| serde_json::to_value(event).unwrap()).collect()
}

/// The `agent` payloads after the two events that open a turn, and without `streaming`.
fn agent(log: &Log) -> Vec<Value> {
    let events = all(log).into_iter().skip(2).filter(|event| event["event"] == "agent");
    events.map(|event| event["data"].clone()).filter(|data| data["label"] != "streaming").collect()
}

#[test]
fn a_turn_starts_with_the_details_of_its_session() {
    let details = json!({ "agent": "gemini", "command": ["gemini", "--acp"], "cwd": "/w" });
    let started = json!({ "pid": 1, "model": "pro" });
    let log = Log::new().own(Kind::SessionCreated, details).own(Kind::WorkerStarted, started);
    let log = log.in_turn(1).start().start();

    let start = json!({
        "runId": turn(1), "agentId": "gemini", "bin": "gemini --acp", "protocolVersion": 1,
        "cwd": "/w", "model": "pro",
    });
    assert_eq!(
        all(&log),
        [
            json!({ "event": "start", "data": start }),
            json!({ "event": "agent", "data": { "type": "status", "label": "model", "model": "pro" } }),
            json!({ "event": "agent", "data": { "type": "status", "label": "requesting" } }),
        ]
    );
}

#[test]
fn what_the_agent_says_before_the_first_turn_is_told_behind_its_start() {
    let early = |log: Log| log.update("available_commands_update", json!({}));
    let labels = |log: Log| {
        let told = all(&log.in_turn(1).start());
        told.iter().map(|one| (one["event"].clone(), one["data"]["label"].clone())).collect()
    };
    let start = (json!("start"), Value::Null);
    let status = |label| (json!("agent"), json!(label));

    let told: Vec<_> = labels(early(Log::new()));
    let flooded: Vec<_> = labels((0..1_000).fold(Log::new(), |log, _| early(log)));

    let commands = status("available_commands_update");
    assert_eq!(told, [start.clone(), commands, status("requesting")]);
    assert_eq!((flooded.len(), &flooded[0]), (MAX_EARLY_EVENTS + 2, &start));
}

#[test]
fn the_first_sign_of_an_answer_is_timed() {
    let events =
        all(&Log::started().own(Kind::AgentStderr, json!({ "text": "x" })).thought("a").text("b"));

    assert_eq!(events[2], json!({ "event": "stderr", "data": { "chunk": "x" } }));
    assert_eq!(events[3]["data"], json!({ "type": "status", "label": "streaming", "ttftMs": 20 }));
    assert_eq!(events.iter().filter(|event| event["data"]["label"] == "streaming").count(), 1);
}

#[test]
fn thinking_is_framed() {
    let log =
        Log::started().thought("a").thought("b").text("x").text("").thought("c").end("end_turn");
    let types: Vec<_> = agent(&log).iter().map(|data| data["type"].clone()).collect();

    assert_eq!(
        types,
        [
            "thinking_start",
            "thinking_delta",
            "thinking_delta",
            "thinking_end",
            "text_delta",
            "thinking_start",
            "thinking_delta",
            "thinking_end",
            "usage",
        ]
    );
}

#[test]
fn a_tool_is_used_once_with_its_whole_input() {
    let log = Log::started()
        .tool("c", json!({ "kind": "execute", "status": "pending", "rawInput": { "cwd": "/" } }))
        .tool_update(
            "c",
            json!({ "status": "in_progress", "rawInput": { "cwd": "/", "command": "ls" } }),
        )
        .tool_update("c", json!({ "status": "in_progress" }))
        .tool_update("c", json!({ "status": "completed", "rawOutput": { "n": 1 } }))
        .tool_update("c", json!({ "status": "completed" }));

    assert_eq!(
        agent(&log),
        [
            json!({ "type": "tool_use", "id": "c", "name": "execute", "input": { "cwd": "/", "command": "ls" }, "startedAt": 1020 }),
            json!({ "type": "tool_result", "toolUseId": "c", "content": "{\"n\":1}", "isError": false }),
        ]
    );
}

#[test]
fn a_tool_with_its_input_is_used_at_first_sight() {
    let input = json!({ "rawInput": { "a": 1 } });

    assert_eq!(agent(&Log::started().tool("c", input))[0]["type"], "tool_use");
}

#[test]
fn a_tool_without_input_is_used_when_it_ends() {
    let log = Log::started().tool("c", json!({ "title": "T", "status": "in_progress" }));
    assert!(agent(&log).is_empty());

    let log = log.tool_update(
        "c",
        json!({ "status": "failed", "content": [{ "type": "text", "text": "no" }] }),
    );
    let data = agent(&log);
    assert_eq!(data[0]["input"], json!({}));
    assert_eq!(
        data[1],
        json!({ "type": "tool_result", "toolUseId": "c", "content": "no", "isError": true })
    );
}

#[test]
fn a_diff_is_a_unified_diff() {
    let diff = json!({ "type": "diff", "path": "a", "oldText": "1\n", "newText": "2\n" });
    let log = Log::started().tool("c", json!({ "status": "completed", "content": [diff] }));

    assert_eq!(agent(&log)[1]["content"], "--- a\n+++ a\n@@ -1,1 +1,1 @@\n-1\n+2\n");
}

#[test]
fn tools_left_open_get_their_result_when_the_turn_ends() {
    let log = Log::started()
        .tool("c", json!({}))
        .end("cancelled")
        .tool_update("c", json!({ "status": "completed" }));
    let data = agent(&log);

    assert_eq!(data[0]["type"], "tool_use");
    assert_eq!(
        data[1],
        json!({ "type": "tool_result", "toolUseId": "c", "content": "", "isError": true })
    );
    assert_eq!(data.len(), 3);
}

#[test]
fn a_turn_ends_with_its_usage_and_its_status() {
    for (reason, code, status) in [
        ("end_turn", json!(0), "succeeded"),
        ("max_tokens", json!(0), "succeeded"),
        ("error", json!(1), "failed"),
        ("cancelled", json!(null), "canceled"),
    ] {
        let usage = json!({ "inputTokens": 1, "outputTokens": 2, "thoughtTokens": 3 });
        let end = json!({ "stopReason": reason, "result": { "usage": usage } });
        let cost = json!({ "cost": { "amount": 0.5, "currency": "USD" } });
        let log =
            Log::started().update("usage_update", cost).own(Kind::TurnEnded, end).end("error");
        let events = all(&log);

        let usage = json!({ "input_tokens": 1, "output_tokens": 2, "thought_tokens": 3 });
        assert_eq!(
            events[3]["data"],
            json!({ "type": "usage", "usage": usage, "costUsd": 0.5, "durationMs": 20, "stopReason": reason })
        );
        let end = json!({ "code": code, "status": status, "stopReason": reason });
        assert_eq!(events[4], json!({ "event": "end", "data": end }));
        assert_eq!(events.len(), 5);
    }
}

#[test]
fn an_error_is_told_once_and_says_whether_to_try_again() {
    let fault = json!({ "category": "rate_limit", "message": "slow down", "remedy": "wait" });
    let end = json!({ "stopReason": "error", "error": fault });
    let log = Log::started().own(Kind::Error, fault).own(Kind::TurnEnded, end);
    let events = all(&log);

    let detail = json!({ "code": "rate_limit", "message": "slow down", "details": "wait", "retryable": true });
    assert_eq!(
        events[2],
        json!({ "event": "error", "data": { "message": "slow down", "error": detail } })
    );
    assert_eq!(events[4]["data"]["failureCategory"], "rate_limit");
    assert_eq!(events.len(), 5);
}

#[test]
fn other_updates_are_statuses_by_name() {
    let log = Log::started()
        .update("available_commands_update", json!({}))
        .update("unheard_of", json!({}))
        .update("session_info_update", json!({ "title": "T" }))
        .update("session_info_update", json!({ "updatedAt": "x" }))
        .update(
            "config_option_update",
            json!({ "configOptions": [{ "category": "model", "currentValue": "m" }] }),
        )
        .update("plan", json!({ "entries": [{ "content": "a" }] }));

    assert_eq!(
        agent(&log),
        [
            json!({ "type": "status", "label": "available_commands_update" }),
            json!({ "type": "status", "label": "unheard_of" }),
            json!({ "type": "conversation_title", "title": "T" }),
            json!({ "type": "status", "label": "session_info_update" }),
            json!({ "type": "status", "label": "model", "model": "m" }),
            json!({ "type": "status", "label": "plan", "detail": "[ ] a" }),
        ]
    );
}

#[test]
fn a_question_and_its_answer_are_told() {
    let by = json!({ "who": "rule", "detail": "edits" });
    let outcome = json!({ "outcome": "selected", "optionId": "yes", "kind": "allow_once" });
    let log = Log::started().ask("r1", "c", json!({ "title": "Edit" }));
    let resolved = json!({ "requestId": "r1", "by": by, "outcome": outcome });
    let data = agent(&log.own(Kind::PermissionResolved, resolved));

    assert_eq!(data[0]["type"], "tool_use");
    assert_eq!(data[1]["type"], "permission_request");
    assert_eq!((&data[1]["toolUseId"], &data[1]["title"]), (&json!("c"), &json!("Edit")));
    assert_eq!(
        data[1]["options"][0],
        json!({ "optionId": "yes", "name": "Yes", "kind": "allow_once" })
    );
    assert_eq!(
        data[2],
        json!({
            "type": "permission_resolved", "requestId": request("r1"), "outcome": "selected",
            "optionId": "yes", "kind": "allow_once", "by": "rule", "detail": "edits",
        })
    );
}

#[test]
fn name_and_data_are_the_two_halves_of_an_event() {
    for event in
        project(&Log::started().own(Kind::AgentStderr, json!({ "text": "x" })).end("error"))
    {
        let whole = serde_json::to_value(&event).unwrap();
        assert_eq!(whole["event"], event.name());
        assert_eq!(whole["data"], event.data().read::<Value>().unwrap());
    }
}

#[test]
fn a_pause_is_a_status_and_its_question_is_about_no_tool() {
    let reached = json!({ "limit": "tokens", "used": 5300, "allowed": 5000, "requestId": "r", "frozen": true });
    let call = json!({ "toolCallId": "limit-r", "title": "Go on?", "kind": "other" });
    let option = json!({ "optionId": "stop", "name": "Stop", "kind": "reject_once" });
    let asked = json!({
        "requestId": "r", "ask": true, "limit": "tokens",
        "request": { "toolCall": call, "options": [option] },
    });
    let raised = json!({ "limit": "tokens", "allowed": 10_300, "requestId": "r" });
    let log = Log::started()
        .own(Kind::LimitReached, reached)
        .own(Kind::PermissionRequested, asked)
        .own(Kind::LimitRaised, raised)
        .end("end_turn");

    let told = agent(&log);

    let detail = "5300 of 5000 tokens are used";
    assert_eq!(told[0], json!({ "type": "status", "label": "paused", "detail": detail }));
    assert_eq!(
        (&told[1]["type"], &told[1]["title"]),
        (&"permission_request".into(), &"Go on?".into())
    );
    assert_eq!(told[2], json!({ "type": "status", "label": "continued", "detail": "tokens" }));
    assert!(!told.iter().any(|data| data["type"] == "tool_use"), "{told:?}");
}

#[test]
fn an_image_is_named_in_the_answer_as_a_paragraph() {
    let image = json!({ "type": "image", "mimeType": "image/png", "data": "A".repeat(16 << 10) });
    let log = Log::started().text("See:");
    let log = log.update("agent_message_chunk", json!({ "content": image })).text("Nice.");
    let deltas: Vec<_> = agent(&log).iter().map(|data| data["delta"].clone()).collect();
    assert_eq!(deltas, ["See:", "\n\n[image image/png, 12 KB]\n\n", "Nice."]);

    let content = json!([{ "type": "content", "content": image }]);
    let log = Log::started().tool("c", json!({ "status": "completed", "content": content }));
    assert_eq!(agent(&log)[1]["content"], "[image image/png, 12 KB]");
}

#[test]
fn the_model_is_found_wherever_it_is_named() {
    for details in [
        json!({ "model": "m" }),
        json!({ "models": { "currentModelId": "m" } }),
        json!({ "configOptions": [{ "id": "x", "category": "model", "currentValue": "m" }] }),
        json!({ "configOptions": [5, { "id": "model", "currentValue": "m" }] }),
    ] {
        let read = wire::Json::of(&details);
        assert_eq!(model_of(&JsonNode::of(&read).object()).as_deref(), Some("m"), "{details}");
    }
}
