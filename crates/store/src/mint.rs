//! New random ids, and the time of day.

use std::time::{SystemTime, UNIX_EPOCH};

use wire::{CallId, Id36, Millis, SessionId, TurnId};

pub fn session_id() -> SessionId {
    Id36::from_entropy(&entropy())
}

pub fn turn_id() -> TurnId {
    Id36::from_entropy(&entropy())
}

/// Names something inside of a session, such as a question to the user.
pub fn call_id() -> CallId {
    turn_id()
}

pub fn now() -> Millis {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Millis(i64::try_from(since_epoch.as_millis()).unwrap_or(i64::MAX))
}

/// The epoch of a log. Never 0, which is what an unused slot holds, and small enough for a signed
/// integer.
pub fn epoch() -> u64 {
    // Without a random source the clock still tells two lives of a log apart.
    let drawn = getrandom::u64().unwrap_or_else(|_| {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        now.map_or(1, |since| u64::try_from(since.as_micros()).unwrap_or(1))
    });
    (drawn >> 1).max(1)
}

fn entropy() -> [u8; 64] {
    let mut bytes = [0; 64];
    // Linux has had an unfailing source since 3.17; a process that cannot get randomness
    // must not hand out ids that can be guessed.
    if getrandom::fill(&mut bytes).is_err() {
        std::process::abort();
    }
    bytes
}
