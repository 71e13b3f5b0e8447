//! What every list reads is short, whoever says it.

use serde_json::json;

use super::*;
use wire::event::TurnEnded;
use wire::{Fault, Json};

const LONG: usize = 1 << 20;

fn details() -> SessionDetails {
    SessionDetails::new(
        Vec::new(),
        &CreationParams { new_params: Json::trusted("{}"), preface: None },
    )
}

#[test]
fn how_a_turn_ended_is_told_in_short() {
    let long = "x".repeat(LONG);
    let fault = Fault::new(wire::Category::Auth, &long).remedy(&long);
    let ended = TurnEnded { error: Some(fault), ..TurnEnded::of(long.into()) };
    let mut details = details();
    details.last_end = Some(TurnEndSummary::of(&ended));
    assert!(details.to_json().as_str().len() < 3000);
}

#[test]
fn settings_that_are_too_much_are_not_kept_and_those_before_are() {
    let mut details = details();
    let set = |details: &mut SessionDetails, id: &str, value: &str| {
        let params = json!({ "configId": id, "value": value });
        details.note_setting("session/set_config_option", &Json::of(&params));
    };
    set(&mut details, "model", "small");
    set(&mut details, "model", &"x".repeat(LONG));
    for n in 0..10_000 {
        set(&mut details, &n.to_string(), "value");
    }
    let kept = &details.settings["session/set_config_option model"];
    assert!(kept.params.as_str().contains("small"), "{kept:?}");
    assert!(details.settings.len() > 10);
    assert!(details.to_json().as_str().len() < 64 << 10);
}
