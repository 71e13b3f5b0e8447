//! Recordings, retries, sub-agents, todos.

use serde_json::{Value, json};
use wire::Category;

use super::super::testing::{
    check, exit_of, recordings, render, stdout_of, survives_anything, text_of, translate, turn_ends,
};
use super::super::{CliExit, DialectName, DialectOutput, Outputs, StopReason, TurnOutcome};

const NAME: DialectName = DialectName::CopilotJson;

#[test]
fn recordings_are_translated() {
    for (scenario, path) in recordings("copilot") {
        let said = translate(NAME, &stdout_of(&path), &[], &exit_of(&path));
        check(&said);
        assert_eq!(turn_ends(&said), 1, "{scenario}");
        insta::assert_snapshot!(scenario, render(&said));
    }
}

#[test]
fn the_answer_is_what_the_messages_hold() {
    for (scenario, path) in recordings("copilot") {
        let bytes = stdout_of(&path);
        let said = translate(NAME, &bytes, &[], &exit_of(&path));
        let whole: String = String::from_utf8(bytes)
            .unwrap()
            .lines()
            .filter_map(|line| serde_json::from_str::<Value>(line).ok())
            .filter(|event| event["type"] == "assistant.message")
            .filter_map(|event| event["data"]["content"].as_str().map(str::to_owned))
            .collect();
        // An answer that never became whole.
        let expected = if scenario == "6d-provider-drops" { "Hello from the" } else { &whole };
        assert_eq!(text_of(&said), expected, "{scenario}");
    }
}

#[test]
fn spoilt_recordings_do_no_harm() {
    survives_anything(NAME, recordings("copilot").iter().map(|(_, p)| stdout_of(p)).collect());
}

fn said(lines: &[(&str, Value)]) -> Outputs {
    let mut dialect = NAME.start();
    let mut out = Outputs::default();
    for (kind, data) in lines {
        dialect.line(&json!({ "type": kind, "data": data }).to_string(), &mut out);
    }
    dialect
        .line(&json!({ "type": "result", "sessionId": "s", "exitCode": 0 }).to_string(), &mut out);
    dialect.end(&CliExit { code: Some(0), ..CliExit::default() }, &mut out);
    check(&out);
    assert_eq!(turn_ends(&out), 1);
    out
}

fn ending(said: &[DialectOutput]) -> TurnOutcome {
    match said.last() {
        Some(DialectOutput::TurnEnded(end)) => end.ending.clone(),
        other => panic!("the end is {other:?}"),
    }
}

fn delta(text: &str) -> (&'static str, Value) {
    ("assistant.message_delta", json!({ "messageId": "m", "deltaContent": text }))
}

#[test]
fn an_answer_that_recovered_is_told_once() {
    let said = said(&[
        ("assistant.turn_start", json!({})),
        ("model.call_start", json!({})),
        delta("One "),
        delta("two "),
        ("assistant.turn_retry", json!({ "reason": "streaming_error" })),
        ("model.call_start", json!({})),
        delta("One two"),
        delta(" three"),
        ("assistant.message", json!({ "content": "One two three." })),
    ]);
    assert_eq!(text_of(&said), "One two three.");
    assert!(render(&said).contains("streaming error"));
}

#[test]
fn the_same_words_in_two_steps_are_told_twice() {
    let step = [
        ("assistant.turn_start", json!({})),
        ("model.call_start", json!({})),
        delta("Again."),
        ("assistant.message", json!({ "content": "Again." })),
    ];
    assert_eq!(text_of(&said(&[step.clone(), step].concat())), "Again.Again.");
}

#[test]
fn a_message_without_deltas_is_told() {
    let said = said(&[(
        "assistant.message",
        json!({ "content": "All at once.", "reasoningText": "Hm." }),
    )]);
    assert_eq!(text_of(&said), "All at once.");
    assert!(render(&said).contains("Hm."));
}

#[test]
fn a_sub_agent_works_but_does_not_speak() {
    let said = said(&[
        ("assistant.message_delta", json!({ "deltaContent": "psst", "parentToolCallId": "t" })),
        ("assistant.message", json!({ "content": "psst", "parentToolCallId": "t" })),
        (
            "tool.execution_start",
            json!({ "toolCallId": "u", "toolName": "grep", "arguments": { "pattern": "x" },
                    "parentToolCallId": "t" }),
        ),
        ("tool.execution_complete", json!({ "toolCallId": "u", "success": true })),
    ]);
    assert_eq!(text_of(&said), "");
    assert!(render(&said).contains("\"parentToolCallId\":\"t\""));
}

#[test]
fn todos_are_a_plan_and_intents_are_notices() {
    let said = render(&said(&[
        (
            "tool.execution_start",
            json!({ "toolCallId": "1", "toolName": "report_intent",
                    "arguments": { "intent": "Looking around" } }),
        ),
        ("tool.execution_complete", json!({ "toolCallId": "1", "success": true })),
        (
            "tool.execution_start",
            json!({ "toolCallId": "2", "toolName": "update_todo",
                    "arguments": { "todos": "# Plan\n- [x] Look\n- [ ] Leap\n* [-] Think" } }),
        ),
        ("tool.execution_complete", json!({ "toolCallId": "2", "success": true })),
    ]));
    assert!(said.contains("Looking around") && !said.contains("tool_call"), "{said}");
    assert_eq!(said.matches("\"status\":").count(), 3, "{said}");
}

#[test]
fn context_compaction_and_titles_are_told() {
    let said = render(&said(&[
        ("session.usage_info", json!({ "currentTokens": 10, "tokenLimit": 100 })),
        ("session.usage_info", json!({ "currentTokens": 10, "tokenLimit": 100 })),
        ("session.compaction_start", json!({})),
        ("session.compaction_complete", json!({ "success": false, "error": "too big" })),
        ("session.title_changed", json!({ "title": "A title" })),
        ("assistant.usage", json!({ "inputTokens": 30, "outputTokens": 5, "cacheReadTokens": 20 })),
        ("something.new", json!({})),
    ]));
    assert_eq!(said.matches("usage_update").count(), 1, "{said}");
    assert!(said.contains("too big") && said.contains("A title"), "{said}");
    assert!(said.contains("\"totalTokens\":35,\"inputTokens\":10"), "{said}");
    assert!(said.contains("something.new"), "{said}");
}

#[test]
fn aborted_runs_are_cancelled() {
    assert_eq!(
        ending(&said(&[("abort", json!({ "reason": "user" }))])),
        TurnOutcome::Stopped(StopReason::Cancelled)
    );
}

#[test]
fn kinds_of_errors() {
    for (data, category) in [
        (json!({ "errorType": "authentication", "message": "no" }), Category::Auth),
        (
            json!({ "errorType": "query", "message": "no", "statusCode": 404 }),
            Category::ModelUnavailable,
        ),
        (json!({ "errorType": "query", "message": "no", "statusCode": 401 }), Category::Auth),
        (json!({ "message": "connection reset" }), Category::UpstreamUnavailable),
    ] {
        let TurnOutcome::Failed(failure) = ending(&said(&[("session.error", data)])) else {
            panic!("no failure")
        };
        assert_eq!(failure.category, category);
    }
}
