//! Sessions that cannot be made, or that nobody waits for any more.

use std::path::PathBuf;

use sessions::mint;
use sessions::open::{self, OpenError, OpenOptions};
use sessions::order::SessionOrder;
use sessions::permission::PermissionPolicy;
use store::{ClaimOwner, EventLog, SessionFilter, StoreError};
use testkit::memory_log::LogCall;
use wire::SessionId;

use crate::stage::{Stage, plain, quiet, until_async};

async fn n_listed(stage: &Stage) -> usize {
    stage.log.sessions(SessionFilter::default()).await.unwrap().len()
}

/// The options of a session that a test knows by its id.
async fn options(stage: &Stage, starts_later: bool) -> (SessionId, OpenOptions) {
    let command = stage.agent("work");
    let slot = stage.slot(&command, &plain(&command)).await;
    let id = mint::session_id();
    let order = SessionOrder { id: Some(id), starts_later, ..SessionOrder::default() };
    (id, OpenOptions { slot, policy: PermissionPolicy::default(), order })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_cannot_be_made_is_not_there_whatever_failed() {
    for call in [LogCall::Claim, LogCall::Create, LogCall::Append, LogCall::Session] {
        for starts_later in [true, false] {
            let stage = Stage::new(quiet());
            let (id, options) = options(&stage, starts_later).await;
            let path = PathBuf::from("claims/x");
            stage.log.fail(call, StoreError::TooManyOpenFiles { action: "open", path });

            let params = plain(options.slot.command());
            let error = open::new(&stage.context, &options, &params).await.unwrap_err();

            assert!(matches!(error, OpenError::TooManyOpenFiles(_)), "{call:?}: {error:?}");
            assert_eq!(n_listed(&stage).await, 0, "{call:?}");
            assert_eq!(stage.log.owner(id).await, Ok(ClaimOwner::Nobody), "{call:?}");
            stage.pools.shut_down().await;
            stage.until_none_left().await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_in_a_directory_that_is_gone_is_not_made() {
    let stage = Stage::new(quiet());
    let (id, options) = options(&stage, true).await;
    let params = plain(options.slot.command());
    std::fs::remove_dir(&options.slot.command().cwd).unwrap();

    let error = open::new(&stage.context, &options, &params).await.unwrap_err();

    assert!(matches!(error, OpenError::Roots(_)), "{error:?}");
    assert_eq!(n_listed(&stage).await, 0);
    assert_eq!(stage.log.owner(id).await, Ok(ClaimOwner::Nobody));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_whose_maker_goes_away_is_removed_again() {
    let stage = Stage::new(quiet());
    let (id, options) = options(&stage, true).await;
    let mut held = stage.log.hold(LogCall::Append);
    let (context, params) = (stage.context.clone(), plain(options.slot.command()));
    let making = tokio::spawn(async move { open::new(&context, &options, &params).await });
    held.until_one_waits().await;
    assert_eq!(n_listed(&stage).await, 1);

    making.abort();
    assert!(making.await.unwrap_err().is_cancelled());
    drop(held);

    until_async("it is gone", async || n_listed(&stage).await == 0).await;
    until_async("nobody has it", async || stage.log.owner(id).await == Ok(ClaimOwner::Nobody))
        .await;
}
