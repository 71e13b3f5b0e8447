use serde_json::{Value, json};
use wire::{Event, Kind, Millis, Seq};

use super::{CommandEnd, CommandOutput};
use crate::calls::{Calls, ReportKind};
use crate::json::JsonNode;
use crate::terminals::Terminals;

fn printed(call: &Value) -> Option<CommandOutput> {
    printed_with(call, &Terminals::default())
}

fn printed_with(call: &Value, terminals: &Terminals) -> Option<CommandOutput> {
    let json = wire::Json::of(call);
    let mut calls = Calls::default();
    let key = calls.merge(None, &JsonNode::of(&json).object(), ReportKind::Call, Millis(0));
    CommandOutput::of(calls.get(key), terminals)
}

fn of(text: &str, end: CommandEnd) -> CommandOutput {
    CommandOutput { text: text.to_owned(), end: Some(end), is_from_terminal: false }
}

fn content(text: &str) -> Value {
    json!([{ "type": "content", "content": { "type": "text", "text": text } }])
}

#[test]
fn a_terminal_that_nobody_served_is_told_by_the_raw_output() {
    let terminal = json!([{ "type": "terminal", "terminalId": "t1" }]);
    let call = |raw: Value| json!({ "kind": "execute", "content": terminal, "rawOutput": raw });

    let raw = json!({ "output": "hi\n", "exitCode": 2 });
    assert_eq!(printed(&call(raw)), Some(of("hi", CommandEnd::Code(2))));
    let raw = json!({ "output": "half", "signal": "9" });
    assert_eq!(printed(&call(raw)), Some(of("half", CommandEnd::Signal("9".into()))));
    let raw = json!({ "output": "half", "timedOut": true });
    assert_eq!(printed(&call(raw)), Some(of("half", CommandEnd::TimedOut)));
}

#[test]
fn what_a_served_terminal_printed_is_what_was_printed() {
    let mut terminals = Terminals::default();
    let event = |kind, payload: Value| Event {
        seq: Seq(1),
        at: Millis(0),
        turn: None,
        kind,
        payload: wire::Json::of(&payload),
    };
    let data = "\u{1b}[32mone\u{1b}[0m\r\n10%\r100%\n";
    let output = json!({ "terminalId": "t1", "data": data });
    terminals.apply(&event(Kind::TerminalOutput, output).own().unwrap());
    let exited = json!({ "terminalId": "t1", "exitCode": 3 });
    terminals.apply(&event(Kind::TerminalExited, exited).own().unwrap());

    let content = json!([{ "type": "terminal", "terminalId": "t1" }]);
    let told = printed_with(&json!({ "kind": "execute", "content": content }), &terminals);
    let wanted = CommandOutput { is_from_terminal: true, ..of("one\n100%", CommandEnd::Code(3)) };
    assert_eq!(told, Some(wanted));
}

#[test]
fn words_around_an_output_that_stands_alone_are_left_out() {
    let raw = json!({ "output": "", "exitCode": 0 });
    let text = "```\n(no output)\n\nExit code 0 after 0.1 s.\n```";
    let call = json!({ "kind": "execute", "content": content(text), "rawOutput": raw });
    assert_eq!(printed(&call), Some(of("", CommandEnd::Code(0))));
}

#[test]
fn a_fence_is_taken_off() {
    let call = json!({ "kind": "execute", "content": content("````\n```\nin\n```\n````") });
    let text = "```\nin\n```".to_owned();
    assert_eq!(printed(&call), Some(CommandOutput { text, ..CommandOutput::default() }));
}

#[test]
fn the_last_line_of_a_shell_is_not_its_output() {
    let text = "before-fail\n<shellId: 0 completed with exit code 3>";
    let call = json!({ "kind": "execute", "content": content(text) });
    assert_eq!(printed(&call), Some(of("before-fail", CommandEnd::Code(3))));
}

#[test]
fn codes_stand_where_agents_put_them() {
    for raw in [
        json!({ "exit_code": 7, "formatted_output": "x" }),
        json!({ "output": "x", "metadata": { "exit": 7 } }),
    ] {
        let call = json!({ "kind": "execute", "rawOutput": raw });
        assert_eq!(printed(&call), Some(of("x", CommandEnd::Code(7))));
    }
    assert_eq!(printed(&json!({ "kind": "read", "rawOutput": { "exit_code": 7 } })), None);
}

/// The page reads the same cases, and must come to the same: `web/src/session/failure.test.ts`.
#[test]
fn whether_a_command_has_failed_is_told_in_one_way() {
    let cases: Vec<Value> = serde_json::from_str(include_str!("ends.json")).unwrap();
    assert!(cases.len() > 15);
    for case in cases {
        let mut terminals = Terminals::default();
        for payload in case["exited"].as_array().unwrap() {
            let payload = wire::Json::of(payload);
            let kind = Kind::TerminalExited;
            terminals.apply(
                &Event { seq: Seq(1), at: Millis(0), turn: None, kind, payload }.own().unwrap(),
            );
        }
        let told = printed_with(&case["call"], &terminals);
        let failure = told.and_then(|told| told.end).and_then(|end| end.failure());
        assert_eq!(json!(failure), case["failure"], "{}", case["name"]);
    }
}
