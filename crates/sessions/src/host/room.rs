//! Room for what sessions keep of their agent's words.
//!
//! One process serves many sessions, and chooses how much it says in each of them. What is kept is
//! bounded for the process, so that many sessions hold no more of it than a few.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A hundred sessions with long lists of models have less to keep.
const MAX_BYTES: usize = 32 << 20;

/// What all sessions of one process may keep together.
#[derive(Debug, Clone, Default)]
pub(crate) struct Room {
    n_taken: Arc<AtomicUsize>,
}

impl Room {
    /// A part of it, with nothing in it yet.
    pub(crate) fn share(&self) -> Share {
        Share { of: self.clone(), n_bytes: 0 }
    }
}

/// What one of them keeps. Given back when it is dropped.
#[derive(Debug, Default)]
pub(crate) struct Share {
    of: Room,
    n_bytes: usize,
}

impl Share {
    /// Makes it as large as that; whether there was room for more, where more is wanted.
    pub(crate) fn resize(&mut self, n_bytes: usize) -> bool {
        let with = |taken: usize| taken.checked_sub(self.n_bytes)?.checked_add(n_bytes);
        let is_smaller = n_bytes <= self.n_bytes;
        let fits = |taken: usize| with(taken).filter(|taken| is_smaller || *taken <= MAX_BYTES);
        let is_done =
            self.of.n_taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits).is_ok();
        if is_done {
            self.n_bytes = n_bytes;
        }
        is_done
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.resize(0);
    }
}

#[cfg(test)]
mod tests {
    //! All shares together have no more room than there is.

    use super::*;

    #[test]
    fn many_shares_take_no_more_than_there_is() {
        let room = Room::default();
        let (mut one, mut other) = (room.share(), room.share());
        assert!(one.resize(MAX_BYTES - 10) && other.resize(10));
        assert!(!other.resize(11) && !other.resize(usize::MAX));
        assert!(other.resize(9) && one.resize(MAX_BYTES - 9));
        drop(one);
        assert!(other.resize(MAX_BYTES));
        assert!(!room.share().resize(1));
        assert!(other.resize(0) && room.share().resize(MAX_BYTES));
        // Each process has its own.
        assert!(other.resize(MAX_BYTES) && Room::default().share().resize(MAX_BYTES));
    }
}
