mod page;

use super::*;

#[test]
fn an_update_can_not_pass_for_one_of_our_own_events() {
    for own in Kind::OWN {
        let forged = Kind::update(own.as_str());

        assert_ne!(&forged, own);
        assert_eq!(forged.as_str(), format!("agent:{own}"));
        assert_eq!(Kind::from_log(forged.as_str()), forged);
    }
}

#[test]
fn kinds_read_back_from_the_log_as_they_were_written() {
    for kind in Kind::OWN {
        assert_eq!(&Kind::from_log(kind.as_str()), kind);
    }
    for name in ["agent_message_chunk", "plan_update", "x", "", "agent:plan", "a\"b", "\n"] {
        let kind = Kind::update(name);
        assert_eq!(Kind::from_log(kind.as_str()), kind, "{name:?}");
    }
}

#[test]
fn what_cannot_be_read_is_nothing_but_a_turn_ends_however_that_is_written() {
    let event = |kind: Kind, payload: &str| {
        let payload = Json::parse(payload).unwrap();
        Event { seq: Seq(1), at: Millis(0), turn: None, kind, payload }
    };
    assert_eq!(event(Kind::CancelStep, r#"{"step":5}"#).own(), None);
    assert_eq!(event(Kind::update("plan"), "{}").own(), None);
    let unreadable = event(Kind::TurnEnded, r#"{"stopReason":5,"error":3}"#);
    let Some(OwnEvent::TurnEnded(ended)) = unreadable.own() else { panic!("it has not ended") };
    assert_eq!(ended.outcome(), TurnOutcome::Failed);
    let old = event(Kind::TurnEnded, r#"{"stopReason":"canceled","of":"a later version"}"#);
    let Some(OwnEvent::TurnEnded(ended)) = old.own() else { panic!("it has not ended") };
    assert_eq!((ended.outcome(), ended.error), (TurnOutcome::Cancelled, None));
}

#[test]
fn the_outcome_of_a_turn_follows_its_stop_reason() {
    let outcome = |text: &str| serde_json::from_str::<TurnEnded>(text).unwrap().outcome();

    for reason in ["end_turn", "max_tokens", "max_turn_requests", "refusal", "unheard_of"] {
        assert_eq!(outcome(&format!(r#"{{"stopReason":"{reason}"}}"#)), TurnOutcome::Completed);
    }
    assert_eq!(outcome(r#"{"stopReason":"cancelled"}"#), TurnOutcome::Cancelled);
    assert_eq!(outcome(r#"{"stopReason":"error"}"#), TurnOutcome::Failed);
    assert_eq!(outcome(r#"{"error":{"message":"x"}}"#), TurnOutcome::Failed);
    assert_eq!(outcome("{}"), TurnOutcome::Completed);
}

#[test]
fn words_of_a_newer_version_are_read_as_unknown_ones() {
    let read = |text: &str| serde_json::from_str::<PromptDropped>(text).unwrap().reason;
    assert_eq!(read(r#"{"reason":"limit"}"#), DropReason::Limit);
    assert_eq!(read(r#"{"reason":"because"}"#), DropReason::Unknown);
    let category = |text: &str| serde_json::from_str::<Category>(text).unwrap();
    assert_eq!(category(r#""rate_limit""#), Category::RateLimit);
    assert_eq!(category(r#""weather""#), Category::Internal);
}

#[test]
fn a_value_from_elsewhere_stays_as_it_is_and_can_not_break_out() {
    let params = Json::parse(r#"{"n":12345678901234567890123, "e":1e2}"#).unwrap();
    let method = "a\"b".to_owned();
    let set = OptionSet { method, params: params.as_raw(), by: None };
    let draft = Draft::own(Millis(0), None, set.clone());
    assert_eq!(
        draft.payload.as_str(),
        r#"{"method":"a\"b","params":{"n":12345678901234567890123, "e":1e2}}"#
    );
    assert_eq!(OwnEvent::read(&draft.kind, &draft.payload), Some(set.into()));
}

#[test]
fn an_event_line_keeps_the_payload_byte_for_byte() {
    let event = Event {
        seq: Seq(7),
        at: Millis(5),
        turn: None,
        kind: Kind::update("plan"),
        payload: Json::parse(r#"{"n":12345678901234567890123, "e":1e2,"s":"\u0041"}"#).unwrap(),
    };

    assert_eq!(
        event.to_json_line(),
        r#"{"seq":7,"time":5,"kind":"plan","payload":{"n":12345678901234567890123, "e":1e2,"s":"\u0041"}}"#
    );
}

/// One event of every kind, with all that it can say.
fn every_kind() -> Vec<(&'static str, serde_json::Value)> {
    use serde_json::json;
    let id = crate::CallId::MIN;
    let by = json!({ "who": "rule", "detail": "d", "rule": { "file": "f", "index": 1 } });
    let question =
        json!({ "title": "t", "kind": "k", "command": "c", "paths": ["p"], "isCut": true });
    let fault = json!({ "category": "auth", "message": "m", "remedy": "r" });
    let outcome = json!({ "outcome": "selected", "optionId": "o", "kind": "k", "name": "n" });
    let of_agent = json!({ "a": [1, 2.5e3] });
    vec![
        (
            "session_created",
            json!({ "agent": "a", "command": ["c"], "cwd": "/", "forkedFrom": "f", "at": 7, "by": "b" }),
        ),
        (
            "session_resumed",
            json!({ "how": "load", "verified": "listed", "changed": ["c"], "tried": ["t"] }),
        ),
        ("session_closed", json!({})),
        ("option_set", json!({ "method": "m", "params": of_agent, "by": "b" })),
        (
            "prompt_received",
            json!({ "by": "b", "prompt": [], "_meta": of_agent, "clientRequestId": "c" }),
        ),
        ("prompt_dropped", json!({ "reason": "limit" })),
        ("turn_started", json!({})),
        (
            "turn_ended",
            json!({
                "stopReason": "error", "error": fault, "usage": of_agent, "usageOf": "last_call",
                "costUsd": 0.5, "result": of_agent, "agentError": of_agent,
            }),
        ),
        ("cancel_requested", json!({ "by": "b" })),
        ("cancel_step", json!({ "step": "permissions_cancelled" })),
        (
            "permission_requested",
            json!({ "requestId": id, "ask": true, "limit": "costUsd", "request": of_agent }),
        ),
        (
            "permission_resolved",
            json!({
                "requestId": id, "by": by, "allowed": true, "outcome": outcome,
                "question": question, "waitedMs": 5,
            }),
        ),
        ("elicitation_requested", json!({ "requestId": id, "ask": false, "request": of_agent })),
        (
            "elicitation_resolved",
            json!({
                "requestId": id, "by": by, "response": of_agent, "question": question,
                "waitedMs": 5,
            }),
        ),
        (
            "limit_reached",
            json!({ "limit": "tokens", "used": 5, "allowed": 4.5, "requestId": id, "frozen": true }),
        ),
        ("limit_raised", json!({ "limit": "turns", "allowed": null, "requestId": id, "by": by })),
        (
            "worker_started",
            json!({ "pid": 5, "command": ["c"], "containment": "cgroup", "model": "m" }),
        ),
        (
            "worker_exited",
            json!({ "code": 1, "signal": 9, "stopped": true, "reason": "idle", "stderr": "s" }),
        ),
        ("terminal_output", json!({ "terminalId": "t", "data": "d" })),
        (
            "terminal_exited",
            json!({ "terminalId": "t", "exitCode": 1, "signal": "9", "truncated": true }),
        ),
        ("agent_stderr", json!({ "text": "t" })),
        ("agent_notification", json!({ "method": "m", "params": of_agent })),
        ("agent_quiet", json!({ "quietMs": 5, "waitingFor": "w" })),
        ("error", fault),
        ("log_recovered", json!({ "lostFrom": 5, "lostTo": 6 })),
    ]
}

/// Logs that were written before are read by these names for as long as there are logs.
#[test]
fn every_member_of_every_kind_is_written_as_it_was_read() {
    let all = every_kind();
    let kinds: Vec<Kind> = all.iter().map(|(name, _)| Kind::from_log(name)).collect();
    assert_eq!(kinds, Kind::OWN);
    for ((name, payload), kind) in all.into_iter().zip(kinds) {
        let json = Json::of(&payload);
        let own = OwnEvent::read(&kind, &json).unwrap_or_else(|| panic!("{name}: {payload}"));
        assert_eq!(own.kind(), kind);
        let written: serde_json::Value = own.to_payload().read().unwrap();
        assert_eq!(written, payload, "{name}");
    }
}
