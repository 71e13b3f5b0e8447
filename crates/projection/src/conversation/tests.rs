use serde_json::json;
use wire::Kind;

use super::*;
use crate::tests::log::Log;

/// The changes in short, an event a line.
fn changes(log: &Log) -> Vec<String> {
    let mut conversation = Conversation::default();
    let told = log.events.iter().map(|event| {
        let changes = conversation.apply(event);
        let names = changes.iter().map(|change| {
            let told = format!("{change:?}");
            told.split([' ', '(', '{']).next().unwrap_or_default().to_owned()
        });
        names.collect::<Vec<_>>().join(" ")
    });
    told.collect()
}

fn last(log: &Log) -> String {
    changes(log).pop().unwrap()
}

#[test]
fn a_call_begins_when_it_is_known_what_it_is_about_or_the_agent_goes_on() {
    let call = json!({ "title": "Write", "status": "in_progress" });
    let log = Log::started().tool("c", call.clone());
    assert_eq!(last(&log), "CallSeen");
    let known = log.tool_update("c", json!({ "rawInput": { "path": "a" } }));
    assert_eq!(last(&known), "CallSeen CallBegan");
    assert_eq!(last(&Log::started().tool("c", call.clone()).text("so")), "CallBegan Answer");
    assert_eq!(last(&Log::started().tool("c", call.clone()).thought("")), "");
    assert_eq!(
        last(&Log::started().tool("d", call).ask("q", "c", json!({}))),
        "CallSeen CallBegan Asked"
    );
}

#[test]
fn a_turn_ends_once_and_with_it_what_is_open() {
    let log = Log::started().tool("c", json!({ "title": "T" })).end("end_turn");
    assert_eq!(last(&log), "CallBegan CallLeftOpen TurnEnded");
    let again = log.end("end_turn");
    assert_eq!(last(&again), "");
    // Its end was lost, and the next turn says so.
    assert_eq!(last(&again.in_turn(2).start().in_turn(3).start()), "TurnEnded TurnStarted");
    // Whoever begins to read in the middle is told the end.
    assert_eq!(last(&Log::new().in_turn(1).end("end_turn")), "TurnEnded");
}

#[test]
fn what_comes_after_the_end_of_its_turn_is_said_of_the_same_call() {
    let log =
        Log::started().tool("c", json!({ "title": "T", "rawInput": { "x": 1 } })).end("end_turn");
    let late = log.outside().tool_update("c", json!({ "status": "completed" }));
    assert_eq!(last(&late), "CallSeen CallEnded");
    let mut conversation = Conversation::default();
    for event in &late.events {
        for change in conversation.apply(event) {
            let Change::CallEnded(call) = change else { continue };
            let call = conversation.call(call);
            assert!(call.is_left_open && call.is_late);
            assert_eq!((call.title.as_deref(), call.input()), (Some("T"), None));
        }
    }
}

#[test]
fn a_call_that_is_over_is_let_go_and_one_that_is_open_is_kept() {
    let text = "x".repeat(100_000);
    let output = json!([{ "type": "content", "content": { "type": "text", "text": text } }]);
    let call = |status: &str| json!({ "title": "T", "status": status, "content": output });
    let log = Log::started().tool("a", call("completed")).tool("b", call("in_progress")).text("so");
    let mut conversation = Conversation::default();
    log.events.iter().for_each(|event| drop(conversation.apply(event)));
    let turn = log.events[0].turn;
    assert!(conversation.find_call(turn, "a").unwrap().output.is_empty());
    assert_eq!(conversation.find_call(turn, "b").unwrap().output.len(), 1);
}

#[test]
fn an_error_is_told_once_in_a_turn() {
    let fault = json!({ "category": "internal", "message": "it broke" });
    let end = json!({ "stopReason": "error", "error": fault });
    let log = Log::started().own(Kind::Error, fault.clone()).own(Kind::Error, fault);
    assert_eq!(last(&log), "");
    assert_eq!(last(&log.own(Kind::TurnEnded, end.clone())), "TurnEnded");
    assert_eq!(last(&Log::started().own(Kind::TurnEnded, end)), "Failed TurnEnded");
}

#[test]
fn an_agent_that_waits_for_an_answer_is_not_called_quiet() {
    let quiet = json!({ "quietMs": 20_000 });
    let told = |log: &Log| {
        let mut conversation = Conversation::default();
        let all = log.events.iter().flat_map(|event| conversation.apply(event)).collect::<Vec<_>>();
        matches!(all.last(), Some(Change::Own(_, Some(_))))
    };
    assert!(told(&Log::started().own(Kind::AgentQuiet, quiet.clone())));
    let asked = Log::started().ask("q", "c", json!({ "title": "T" }));
    assert!(!told(&asked.own(Kind::AgentQuiet, quiet)));
}
