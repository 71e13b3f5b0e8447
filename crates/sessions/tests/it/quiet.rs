//! When silence is worth a word.

use std::time::Duration;

use serde_json::Value;
use sessions::permission::Decider;
use sessions::session::SubmittedAnswer;
use sessions::settings::SessionSettings;
use wire::{CallId, Event, Kind};

use crate::stage::{Stage, quiet};

fn payload(event: &Event) -> Value {
    event.payload.read().unwrap()
}

fn is_quiet(event: &Event) -> bool {
    event.kind == Kind::AgentQuiet
}

#[tokio::test]
async fn a_person_who_thinks_is_no_silence_of_the_agent() {
    let quiet_after = Duration::from_millis(200);
    let settings =
        SessionSettings { quiet_after, questions_wait: true, ..SessionSettings::default() };
    let stage = Stage::with(quiet(), settings);
    let session = stage.open(&stage.agent("work")).await;
    session.start_prompt("permission execute ls").await;
    let is_asked = |event: &Event| event.kind == Kind::PermissionRequested;
    let asked = session.until_event("it asks", is_asked).await;

    // The person thinks for as long as it takes to speak of another agent's silence twice, which
    // is three times `quiet_after`.
    let silent = stage.open(&stage.agent("silent")).await;
    silent.start_prompt("slow 2 600000").await;
    let first = silent.until_event("the silence is noticed", is_quiet).await.seq;
    silent.until_event("and again", |event| is_quiet(event) && event.seq > first).await;

    let request = CallId::parse(payload(&asked)["requestId"].as_str().unwrap()).unwrap();
    let handle = &session.opened.handle;
    assert!(
        handle.answer(request, SubmittedAnswer::Reject, Decider::client("test")).await.unwrap()
    );
    session.until_event("the turn ends", |event| event.kind == Kind::TurnEnded).await;

    let events = session.events().await;
    let resolved = events.iter().find(|event| event.kind == Kind::PermissionResolved).unwrap();
    let waited = payload(resolved)["waitedMs"].as_i64().unwrap();
    // A busy machine may make the agent silent before the question and after the answer.
    for event in events.iter().filter(|event| is_quiet(event) && event.seq > asked.seq) {
        assert!(event.seq > resolved.seq, "while the question waited");
        let since_asked = event.at.0 - asked.at.0;
        let quiet = payload(event)["quietMs"].as_i64().unwrap();
        assert!(quiet < since_asked - waited / 2, "the person's time counted");
    }
    session.end().await;
    silent.end().await;
}
