//! `codex exec`, against what the real one printed.

use serde_json::Value;
use wire::Category;

use super::super::testing::{
    check, exit_of, recordings, render, stdout_of, survives_anything, text_of, translate, turn_ends,
};
use super::super::{
    CliExit, ComposedPrompt, ConversationOptions, Dialect, DialectName, DialectOutput, Outputs,
    StopReason, TurnEnd, TurnOutcome,
};
use super::CodexExec;
use crate::update::{PlanEntryStatus, SessionUpdate, ToolCallStatus};

const NAME: DialectName = DialectName::CodexExec;

#[test]
fn every_recording_is_one_turn_that_ends_once() {
    for (name, path) in recordings("codex") {
        let said = translate(NAME, &stdout_of(&path), &[], &exit_of(&path));
        check(&said);
        assert_eq!(turn_ends(&said), 1, "{name}");
        insta::assert_snapshot!(format!("codex_exec_{name}"), render(&said));
    }
}

#[test]
fn the_answer_is_what_codex_says_it_is() {
    for (name, path) in recordings("codex") {
        let bytes = stdout_of(&path);
        let lines =
            std::str::from_utf8(&bytes).unwrap().split('\n').filter(|line| !line.is_empty());
        let whole: String = lines
            .filter_map(|line| serde_json::from_str::<Value>(line).ok())
            .filter(|event| event["item"]["type"] == "agent_message")
            .map(|event| event["item"]["text"].as_str().unwrap().to_owned())
            .collect();
        let said = translate(NAME, &bytes, &[], &exit_of(&path));
        assert_eq!(text_of(&said), whole, "{name}");
    }
}

#[test]
fn nothing_that_a_process_prints_breaks_it() {
    survives_anything(NAME, recordings("codex").iter().map(|(_, path)| stdout_of(path)).collect());
}

fn run(lines: &[&str], exit: &CliExit) -> Outputs {
    translate(NAME, lines.join("\n").as_bytes(), &[], exit)
}

fn ok() -> CliExit {
    CliExit { code: Some(0), ..CliExit::default() }
}

fn end_of(said: &[DialectOutput]) -> &TurnEnd {
    let ends: Vec<&TurnEnd> = said
        .iter()
        .filter_map(|said| match said {
            DialectOutput::TurnEnded(end) => Some(end),
            _ => None,
        })
        .collect();
    assert_eq!(ends.len(), 1, "{said:?}");
    ends[0]
}

const DONE: &str = r#"{"type":"turn.completed","usage":{"input_tokens":500,"cached_input_tokens":50,"output_tokens":125,"reasoning_output_tokens":25}}"#;

#[test]
fn the_use_of_a_resumed_thread_is_not_taken_for_that_of_its_turn() {
    let mut dialect = CodexExec::default();
    let mut out = Outputs::default();
    dialect.open(
        &ConversationOptions { resume: Some("t".to_owned()), ..ConversationOptions::default() },
        &mut out,
    );
    dialect.prompt(&ComposedPrompt::default(), &mut out);
    dialect.line(DONE, &mut out);
    assert_eq!(end_of(&out).usage, None);

    let mut dialect = CodexExec::default();
    let mut out = Outputs::default();
    dialect.open(&ConversationOptions::default(), &mut out);
    dialect.prompt(&ComposedPrompt::default(), &mut out);
    dialect.line(DONE, &mut out);
    let usage = end_of(&out).usage.unwrap();
    assert_eq!((usage.total_tokens, usage.input_tokens, usage.output_tokens), (625, 500, 125));
    assert_eq!((usage.thought_tokens, usage.cached_read_tokens), (Some(25), Some(50)));
}

#[test]
fn calls_of_two_processes_have_different_ids() {
    let id = || {
        let mut dialect = CodexExec::default();
        let mut out = Outputs::default();
        dialect.open(&ConversationOptions::default(), &mut out);
        dialect.line(
            r#"{"type":"item.started","item":{"id":"item_1","type":"command_execution","command":"ls","status":"in_progress"}}"#,
            &mut out,
        );
        match out.pop() {
            Some(DialectOutput::Update(SessionUpdate::ToolCall(call))) => call.id,
            other => panic!("{other:?}"),
        }
    };
    assert_ne!(id(), id());
}

#[test]
fn a_todo_list_is_a_plan() {
    let said = run(
        &[
            r#"{"type":"item.started","item":{"id":"item_1","type":"todo_list","items":[{"text":"a","completed":true},{"text":"b","completed":false}]}}"#,
            r#"{"type":"item.updated","item":{"id":"item_1","type":"todo_list","items":[{"text":"a","completed":true},{"text":"b","completed":true}]}}"#,
            DONE,
        ],
        &ok(),
    );
    let plans: Vec<_> = said
        .iter()
        .filter_map(|said| match said {
            DialectOutput::Update(SessionUpdate::Plan { entries }) => Some(entries),
            _ => None,
        })
        .collect();
    assert_eq!(plans.len(), 2);
    assert_eq!(plans[0][1].content, "b");
    assert_eq!(plans[0][1].status, PlanEntryStatus::Pending);
    assert_eq!(plans[1][1].status, PlanEntryStatus::Completed);
    assert!(
        !said.iter().any(|said| matches!(said, DialectOutput::Update(SessionUpdate::ToolCall(_))))
    );
}

