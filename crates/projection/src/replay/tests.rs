use serde_json::{Value, json};
use wire::{Kind, Millis, Seq};

use super::*;
use crate::tests::log::{Log, turn};

fn replay(log: &Log) -> Vec<Json> {
    let mut replay = AcpReplay::new("our \"session\"");
    let mut out = Vec::new();
    for event in &log.events {
        replay.project(event, &mut out);
    }
    out
}

#[test]
fn updates_come_out_byte_for_byte() {
    let bytes = r#"{"update":{"x":12345678901234567890123, "e":1e2,"s":"\u0041"}}"#;
    let event = |kind| Event {
        seq: Seq(1),
        at: Millis(0),
        turn: None,
        kind,
        payload: Json::parse(bytes).unwrap(),
    };
    for name in ["plan", "unheard_of", "turn_ended"] {
        let mut out = Vec::new();
        AcpReplay::new("s").project(&event(Kind::update(name)), &mut out);

        assert_eq!(out, [Json::trusted(bytes)], "{name}");
    }
}

#[test]
fn a_prompt_becomes_one_user_chunk_per_block() {
    let blocks = json!([{ "type": "text", "text": "hi" }, { "type": "image", "data": "" }]);
    let log = Log::new().in_turn(1).own(Kind::PromptReceived, json!({ "prompt": blocks }));
    let out = replay(&log.start());

    assert_eq!(out.len(), 2);
    let first: Value = out[0].read().unwrap();
    assert_eq!(
        first,
        json!({
            "sessionId": "our \"session\"",
            "update": {
                "sessionUpdate": "user_message_chunk",
                "content": { "type": "text", "text": "hi" },
                "_meta": { "switchyard": { "seq": 1, "turn": turn(1) } },
            },
        })
    );
}

#[test]
fn an_echoed_prompt_is_not_doubled() {
    let log = Log::new().in_turn(1).prompt("hi").start().chunk("user_message_chunk", "hi");

    assert_eq!(replay(&log.text("yes").end("end_turn")).len(), 2);
}

#[test]
fn our_own_events_are_not_replayed() {
    let mut log = Log::new();
    for kind in Kind::OWN.iter().filter(|kind| **kind != Kind::PromptReceived) {
        log = log.raw(kind.clone(), &json!({ "update": { "sessionUpdate": "plan" } }));
    }

    assert!(replay(&log).is_empty());
}
