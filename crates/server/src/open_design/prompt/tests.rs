//! What an agent is told, once and again.

use serde_json::json;
use sessions::details::Details;
use store::SessionRecord;
use wire::{Json, Millis, Seq, SessionId};

use super::blocks;
use crate::open_design::body::NewRun;
use crate::open_design::files::Enclosed;

fn record(last_prompt: Option<&str>) -> SessionRecord {
    let params = json!({ "cwd": "/", "_meta": { "systemPrompt": { "append": "be kind" } } });
    let last_prompt = last_prompt.map(str::to_owned);
    let details = Details { last_prompt, ..Details::new(Vec::new(), Json::of(&params)) };
    SessionRecord {
        id: SessionId::derived(&[b"s"]),
        epoch: 1,
        agent: "demo".into(),
        cwd: "/".into(),
        title: None,
        created: Millis(0),
        updated: Millis(0),
        head: Seq(0),
        bytes: 0,
        active_turn: None,
        agent_session: None,
        is_closed: false,
        details: Json::of(&details),
        damage: None,
    }
}

fn said(new: &NewRun, record: Option<&SessionRecord>) -> String {
    let blocks = blocks(new, record, &Enclosed::default(), false);
    blocks.iter().filter_map(|block| block["text"].as_str()).collect()
}

#[test]
fn an_agent_that_remembers_hears_only_what_is_new() {
    let new = NewRun {
        message: Some("all that was said".into()),
        current_prompt: Some("what is new".into()),
        ..NewRun::default()
    };
    let without = NewRun { current_prompt: None, ..new.clone() };

    assert_eq!(said(&new, None), "all that was said");
    assert_eq!(said(&new, Some(&record(None))), "all that was said");
    assert_eq!(said(&new, Some(&record(Some("before")))), "what is new");
    assert_eq!(said(&without, Some(&record(Some("before")))), "all that was said");
}

#[test]
fn instructions_go_along_when_they_are_others_than_in_the_beginning() {
    let new = |text: &str| NewRun {
        message: Some("do it".into()),
        system_prompt: Some(text.into()),
        ..NewRun::default()
    };
    let record = record(Some("before"));

    assert_eq!(said(&new("be kind"), None), "do it");
    assert_eq!(said(&new("be kind"), Some(&record)), "do it");
    assert_eq!(
        said(&new("be brief"), Some(&record)),
        "# Instructions\n\nbe brief\n\n# Request\n\ndo it"
    );
}
