//! Draws ids and the time of day.

use std::time::{SystemTime, UNIX_EPOCH};

use wire::{Id36, Millis, SessionId};

pub(super) fn session_id() -> SessionId {
    Id36::from_entropy(&entropy())
}

/// An id for something inside a session.
pub(super) fn id() -> String {
    wire::CallId::from_entropy(&entropy()).to_string()
}

pub(super) fn now() -> Millis {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Millis(i64::try_from(since_epoch.as_millis()).unwrap_or(i64::MAX))
}

fn entropy() -> [u8; 64] {
    let mut bytes = [0; 64];
    // A process that cannot get randomness must not hand out ids that can be guessed.
    if getrandom::fill(&mut bytes).is_err() {
        std::process::abort();
    }
    bytes
}
