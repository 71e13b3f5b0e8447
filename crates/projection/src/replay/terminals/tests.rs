use serde_json::{Value, json};
use wire::{Event, Json, Kind, Millis, Seq};

use super::{OutputPace, TerminalsAsText};

fn event(kind: Kind, payload: &Value) -> Event {
    Event { seq: Seq(1), at: Millis(0), turn: None, kind, payload: Json::of(payload) }
}

fn shows(call: &str, terminal: &str) -> Event {
    event(
        Kind::update("tool_call_update"),
        &json!({ "sessionId": "s", "update": {
            "sessionUpdate": "tool_call_update", "toolCallId": call, "status": "in_progress",
            "content": [
                { "type": "terminal", "terminalId": terminal },
                { "type": "content", "content": { "type": "text", "text": "by the agent" } },
            ],
        } }),
    )
}

fn output(data: &str) -> Event {
    event(Kind::TerminalOutput, &json!({ "terminalId": "term_1", "data": data }))
}

fn exited() -> Event {
    event(Kind::TerminalExited, &json!({ "terminalId": "term_1", "exitCode": 0 }))
}

fn texts(params: &Json) -> Vec<String> {
    let params: Value = params.read().unwrap();
    let content = params["update"]["content"].as_array().unwrap();
    content.iter().map(|item| item["content"]["text"].as_str().unwrap_or("-").to_owned()).collect()
}

#[test]
fn a_terminal_is_told_as_text_and_again_when_there_is_more() {
    let mut terminals = TerminalsAsText::new("alias", true);
    assert!(
        terminals.project(&output("early\n"), OutputPace::AsItComes).is_none(),
        "nobody shows it"
    );
    let shown = terminals.project(&shows("call", "term_1"), OutputPace::AsItComes).unwrap();
    assert_eq!(texts(&shown), ["```\nearly\n```", "by the agent"]);
    assert!(shown.as_str().contains(r#""status":"in_progress""#));

    let data = "\u{1b}[31mred\u{1b}[0m\r\n```\n\u{7}";
    let more = terminals.project(&output(data), OutputPace::AsItComes).unwrap();
    assert_eq!(texts(&more), ["````\nearly\nred\n```\n\\x07\n````", "by the agent"]);
    let more: Value = more.read().unwrap();
    assert_eq!(
        (&more["sessionId"], &more["update"]["toolCallId"]),
        (&json!("alias"), &json!("call"))
    );
    assert!(terminals.project(&exited(), OutputPace::AsItComes).is_none(), "nothing new");
}

#[test]
fn a_replay_tells_an_output_once() {
    let mut terminals = TerminalsAsText::new("s", false);
    assert!(terminals.project(&shows("call", "term_1"), OutputPace::AtTheEnd).is_none());
    for _ in 0..3 {
        assert!(terminals.project(&output("more\n"), OutputPace::AtTheEnd).is_none());
    }
    let all = terminals.project(&exited(), OutputPace::AtTheEnd).unwrap();
    assert_eq!(texts(&all), ["```\nmore\nmore\nmore\n```", "by the agent"]);
}

#[test]
fn a_terminal_of_the_client_stays_one() {
    let mut terminals = TerminalsAsText::new("s", false);
    terminals.project(&output("x"), OutputPace::AsItComes);
    assert!(terminals.project(&shows("call", "theirs"), OutputPace::AsItComes).is_none());
}

#[test]
fn a_long_output_is_told_from_its_end() {
    let mut terminals = TerminalsAsText::new("s", true);
    let lines: Vec<String> = (0..10_000).map(|n| format!("line {n}\n")).collect();
    for piece in lines.concat().as_bytes().chunks(10_000) {
        terminals.project(&output(std::str::from_utf8(piece).unwrap()), OutputPace::AsItComes);
    }
    let shown = terminals.project(&shows("call", "term_1"), OutputPace::AsItComes).unwrap();
    let text = texts(&shown).remove(0);
    assert!(text.len() <= super::SHOWN_BYTES + 8, "{}", text.len());
    assert!(text.starts_with("```\nline 9") && text.ends_with("line 9999\n```"), "{text}");
}
