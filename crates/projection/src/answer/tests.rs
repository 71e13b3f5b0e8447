use super::*;
use crate::LogReader;
use crate::tests::log::Log;
use wire::Kind;

fn answer(is_terminal: bool, log: &Log) -> String {
    let mut quiet = LogReader::new(AnswerProjection::new(is_terminal));
    let mut out = String::new();
    for event in &log.events {
        quiet.project(event, &mut out);
    }
    out
}

#[test]
fn only_the_answer_is_given() {
    let log = Log::started().thought("hm").text("a").tool("c", serde_json::json!({})).text("b");

    assert_eq!(answer(false, &log.end("end_turn")), "ab");
}

#[test]
fn a_pipe_gets_the_bytes_and_a_terminal_gets_safe_text() {
    let log = Log::started().text("\u{1b}[2Ja\r").text("\nb\r").end("end_turn");

    assert_eq!(answer(false, &log), "\u{1b}[2Ja\r\nb\r");
    assert_eq!(answer(true, &log), "\\x1b[2Ja\nb\\x0d");
}

#[test]
fn why_a_turn_failed_is_no_answer() {
    let fault = serde_json::json!({ "category": "auth", "message": "no key" });
    let end = serde_json::json!({ "stopReason": "error", "error": fault });
    let log = Log::started().text("half an ").text("answer").text("no key");

    assert_eq!(answer(false, &log.own(Kind::TurnEnded, end.clone())), "half an answer");
    let commands = serde_json::json!({ "availableCommands": [] });
    let log = Log::started().text("no key").update("available_commands_update", commands);
    let log = log.own(Kind::TurnEnded, end);
    assert_eq!(answer(false, &log), "");
    let log = Log::started().text("half an ").text("answer");
    let mut quiet = LogReader::new(AnswerProjection::new(false));
    let mut out = String::new();
    log.events.iter().for_each(|event| quiet.project(event, &mut out));
    quiet.projection_mut().finish(&mut out);
    assert_eq!(out, "half an answer");
}

#[test]
fn whoever_is_asked_has_seen_what_was_said_before() {
    let log =
        Log::started().text("I would ").text("delete it").ask("1", "c", serde_json::json!({}));

    assert_eq!(answer(false, &log), "I would delete it");
}