#[test]
fn every_kind_of_tool_starts_and_ends() {
    let items = [
        r#"{"id":"1","type":"mcp_tool_call","server":"db","tool":"query","arguments":{"q":1},"result":{"content":[{"type":"text","text":"rows"}],"structured_content":null},"error":null,"status":"completed"}"#,
        r#"{"id":"2","type":"mcp_tool_call","server":"db","tool":"query","arguments":{},"result":null,"error":{"message":"no"},"status":"failed"}"#,
        r#"{"id":"3","type":"collab_tool_call","tool":"spawn_agent","sender_thread_id":"a","receiver_thread_ids":["b"],"prompt":"look","agents_states":{"b":{"status":"completed","message":"found"}},"status":"completed"}"#,
        r#"{"id":"4","type":"web_search","query":"rust","action":{"type":"search","query":"rust"}}"#,
        r#"{"id":"5","type":"file_change","changes":[{"path":"/w/a","kind":"update"},{"path":"/w/b","kind":"delete"}],"status":"failed"}"#,
    ];
    let mut lines: Vec<String> = Vec::new();
    for item in items {
        lines.push(format!(r#"{{"type":"item.started","item":{item}}}"#));
        lines.push(format!(r#"{{"type":"item.completed","item":{item}}}"#));
    }
    lines.push(DONE.to_owned());
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let said = run(&lines, &ok());
    check(&said);
    insta::assert_snapshot!("codex_exec_tools", render(&said));
}

#[test]
fn what_is_not_known_is_passed_on_raw() {
    let unknown = r#"{"type":"item.completed","item":{"id":"x","type":"hologram"}}"#;
    let said = run(&["no json", unknown, r#"{"type":"turn.paused"}"#, DONE], &ok());
    let raw: Vec<_> =
        said.iter().filter(|said| matches!(said, DialectOutput::UnknownLine(_))).collect();
    assert_eq!(raw.len(), 3);
    assert!(matches!(raw[1], DialectOutput::UnknownLine(line) if line == unknown));
}

#[test]
fn a_process_that_we_ended_was_cancelled() {
    let started = r#"{"type":"turn.started"}"#;
    let call = r#"{"type":"item.started","item":{"id":"item_1","type":"command_execution","command":"sleep 9","status":"in_progress"}}"#;
    let exit = CliExit { signal: Some(15), is_stopped_by_us: true, ..CliExit::default() };
    let said = run(&[started, call], &exit);
    check(&said);
    assert_eq!(end_of(&said).ending, TurnOutcome::Stopped(StopReason::Cancelled));
    let closed = said.iter().any(|said| {
        matches!(said, DialectOutput::Update(SessionUpdate::ToolCallUpdate(c)) if c.status == Some(ToolCallStatus::Failed))
    });
    assert!(closed);
}

#[test]
fn an_error_without_a_failed_turn_is_the_failure_all_the_same() {
    let said = run(
        &[
            r#"{"type":"turn.started"}"#,
            r#"{"type":"error","message":"unexpected status 429 Too Many Requests: slow down"}"#,
        ],
        &ok(),
    );
    let TurnOutcome::Failed(failure) = &end_of(&said).ending else { panic!("{said:?}") };
    assert_eq!(failure.category, Category::RateLimit);
}

#[test]
fn errors_have_their_category() {
    let category = |message: &str| {
        let event = serde_json::json!({ "type": "turn.failed", "error": { "message": message } });
        match &end_of(&run(&[&event.to_string()], &ok())).ending {
            TurnOutcome::Failed(failure) => failure.category,
            stopped @ TurnOutcome::Stopped(_) => panic!("{stopped:?}"),
        }
    };
    let unexpected = |status: &str| category(&format!("unexpected status {status}: x, url: u"));
    assert_eq!(unexpected("401 Unauthorized"), Category::Auth);
    assert_eq!(unexpected("404 Not Found"), Category::ModelUnavailable);
    assert_eq!(unexpected("503 Service Unavailable"), Category::UpstreamUnavailable);
    assert_eq!(category("We’re currently experiencing high demand"), Category::UpstreamUnavailable);
    assert_eq!(category("You've hit your usage limit."), Category::RateLimit);
    assert_eq!(
        category("Codex ran out of room in the model's context window."),
        Category::PromptTooLarge
    );
    assert_eq!(category("who knows"), Category::Internal);
    assert_eq!(category(""), Category::Internal);
}

#[test]
fn a_full_answer_is_no_failure() {
    let event = r#"{"type":"turn.failed","error":{"message":"Incomplete response returned, reason: max_output_tokens"}}"#;
    let said = run(&[event], &ok());
    assert_eq!(end_of(&said).ending, TurnOutcome::Stopped(StopReason::MaxTokens));
}
