//! Recordings of `OpenCode` and Kilo, and what they do not show.

use serde_json::{Value, json};
use wire::Category;

use super::super::testing::{
    check, exit_of, recordings, render, stdout_of, survives_anything, text_of, translate, turn_ends,
};
use super::super::{CliExit, DialectName, DialectOutput, Outputs, StopReason, TurnOutcome};

const NAME: DialectName = DialectName::OpencodeJson;

#[test]
fn recordings_are_translated() {
    for cli in ["opencode", "kilo"] {
        for (scenario, path) in recordings(cli) {
            let said = translate(NAME, &stdout_of(&path), &[], &exit_of(&path));
            check(&said);
            assert_eq!(turn_ends(&said), 1, "{cli} {scenario}");
            insta::assert_snapshot!(format!("{cli}-{scenario}"), render(&said));
        }
    }
}

#[test]
fn spoilt_recordings_do_no_harm() {
    let paths = recordings("opencode").into_iter().chain(recordings("kilo"));
    survives_anything(NAME, paths.map(|(_, path)| stdout_of(&path)).collect());
}

fn said(lines: &[Value], exit: &CliExit) -> Outputs {
    let text = lines.iter().map(Value::to_string).collect::<Vec<_>>().join("\n");
    let said = translate(NAME, text.as_bytes(), &[], exit);
    check(&said);
    assert_eq!(turn_ends(&said), 1);
    said
}

fn ending(said: &[DialectOutput]) -> &TurnOutcome {
    match said.last() {
        Some(DialectOutput::TurnEnded(end)) => &end.ending,
        other => panic!("the end is {other:?}"),
    }
}

fn done() -> CliExit {
    CliExit { code: Some(0), ..CliExit::default() }
}

fn step_start() -> Value {
    json!({ "type": "step_start", "sessionID": "s", "part": { "messageID": "m" } })
}

fn step_finish(reason: &str) -> Value {
    json!({ "type": "step_finish", "sessionID": "s", "part": { "messageID": "m",
            "reason": reason, "cost": 0.5, "tokens": { "input": 1, "output": 2, "reasoning": 3,
            "cache": { "read": 4, "write": 5 } } } })
}

fn text(text: &str) -> Value {
    json!({ "type": "text", "sessionID": "s", "part": { "messageID": "m", "text": text } })
}

fn tool(part: &str, call: &str, status: &str) -> Value {
    json!({ "type": "tool_use", "sessionID": "s", "part": { "id": part, "callID": call,
            "tool": "bash", "state": { "status": status, "input": { "command": "ls" },
            "output": part, "metadata": { "output": "so far" } } } })
}

#[test]
fn usage_is_the_sum_of_the_steps() {
    let lines = [step_start(), step_finish("tool-calls"), step_start(), step_finish("stop")];
    let said = said(&lines, &done());
    let Some(DialectOutput::TurnEnded(end)) = said.last() else { panic!("no end") };
    let usage = end.usage.unwrap();
    assert_eq!((usage.input_tokens, usage.output_tokens, usage.total_tokens), (2, 4, 30));
    assert_eq!(usage.cached_write_tokens, Some(10));
}

#[test]
fn text_of_a_step_that_is_tried_again_is_told_once() {
    let lines =
        [step_start(), text("Hello"), step_start(), text("Hello, you."), step_finish("stop")];
    assert_eq!(text_of(&said(&lines, &done())), "Hello, you.");
    let two = [step_start(), text("Ho."), step_finish("stop"), step_start(), text("Ho.")];
    assert_eq!(text_of(&said(&two, &done())), "Ho.Ho.");
}

#[test]
fn an_error_counts_unless_the_answer_came_after_it() {
    let error = json!({ "type": "error", "error": { "name": "APIError",
        "data": { "message": "busy", "statusCode": 529 } } });
    let recovered = [error.clone(), step_start(), text("Hi"), step_finish("stop")];
    assert_eq!(ending(&said(&recovered, &done())), &TurnOutcome::Stopped(StopReason::EndTurn));

    let failed = [step_start(), text("Hi"), step_finish("stop"), error];
    let exit = CliExit { code: Some(1), ..CliExit::default() };
    let said = said(&failed, &exit);
    assert!(
        matches!(ending(&said), TurnOutcome::Failed(f) if f.category == Category::UpstreamUnavailable)
    );
}

#[test]
fn reasons_to_stop() {
    for (reason, expected) in [
        ("stop", StopReason::EndTurn),
        ("length", StopReason::MaxTokens),
        ("content-filter", StopReason::Refusal),
        ("unknown", StopReason::EndTurn),
    ] {
        let said = said(&[step_start(), step_finish(reason)], &done());
        assert_eq!(ending(&said), &TurnOutcome::Stopped(expected));
    }
    let wanted = CliExit { signal: Some(15), is_stopped_by_us: true, ..CliExit::default() };
    assert_eq!(
        ending(&said(&[step_start()], &wanted)),
        &TurnOutcome::Stopped(StopReason::Cancelled)
    );
    let complete = [step_start(), text("Hi"), step_finish("stop")];
    assert_eq!(ending(&said(&complete, &wanted)), &TurnOutcome::Stopped(StopReason::EndTurn));
}

#[test]
fn a_call_id_that_is_used_again_is_another_call() {
    let lines = [tool("p1", "call_0", "completed"), tool("p2", "call_0", "completed")];
    let starts = said(&lines, &done());
    assert_eq!(render(&starts).matches("\"tool_call\"").count(), 2);
}

#[test]
fn a_call_that_is_told_while_it_runs_is_one_call() {
    let lines = [tool("p1", "c", "running"), tool("p1", "c", "completed")];
    let said = render(&said(&lines, &done()));
    assert_eq!(said.matches("\"tool_call\"").count(), 1);
    assert!(said.contains("so far"), "{said}");
}
