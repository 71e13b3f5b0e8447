//! A run's words, from logs written by hand.

#![allow(clippy::unwrap_used)]

use serde_json::{Value, json};
use wire::{Event, Json, Kind, Millis, Seq, TurnId};

use super::{Frame, RunVocabulary};

fn own() -> TurnId {
    TurnId::derived(&[b"own"])
}

fn other() -> TurnId {
    TurnId::derived(&[b"other"])
}

/// A log as it is written down: a turn, a kind and a payload.
fn log(lines: &[(Option<TurnId>, &str, Value)]) -> Vec<Event> {
    let event = |(n, (turn, kind, payload)): (usize, &(Option<TurnId>, &str, Value))| Event {
        seq: Seq(n as u64 + 1),
        at: Millis(i64::try_from(n).unwrap() * 10),
        turn: *turn,
        kind: Kind::from_log(kind),
        payload: Json::of(payload),
    };
    lines.iter().enumerate().map(event).collect()
}

fn told(lines: &[(Option<TurnId>, &str, Value)]) -> Vec<(&'static str, Value)> {
    let mut words = RunVocabulary::new(own());
    let mut out: Vec<Frame> = log(lines).iter().flat_map(|event| words.read(event)).collect();
    out.extend(words.conclude(None));
    out.into_iter().map(|frame| (frame.name.unwrap(), frame.data.read().unwrap())).collect()
}

fn created() -> (Option<TurnId>, &'static str, Value) {
    (
        None,
        "session_created",
        json!({ "agent": "demo", "command": ["/bin/demo", "x"], "cwd": "/p" }),
    )
}

fn received(turn: TurnId) -> (Option<TurnId>, &'static str, Value) {
    let run = json!({ "conversationId": "c", "projectId": "p", "reasoning": "high" });
    let payload = json!({ "prompt": [], "_meta": { "switchyard": { "run": run } } });
    (Some(turn), "prompt_received", payload)
}

fn worker() -> (Option<TurnId>, &'static str, Value) {
    (None, "worker_started", json!({ "pid": 1, "model": "small" }))
}

fn text(turn: TurnId, text: &str) -> (Option<TurnId>, &'static str, Value) {
    let content = json!({ "type": "text", "text": text });
    let update = json!({ "sessionUpdate": "agent_message_chunk", "content": content });
    (Some(turn), "agent_message_chunk", json!({ "update": update }))
}

fn labels(told: &[(&'static str, Value)]) -> Vec<String> {
    let label = |(name, data): &(&str, Value)| match data["type"].as_str() {
        Some("status") => data["label"].as_str().unwrap().to_owned(),
        Some(kind) => kind.to_owned(),
        None => (*name).to_owned(),
    };
    told.iter().map(label).collect()
}

#[test]
fn a_run_starts_tells_its_model_and_ends() {
    let told = told(&[
        created(),
        received(own()),
        worker(),
        (Some(own()), "turn_started", json!({})),
        text(own(), "hi"),
        (Some(own()), "turn_ended", json!({ "stopReason": "end_turn" })),
    ]);

    let expected =
        ["start", "initializing", "model", "requesting", "streaming", "text_delta", "usage", "end"];
    assert_eq!(labels(&told), expected);
    let start = json!({
        "runId": own(), "agentId": "demo", "bin": "/bin/demo", "protocolVersion": 1, "cwd": "/p",
        "conversationId": "c", "projectId": "p", "reasoning": "high",
    });
    assert_eq!(told[0].1, start);
    assert_eq!(told[2].1["model"], "small");
    assert_eq!(told[4].1["ttftMs"], 10);
    let end = json!({ "code": 0, "status": "succeeded", "stopReason": "end_turn" });
    assert_eq!(told.last().unwrap().1, end);
}

#[test]
fn a_later_run_tells_the_model_again_and_nothing_of_the_earlier_one() {
    let told = told(&[
        created(),
        received(other()),
        worker(),
        (Some(other()), "turn_started", json!({})),
        text(other(), "theirs"),
        received(own()),
        text(other(), "theirs too"),
        (Some(other()), "turn_ended", json!({ "stopReason": "end_turn" })),
        (Some(own()), "turn_started", json!({})),
        text(own(), "mine"),
        (Some(own()), "turn_ended", json!({ "stopReason": "end_turn" })),
    ]);

    let expected =
        ["start", "initializing", "model", "requesting", "streaming", "text_delta", "usage", "end"];
    assert_eq!(labels(&told), expected);
    assert_eq!(told[5].1["delta"], "mine");
}

#[test]
fn only_what_ends_a_run_is_an_error() {
    let fault = json!({ "category": "rate_limit", "message": "too much", "remedy": "wait" });
    let told = told(&[
        created(),
        received(own()),
        worker(),
        (Some(own()), "turn_started", json!({})),
        (Some(own()), "error", json!({ "category": "protocol", "message": "odd line" })),
        (Some(own()), "worker_exited", json!({ "signal": 9 })),
        (Some(own()), "turn_ended", json!({ "stopReason": "error", "error": fault })),
    ]);

    let warning = told.iter().find(|(_, data)| data["label"] == "warning").unwrap();
    assert_eq!(warning.1["detail"], "odd line");
    let errors: Vec<&Value> =
        told.iter().filter(|(name, _)| *name == "error").map(|(_, data)| data).collect();
    let error = json!({
        "code": "RATE_LIMITED", "message": "too much", "details": "wait", "retryable": true,
    });
    assert_eq!(errors, [&json!({ "message": "too much", "error": error })]);
    let end = &told.last().unwrap().1;
    assert_eq!(
        (&end["status"], &end["code"], &end["signal"]),
        (&json!("failed"), &json!(1), &json!(9))
    );
}

#[test]
fn an_agent_that_never_ran_is_unavailable() {
    let fault = json!({ "category": "process_exit", "message": "not found" });
    let told = told(&[
        created(),
        received(own()),
        (Some(own()), "turn_started", json!({})),
        (Some(own()), "turn_ended", json!({ "stopReason": "error", "error": fault })),
    ]);

    let error = told.iter().find(|(name, _)| *name == "error").unwrap();
    assert_eq!(error.1["error"]["code"], "AGENT_UNAVAILABLE");
}

#[test]
fn a_prompt_that_was_dropped_ends_its_run() {
    for (reason, status, n_errors) in [("cancelled", "canceled", 0), ("interrupted", "failed", 1)] {
        let told = told(&[
            created(),
            received(own()),
            (Some(own()), "prompt_dropped", json!({ "reason": reason })),
        ]);

        assert_eq!(told.last().unwrap().1["status"], status);
        assert_eq!(told.iter().filter(|(name, _)| *name == "error").count(), n_errors);
    }
}

#[test]
fn a_question_to_a_person_is_told_as_waiting() {
    let request = json!({ "toolCall": { "toolCallId": "t", "title": "rm" }, "options": [] });
    let asks =
        |ask: bool| json!({ "requestId": wire::CallId::MIN, "ask": ask, "request": request });
    let told = told(&[
        created(),
        received(own()),
        (Some(own()), "turn_started", json!({})),
        (Some(own()), "permission_requested", asks(false)),
        (Some(own()), "permission_requested", asks(true)),
    ]);

    let n_waiting = labels(&told).iter().filter(|label| *label == "waiting_for_permission").count();
    assert_eq!(n_waiting, 1);
    assert_eq!(told.last().unwrap().1["status"], "failed", "the log has no end");
}
