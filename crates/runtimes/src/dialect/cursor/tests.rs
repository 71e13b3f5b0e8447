//! Cursor Agent, as it is documented.

use serde_json::{Value, json};
use wire::Category;

use super::Cursor;
use crate::dialect::testing::{
    check, exit_of, recordings, render, stdout_of, survives_anything, text_of, translate, turn_ends,
};
use crate::dialect::{
    CliExit, ComposedPrompt, Dialect, DialectName, DialectOutput, Outputs, StopReason, TurnOutcome,
};
use crate::update::{SessionUpdate, ToolCall, ToolCallStatus};

const DIALECT: DialectName = DialectName::CursorStreamJson;

fn all() -> Vec<(String, Vec<u8>, CliExit)> {
    let recordings = recordings("cursor-agent").into_iter();
    recordings.map(|(name, path)| (name, stdout_of(&path), exit_of(&path))).collect()
}

fn one(scenario: &str) -> Outputs {
    let (_, bytes, exit) = all().into_iter().find(|(name, ..)| name == scenario).unwrap();
    translate(DIALECT, &bytes, &[], &exit)
}

fn last_of<'s>(said: &'s [DialectOutput], id: &str) -> &'s ToolCall {
    let calls = said.iter().rev().filter_map(|said| match said {
        DialectOutput::Update(
            SessionUpdate::ToolCall(call) | SessionUpdate::ToolCallUpdate(call),
        ) => Some(call),
        _ => None,
    });
    calls.into_iter().find(|call| call.id == id).unwrap()
}

fn ending(said: &[DialectOutput]) -> &TurnOutcome {
    let ends = said.iter().find_map(|said| match said {
        DialectOutput::TurnEnded(end) => Some(&end.ending),
        _ => None,
    });
    ends.unwrap()
}

#[test]
fn documented_streams_become_this() {
    for (name, bytes, exit) in all() {
        let said = translate(DIALECT, &bytes, &[], &exit);
        check(&said);
        assert_eq!(turn_ends(&said), 1, "{name}");
        insta::assert_snapshot!(name, render(&said));
    }
}

#[test]
fn the_text_is_the_results_but_for_blank_lines() {
    for (name, bytes, exit) in all() {
        let text = text_of(&translate(DIALECT, &bytes, &[], &exit));
        let lines = bytes.split(|b| *b == b'\n');
        let lines = lines.filter_map(|line| serde_json::from_slice::<Value>(line).ok());
        for line in lines.filter(|line| line["type"] == "result" && line["is_error"] == false) {
            let solid = |text: &str| text.split_whitespace().collect::<String>();
            assert_eq!(solid(&text), solid(line["result"].as_str().unwrap()), "{name}");
        }
    }
}

#[test]
fn a_tool_fails_by_its_result_or_its_exit_code() {
    let said = one("tools");
    for id in ["s1", "s2", "s3", "w1", "r1"] {
        assert_eq!(last_of(&said, id).status, Some(ToolCallStatus::Failed), "{id}");
    }
    for id in ["e1", "g1", "g2", "d1", "m1", "t1", "f1"] {
        assert_eq!(last_of(&said, id).status, Some(ToolCallStatus::Completed), "{id}");
    }
}

#[test]
fn errors_that_only_stderr_tells_are_known() {
    for (name, category) in
        [("not-logged-in", Category::Auth), ("bad-model", Category::ModelUnavailable)]
    {
        let (_, bytes, exit) = all().into_iter().find(|(scenario, ..)| scenario == name).unwrap();
        let (mut cursor, mut out) = (Cursor::default(), Outputs::default());
        cursor.prompt(&ComposedPrompt::default(), &mut out);
        for line in String::from_utf8(bytes).unwrap().lines() {
            cursor.line(line, &mut out);
        }
        cursor.end(&exit, &mut out);
        let TurnOutcome::Failed(failure) = ending(&out) else { panic!("{name}: {out:?}") };
        assert_eq!(failure.category, category, "{name}: {failure:?}");
    }
}

#[test]
fn a_process_that_we_end_is_cancelled() {
    let (_, bytes, _) = all().into_iter().find(|(name, ..)| name == "cut").unwrap();
    let exit = CliExit { is_stopped_by_us: true, signal: Some(15), ..CliExit::default() };
    let said = translate(DIALECT, &bytes, &[], &exit);
    assert_eq!(ending(&said), &TurnOutcome::Stopped(StopReason::Cancelled));
    assert_eq!(last_of(&said, "c1").status, Some(ToolCallStatus::Failed));
}

#[test]
fn what_comes_after_the_end_does_not_end_it_again() {
    let (_, mut bytes, exit) = all().into_iter().find(|(name, ..)| name == "partial").unwrap();
    let again = bytes.clone();
    bytes.extend(again);
    let said = translate(DIALECT, &bytes, &[], &exit);
    assert_eq!(turn_ends(&said), 1);
}

#[test]
fn unknown_lines_are_passed_on() {
    for line in ["no json", "[1]", r#"{"type":"interaction_query"}"#, r#"{"type":"system"}"#] {
        let (mut cursor, mut out) = (Cursor::default(), Outputs::default());
        cursor.line(line, &mut out);
        assert_eq!(*out, [DialectOutput::UnknownLine(line.to_owned())]);
    }
    let odd = json!({ "type": "tool_call", "subtype": "started", "tool_call": { "x": 1 } });
    let (mut cursor, mut out) = (Cursor::default(), Outputs::default());
    cursor.line(&odd.to_string(), &mut out);
    assert_eq!(*out, [DialectOutput::UnknownLine(odd.to_string())]);
}

#[test]
fn any_spoilt_stream_is_survived() {
    let samples = all().into_iter().map(|(_, bytes, _)| bytes).filter(|bytes| !bytes.is_empty());
    survives_anything(DIALECT, samples.collect());
}
