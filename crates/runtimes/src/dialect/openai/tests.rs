//! Recordings of the two Kimis and of Vibe.

use serde_json::{Value, json};
use wire::Category;

use super::super::testing::{
    check, exit_of, recordings, render, stdout_of, survives_anything, text_of, translate, turn_ends,
};
use super::super::{CliExit, DialectName, DialectOutput, Outputs, StopReason, TurnOutcome};

const NAME: DialectName = DialectName::OpenaiJson;
const CLIS: [&str; 3] = ["kimi-cli", "kimi-code", "vibe"];

#[test]
fn recordings_are_translated() {
    for cli in CLIS {
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
    let paths = CLIS.iter().flat_map(|cli| recordings(cli));
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

#[test]
fn an_entry_that_grows_is_told_once() {
    let entry = |text: &str| {
        json!({ "id": "e", "type": "message", "role": "assistant", "sessionId": "s",
                "content": [{ "type": "text", "text": text }] })
    };
    let said = said(&[entry("Hel"), entry("Hello"), entry("Hello"), entry("Hello.")], &done());
    assert_eq!(text_of(&said), "Hello.");
}

#[test]
fn the_same_words_in_two_messages_are_told_twice() {
    let message = json!({ "role": "assistant", "content": "Again." });
    assert_eq!(text_of(&said(&[message.clone(), message], &done())), "Again.Again.");
}

#[test]
fn deepseek_style_reasoning_is_a_thought() {
    let message = json!({ "role": "assistant", "reasoning_content": "Hm.", "content": "Yes." });
    let said = said(&[message], &done());
    assert_eq!(text_of(&said), "Yes.");
    assert!(render(&said).contains("agent_thought_chunk"));
}

#[test]
fn prose_that_was_wrapped_is_put_together() {
    let (first, rest) = (format!("Error code: 401 - {}", "x".repeat(62)), "yz and more");
    assert_eq!(first.chars().count(), 80);
    let text = format!("{first}\n{rest}\nlast\n");
    let exit = CliExit { code: Some(1), ..CliExit::default() };
    let said = translate(NAME, text.as_bytes(), &[], &exit);
    let TurnOutcome::Failed(failure) = ending(&said) else { panic!("no failure") };
    assert_eq!(failure.category, Category::Auth);
    assert!(failure.message.ends_with("xyz and more last"), "{}", failure.message);
}

#[test]
fn without_an_answer_a_good_exit_is_no_success() {
    let said = translate(NAME, b"no longer maintained\n", &[], &done());
    let TurnOutcome::Failed(failure) = ending(&said) else { panic!("no failure") };
    assert_eq!(failure.message, "no longer maintained");
    assert!(matches!(ending(&translate(NAME, b"", &[], &done())), TurnOutcome::Failed(_)));
}

#[test]
fn a_process_that_we_ended_was_cancelled() {
    let call = json!({ "role": "assistant", "tool_calls": [
        { "id": "c", "function": { "name": "Bash", "arguments": "{\"command\":\"sleep 9\"}" } }] });
    let exit = CliExit { signal: Some(15), is_stopped_by_us: true, ..CliExit::default() };
    assert_eq!(ending(&said(&[call], &exit)), &TurnOutcome::Stopped(StopReason::Cancelled));
}
