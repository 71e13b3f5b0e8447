//! Exclusive ownership of a session.
//!
//! A [`Claim`] holds until it is dropped. What it stands on depends on the store: the
//! one on disk has an flock that the kernel releases when the process dies, however it dies.

use std::fmt;

use wire::SessionId;

/// The owner of a session's claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClaimOwner {
    Nobody,
    /// The log that is asked, in this process.
    ThisLog,
    /// Another process, if it can be told which.
    Other {
        pid: Option<u32>,
    },
}

/// Whoever holds this is the only owner of the session.
#[must_use = "a claim is released when it is dropped"]
pub struct Claim {
    session: SessionId,
    _hold: Box<dyn Send + Sync>,
}

impl Claim {
    /// A claim that is released when `hold` is dropped.
    pub fn new(session: SessionId, hold: impl Send + Sync + 'static) -> Self {
        Self { session, _hold: Box::new(hold) }
    }

    pub fn session(&self) -> SessionId {
        self.session
    }
}

impl fmt::Debug for Claim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Claim").field("session", &self.session).finish_non_exhaustive()
    }
}
