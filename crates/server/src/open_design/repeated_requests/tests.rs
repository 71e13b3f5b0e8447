//! Requests that come twice, or at the same time.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use super::{ConversationLocks, RequestDigests};
use crate::locking::Locking as _;

#[test]
fn a_name_stands_for_one_request_of_one_principal() {
    let digests = RequestDigests::default();

    digests.enter("ann", Some("1"), "a").unwrap().keep();

    digests.enter("ann", Some("1"), "a").unwrap().keep();
    assert!(digests.enter("ann", Some("1"), "b").is_err());
    assert!(digests.enter("bob", Some("1"), "b").is_ok());
    assert!(digests.enter("ann", None, "b").is_ok());
}

#[test]
fn a_request_that_was_not_served_gives_its_name_back() {
    let digests = RequestDigests::default();

    drop(digests.enter("ann", Some("1"), "a").unwrap());

    assert!(digests.enter("ann", Some("1"), "b").is_ok());
}

#[tokio::test]
async fn one_at_a_time_is_in_a_conversation_and_nothing_is_left() {
    let queues = Arc::new(ConversationLocks::default());
    let first = queues.enter("c").await;
    let other = queues.enter("d").await;

    let waiting = tokio::spawn({
        let queues = queues.clone();
        async move { drop(queues.enter("c").await) }
    });
    tokio::task::yield_now().await;
    assert!(!waiting.is_finished());
    drop(first);
    waiting.await.unwrap();
    drop(other);

    drop(queues.enter("e").await);
    assert_eq!(queues.0.locked().keys().collect::<Vec<_>>(), ["e"]);
}
