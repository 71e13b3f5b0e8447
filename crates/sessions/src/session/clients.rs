//! The clients that are attached to a session, and which of them serves what the agent asks for.
//!
//! In: clients that come and go, and what each said it serves. Out: the one to ask. No I/O and no
//! clock.
//!
//! Always true: nothing is asked of a client that did not offer it, or of one that has left; what
//! Switchyard serves by itself is asked of none but for files, which an editor may have open.

use tokio::sync::mpsc;

use super::services::Services;
use super::{ClientCall, ServedRequests};

/// An attached client, as the session sees it.
#[derive(Debug)]
pub(super) struct AttachedClient {
    pub(super) id: u64,
    pub(super) calls: mpsc::Sender<ClientCall>,
    pub(super) serves: ServedRequests,
}

#[derive(Debug, Default)]
pub(super) struct Clients {
    attached: Vec<AttachedClient>,
}

impl Clients {
    pub(super) fn attach(&mut self, client: AttachedClient) {
        self.attached.push(client);
    }

    pub(super) fn detach(&mut self, id: u64) {
        self.attached.retain(|client| client.id != id);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.attached.is_empty()
    }

    /// The client that answers requests of `method`, if one does. The latest is the one that a
    /// person looks at.
    pub(super) fn server_of(&self, method: &str) -> Option<&AttachedClient> {
        self.attached.iter().rev().find(|client| match method {
            method if method.starts_with("fs/") => client.serves.files,
            method => client.serves.others && !Services::serves(method),
        })
    }
}

#[cfg(test)]
mod tests;
