use serde_json::{Value, json};

use super::{End, Printed};
use crate::projection::json::Node;
use crate::projection::tools::ToolCalls;

fn printed(call: &Value) -> Option<Printed> {
    let json = wire::Json::of(call);
    let mut calls = ToolCalls::<()>::default();
    let (entry, _) = calls.merge(None, &Node::of(&json).object());
    Printed::of(&entry.call)
}

fn of(text: &str, end: End) -> Printed {
    Printed { text: text.to_owned(), end: Some(end) }
}

fn content(text: &str) -> Value {
    json!([{ "type": "content", "content": { "type": "text", "text": text } }])
}

#[test]
fn a_terminal_that_is_gone_is_told_by_the_raw_output() {
    let terminal = json!([{ "type": "terminal", "terminalId": "t1" }]);
    let call = |raw: Value| json!({ "kind": "execute", "content": terminal, "rawOutput": raw });

    let raw = json!("Failed with exit code 3 after 0.1 s.\n\none\ntwo\n");
    assert_eq!(printed(&call(raw)), Some(of("one\ntwo", End::Code(3))));
    let raw = json!("Exit code 0 after 0.1 s.\n\n(no output)");
    assert_eq!(printed(&call(raw)), Some(of("", End::Code(0))));
    let raw = json!("Killed by 9 after 0.1 s.\n\nhalf");
    assert_eq!(printed(&call(raw)), Some(of("half", End::Signal("9".into()))));
    let raw = json!("Ended by us, with everything it had started, because …\n\nhalf");
    assert_eq!(printed(&call(raw)), Some(of("half", End::TimedOut)));
    let raw = json!({ "output": "hi\n", "exitCode": 2 });
    assert_eq!(printed(&call(raw)), Some(of("hi", End::Code(2))));
}

#[test]
fn words_of_the_output_are_not_taken_for_its_end() {
    let text = "Exit code of make is 3\nKilled by the sun after noon";
    let call = json!({ "kind": "execute", "content": content(text) });
    assert_eq!(printed(&call), Some(Printed { text: text.to_owned(), end: None }));
}

#[test]
fn a_fence_and_the_sentence_after_the_output_are_taken_off() {
    let text = "````\n```\nin\n```\n\nFailed with exit code 1 after 2.0 s.\n````";
    let call = json!({ "kind": "execute", "content": content(text) });
    assert_eq!(printed(&call), Some(of("```\nin\n```", End::Code(1))));
}

#[test]
fn the_last_line_of_a_shell_is_not_its_output() {
    let text = "before-fail\n<shellId: 0 completed with exit code 3>";
    let call = json!({ "kind": "execute", "content": content(text) });
    assert_eq!(printed(&call), Some(of("before-fail", End::Code(3))));
}

#[test]
fn codes_stand_where_agents_put_them() {
    for raw in [
        json!({ "exit_code": 7, "formatted_output": "x" }),
        json!({ "output": "x", "metadata": { "exit": 7 } }),
    ] {
        let call = json!({ "kind": "execute", "rawOutput": raw });
        assert_eq!(printed(&call), Some(of("x", End::Code(7))));
    }
    assert_eq!(printed(&json!({ "kind": "read", "rawOutput": { "exit_code": 7 } })), None);
}
