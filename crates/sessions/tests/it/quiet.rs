//! When silence is worth a word.

use std::time::Duration;

use serde_json::{Value, json};
use sessions::permission::Decider;
use sessions::session::Answer;
use sessions::settings::Settings;
use wire::{CallId, Event, Json, Kind};

use crate::stage::{Stage, quiet};

fn payload(event: &Event) -> Value {
    event.payload.read().unwrap()
}

#[tokio::test]
async fn a_person_who_thinks_is_no_silence_of_the_agent() {
    let quiet_after = Duration::from_millis(500);
    let settings = Settings { quiet_after, questions_wait: true, ..Settings::default() };
    let stage = Stage::with(quiet(), settings);
    let session = stage.open(&stage.agent("work")).await;
    let handle = &session.opened.handle;
    let params = json!({ "prompt": [{ "type": "text", "text": "permission execute ls" }] });
    handle.prompt(sessions::mint::turn_id(), Json::of(&params), "test").await.unwrap();
    let is_asked = |event: &Event| event.kind == Kind::PermissionRequested;
    let asked = payload(&session.until_event("it asks", is_asked).await);
    tokio::time::sleep(4 * quiet_after).await;

    let request = CallId::parse(asked["requestId"].as_str().unwrap()).unwrap();
    assert!(handle.answer(request, Answer::Reject, Decider::client("test")).await.unwrap());
    session.until_event("the turn ends", |event| event.kind == Kind::TurnEnded).await;

    let events = session.events().await;
    let resolved = events.iter().find(|event| event.kind == Kind::PermissionResolved).unwrap();
    let waited = payload(resolved)["waitedMs"].as_u64().unwrap();
    for event in events.iter().filter(|event| event.kind == Kind::AgentQuiet) {
        // A slow machine may make the agent silent, but not for so long.
        assert!(event.seq > resolved.seq, "while the question waited");
        assert!(payload(event)["quietMs"].as_u64().unwrap() < waited, "its time counted");
    }
    session.end().await;
}
