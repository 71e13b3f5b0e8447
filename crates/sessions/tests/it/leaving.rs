//! Sessions that leave the registry.

use std::time::Duration;

use sessions::details::ClientRequest;
use sessions::mint;
use sessions::order::SessionOrder;
use sessions::session::PromptAcceptance;
use sessions::settings::SessionSettings;
use store::StoreError;
use testkit::memory_log::LogCall;
use wire::Seq;

use crate::pools_registry::{order, prompt, registry};
use crate::stage::{Stage, quiet, until};

fn put_aside_at_once() -> Stage {
    let put_aside_after = Some(Duration::ZERO);
    Stage::with(quiet(), SessionSettings { put_aside_after, ..SessionSettings::default() })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_is_put_aside_leaves_the_registry_by_itself() {
    let stage = put_aside_at_once();
    let command = stage.agent("work");
    let registry = registry(&stage, &command);
    let later = SessionOrder { starts_later: true, ..order(&command) };
    let mut ids = Vec::new();
    for _ in 0..3 {
        ids.push(registry.create(later.clone()).await.unwrap().handle.id());
    }

    until("all have left", || ids.iter().all(|id| registry.phase(*id).is_none())).await;

    // Each can be had again, and leaves again.
    for id in &ids {
        registry.session(*id).await.unwrap();
    }
    until("all have left", || ids.iter().all(|id| registry.phase(*id).is_none())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn why_a_session_halted_is_known_after_others_came_and_went() {
    let stage = put_aside_at_once();
    let command = stage.agent("work");
    let registry = registry(&stage, &command);
    let later = SessionOrder { starts_later: true, ..order(&command) };
    let session = registry.create(order(&command)).await.unwrap().handle;
    // What may pass by itself would be put right by itself.
    let full = StoreError::SessionFull { session: session.id(), max_bytes: 1 };
    stage.log.fail(LogCall::Append, full);
    session.prompt(mint::turn_id(), prompt("help"), "test").await.unwrap_err();
    session.ended().await;
    stage.log.mend();

    let other = registry.create(later).await.unwrap().handle.id();
    until("the other has left", || registry.phase(other).is_none()).await;

    assert!(registry.halted(session.id()).unwrap().contains("reached its limit"));
    registry.shut_down().await;
    stage.until_none_left().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_prompt_that_could_not_be_logged_leaves_no_trace_and_can_be_sent_again() {
    let stage = Stage::with(quiet(), SessionSettings::default());
    let command = stage.agent("work");
    let registry = registry(&stage, &command);
    let session = registry.create(order(&command)).await.unwrap().handle;
    let (id, turn) = (session.id(), mint::turn_id());
    let request = ClientRequest { id: "a".to_owned(), digest: "a".to_owned() };
    let path = std::path::PathBuf::from("log");
    stage.log.fail(LogCall::Append, StoreError::DiskFull { path });
    session.prompt_once(turn, prompt("help"), "test", request.clone()).await.unwrap_err();
    // It may be put right before anybody can look: no event is missing from its log.
    session.ended().await;
    stage.log.mend();

    until("it can go on", || registry.halted(id).is_none()).await;

    let events = stage.context.log.read(id, Seq(0), 1000).await.unwrap();
    assert!(events.iter().all(|event| event.turn != Some(turn)), "{events:?}");
    let session = registry.session(id).await.unwrap();
    let accepted = session.prompt_once(turn, prompt("help"), "test", request).await.unwrap();
    assert_eq!(accepted, PromptAcceptance::New);
    registry.shut_down().await;
    stage.until_none_left().await;
}
