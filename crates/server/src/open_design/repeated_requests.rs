//! Requests that are repeated, or sent at the same time.
//!
//! In: the names that clients give to their requests, and conversations. Out: whether a name
//! was used for something else, and a place in the conversation's queue. What a request has
//! done is in the log; here is only what is too short-lived for it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

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
pub(super) struct ConversationLocks(Mutex<HashMap<String, Arc<tokio::sync::Mutex<()>>>>);

/// The lock of a conversation.
#[derive(Debug)]
pub(super) struct ConversationLock<'a> {
    queues: &'a ConversationLocks,
    conversation: String,
    held: Option<OwnedMutexGuard<()>>,
}

impl ConversationLocks {
    pub(super) async fn enter(&self, conversation: &str) -> ConversationLock<'_> {
        let queue = self.0.locked().entry(conversation.to_owned()).or_default().clone();
        let mut place =
            ConversationLock { queues: self, conversation: conversation.to_owned(), held: None };
        place.held = Some(queue.lock_owned().await);
        place
    }
}

impl Drop for ConversationLock<'_> {
    fn drop(&mut self) {
        self.held = None;
        let mut queues = self.queues.0.locked();
        // The last one out: only the table still has it.
        if queues.get(&self.conversation).is_some_and(|queue| Arc::strong_count(queue) == 1) {
            queues.remove(&self.conversation);
        }
    }
}

#[cfg(test)]
mod tests;
