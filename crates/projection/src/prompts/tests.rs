use serde_json::json;

use super::*;
use crate::tests::log::Log;

/// What was said, in order: prompts as they are, the agent's own chunks in brackets.
fn said(log: &Log) -> Vec<String> {
    let mut prompts = Prompts::default();
    let said = log.events.iter().flat_map(|event| prompts.project(event)).collect::<Vec<_>>();
    said.iter()
        .map(|said| {
            let text = said.blocks().iter().filter_map(ContentBlock::text).collect::<String>();
            if matches!(said.source, MessageSource::Agent(_)) { format!("<{text}>") } else { text }
        })
        .collect()
}

#[test]
fn a_prompt_is_told_once() {
    let log = Log::new().in_turn(1).prompt("hi").start().text("hello").end("end_turn");

    assert_eq!(said(&log), ["hi"]);
}

#[test]
fn an_echo_is_not_told_however_it_is_cut() {
    let echo = "user_message_chunk";
    for chunks in [vec!["do it"], vec!["do", " ", "it"], vec!["do it\n"], vec![" do it"]] {
        let mut log = Log::new().in_turn(1).prompt("do it").start();
        for chunk in &chunks {
            log = log.chunk(echo, chunk).own(Kind::AgentStderr, json!({ "text": "noise" }));
        }
        let log = log.text("done").end("end_turn");

        assert_eq!(said(&log), ["do it"], "{chunks:?}");
    }
}

#[test]
fn what_the_agent_says_for_the_user_besides_an_echo_is_told() {
    let log = Log::new().in_turn(1).prompt("do it").start();
    let log = log.chunk("user_message_chunk", "do").chunk("user_message_chunk", " more");
    let log = log.text("x").end("end_turn");

    assert_eq!(said(&log), ["do it", "<do>", "< more>"]);
}

#[test]
fn the_beginning_of_a_prompt_is_no_echo() {
    let log = Log::new().in_turn(1).prompt("do it").start().chunk("user_message_chunk", "do");

    assert_eq!(said(&log.text("x")), ["do it", "<do>"]);
}

#[test]
fn a_waiting_prompt_is_told_when_its_turn_starts() {
    let log = Log::new().in_turn(1).prompt("one").start();
    let log = log.in_turn(2).prompt("two").in_turn(1).text("1").end("end_turn");
    assert_eq!(said(&log), ["one"]);

    assert_eq!(said(&log.in_turn(2).start()), ["one", "two"]);
}

#[test]
fn a_dropped_prompt_is_never_told() {
    let log = Log::new().in_turn(1).prompt("one").start().in_turn(2).prompt("two");
    let log = log.own(Kind::PromptDropped, json!({ "reason": "closed" })).start();

    assert_eq!(said(&log), ["one"]);
}

#[test]
fn an_echoed_file_is_not_told_again() {
    let link = json!({ "type": "resource_link", "name": "a", "uri": "file:///a" });
    let prompt = json!({ "prompt": [{ "type": "text", "text": "see" }, link] });
    let log = Log::new().in_turn(1).own(Kind::PromptReceived, prompt).start();
    let log = log.chunk("user_message_chunk", "see");
    let log = log.update("user_message_chunk", json!({ "content": link }));

    assert_eq!(said(&log.text("x")), ["see"]);
}

#[test]
fn a_prompt_in_an_odd_shape_is_told_as_far_as_it_goes() {
    let told = |prompt| said(&Log::new().own(Kind::PromptReceived, json!({ "prompt": prompt })));

    assert_eq!(told(json!("bare")), ["bare"]);
    assert_eq!(told(json!([5, null, { "type": "text", "text": "x" }])), ["x"]);
    assert_eq!(told(json!(null)), [""]);
    assert_eq!(told(json!([])), [""]);
}
