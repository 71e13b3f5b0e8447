//! A memory budget for the messages that sessions keep of their agent's process.
//!
//! One process serves many sessions, and chooses how much it says in each of them. The budget is
//! that of the process, so that many sessions hold no more than a few.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The budget of a process: a hundred sessions with long lists of models keep less.
const MAX_BYTES: usize = 32 << 20;

/// The budget that all sessions of one process have together.
#[derive(Debug, Clone, Default)]
pub(crate) struct MemoryBudget {
    n_taken: Arc<AtomicUsize>,
}

impl MemoryBudget {
    /// An empty share of it.
    pub(crate) fn share(&self) -> MemoryShare {
        MemoryShare { of: self.clone(), n_bytes: 0 }
    }
}

/// The bytes that one session keeps. Given back when it is dropped.
#[derive(Debug, Default)]
pub(crate) struct MemoryShare {
    of: MemoryBudget,
    n_bytes: usize,
}

impl MemoryShare {
    /// Sets the size of the share; false if it would have to grow beyond the budget.
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

impl Drop for MemoryShare {
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
        let room = MemoryBudget::default();
        let (mut one, mut other) = (room.share(), room.share());
        assert!(one.resize(MAX_BYTES - 10) && other.resize(10));
        assert!(!other.resize(11) && !other.resize(usize::MAX));
        assert!(other.resize(9) && one.resize(MAX_BYTES - 9));
        drop(one);
        assert!(other.resize(MAX_BYTES));
        assert!(!room.share().resize(1));
        assert!(other.resize(0) && room.share().resize(MAX_BYTES));
        // Each process has its own.
        assert!(other.resize(MAX_BYTES) && MemoryBudget::default().share().resize(MAX_BYTES));
    }
}
