//! What no recording shows.

use super::*;
use crate::update::{SessionUpdate, ToolCallStatus};
use wire::Category;

#[test]
fn a_result_may_be_anything() {
    for result in [json!(5), json!("text"), json!([1]), json!(true), json!({ "content": 3 })] {
        let line = json!({ "type": "tool_execution_end", "toolCallId": "a", "toolName": "bash",
                           "result": result });
        let mut talk = Talk::opened();
        talk.prompt("Hi");
        talk.hear(&line);
        let raw = talk.said.iter().find_map(|said| match said {
            DialectOutput::Update(SessionUpdate::ToolCall(call)) => call.raw_output.clone(),
            _ => None,
        });
        assert_eq!(raw, Some(result));
    }
}

#[test]
fn counts_that_no_model_can_have_reached_do_no_harm() {
    let usage = json!({ "input": u64::MAX, "output": u64::MAX, "reasoning": u64::MAX,
                        "cacheRead": u64::MAX, "cacheWrite": 1, "cost": { "total": 1e308 } });
    let mut talk = Talk::opened();
    talk.prompt("Hi");
    for _ in 0..3 {
        talk.hear(&json!({ "type": "message_end", "message":
            { "role": "assistant", "content": [], "stopReason": "stop", "usage": usage } }));
    }
    talk.hear(&json!({ "type": "agent_settled" }));
    assert_eq!(talk.endings().len(), 1);
}

fn last_status(said: &[DialectOutput]) -> Option<ToolCallStatus> {
    said.iter().rev().find_map(|said| match said {
        DialectOutput::Update(
            SessionUpdate::ToolCall(call) | SessionUpdate::ToolCallUpdate(call),
        ) => call.status,
        _ => None,
    })
}

#[test]
fn a_call_outside_of_any_run_ends_with_the_process() {
    let line = json!({ "type": "tool_execution_start", "toolCallId": "a", "toolName": "bash",
                       "args": { "command": "ls" } });
    let said = translate(NAME, line.to_string().as_bytes(), &[], &CliExit::default());
    assert_eq!(last_status(&said), Some(ToolCallStatus::Failed));
    assert_eq!(turn_ends(&said), 1);

    // In a session of ours it is no turn that we asked for.
    let mut talk = Talk::opened();
    talk.prompt("Hi");
    talk.hear(&json!({ "type": "agent_settled" }));
    talk.hear(&line);
    talk.pi.end(&CliExit::default(), &mut talk.said);
    assert_eq!(last_status(&talk.said), Some(ToolCallStatus::Failed));
    assert_eq!(talk.endings().len(), 1);
}

#[test]
fn a_state_that_is_not_told_is_no_reason_to_wait() {
    for (answer, category) in [
        (json!({ "success": false, "error": "No API key found for p" }), Category::Auth),
        (json!({ "success": false, "error": "no" }), Category::Protocol),
        (json!({ "success": false }), Category::Protocol),
        (json!({ "success": true, "data": 5 }), Category::Protocol),
    ] {
        let mut talk = Talk::open(&ConversationOptions::default());
        for command in talk.written() {
            match command["type"] == "get_state" {
                true => talk.respond(&command, &answer),
                false => talk.respond(&command, &good_answer(&command)),
            }
        }
        let lost: Vec<Category> = talk
            .said
            .iter()
            .filter_map(|said| match said {
                DialectOutput::ConversationLost(failure) => Some(failure.category),
                _ => None,
            })
            .collect();
        assert_eq!(lost, [category], "{answer}");
        assert!(!talk.said.iter().any(|said| matches!(said, DialectOutput::ConversationOpened(_))));
    }
}
