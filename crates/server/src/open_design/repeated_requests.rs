//! Requests that are repeated, or sent at the same time.
//!
//! In: the names that clients give to their requests, and conversations. Out: whether a name
//! was used for something else, and a place in the conversation's queue. What a request has
//! done is in the log; here is only what is too short-lived for it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, Weak};

use tokio::sync::OwnedMutexGuard;

use crate::locking::Locking as _;
use crate::problem::{Problem, kinds};
use crate::request_names::{RequestName, RequestNames};

/// Clients send a request again within seconds, not after so many others.
const MAX_REMEMBERED: usize = 4096;

/// The digests of requests by their ids. A conversation's own last requests are in its session's
/// record; this one knows of a name that is used in two conversations.
#[derive(Debug, Default)]
pub(super) struct RequestDigests(Mutex<RequestNames<String, MAX_REMEMBERED>>);

/// A name in use; given back unless the request was served.
#[derive(Debug)]
pub(super) struct RequestIdUse<'a> {
    asked: &'a RequestDigests,
    name: Option<RequestName>,
}

impl RequestDigests {
    /// Refuses a name that stands for another request.
    pub(super) fn enter(
        &self,
        principal: &str,
        id: Option<&str>,
        digest: &str,
    ) -> Result<RequestIdUse<'_>, Problem> {
        let Some(id) = id else { return Ok(RequestIdUse { asked: self, name: None }) };
        let name = (principal.to_owned(), id.to_owned());
        let mut digests = self.0.locked();
        match digests.get(&name) {
            Some(known) if known == digest => Ok(RequestIdUse { asked: self, name: None }),
            Some(_) => Err(other_request()),
            None => {
                digests.insert(name.clone(), digest.to_owned());
                Ok(RequestIdUse { asked: self, name: Some(name) })
            }
        }
    }
}

impl RequestIdUse<'_> {
    /// The name stands for this request from now on.
    pub(super) fn keep(mut self) {
        self.name = None;
    }
}

impl Drop for RequestIdUse<'_> {
    fn drop(&mut self) {
        if let Some(name) = self.name.take() {
            self.asked.0.locked().remove(&name);
        }
    }
}

/// A name stands for another request than this.
pub(super) fn other_request() -> Problem {
    let why = "this `clientRequestId` was used for another request";
    Problem::of(kinds::IDEMPOTENCY_CONFLICT).detail(why)
}

/// One request at a time in each conversation.
#[derive(Debug, Default)]
pub(super) struct ConversationLocks(Mutex<HashMap<String, Weak<tokio::sync::Mutex<()>>>>);

impl ConversationLocks {
    /// The lock of a conversation. It exists for as long as somebody has it or waits for it.
    pub(super) async fn enter(&self, conversation: &str) -> OwnedMutexGuard<()> {
        self.lock_of(conversation).lock_owned().await
    }

    fn lock_of(&self, conversation: &str) -> Arc<tokio::sync::Mutex<()>> {
        let mut known = self.0.locked();
        if let Some(lock) = known.get(conversation).and_then(Weak::upgrade) {
            return lock;
        }
        known.retain(|_, lock| lock.strong_count() > 0);
        let lock = Arc::default();
        known.insert(conversation.to_owned(), Arc::downgrade(&lock));
        lock
    }
}

#[cfg(test)]
mod tests;
