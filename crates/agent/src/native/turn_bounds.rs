//! What bounds a turn and everything that works for it.
//!
//! In: the turn's cancellation and its limit of requests. Out: to the turn itself and to its
//! sub-agents, whether they may go on. There is one for each turn, and who works for it has a copy:
//! however many sub-agents a model starts, all of them together ask it no more often than one turn
//! may.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use tokio_util::sync::CancellationToken;

#[derive(Debug, Clone)]
pub(super) struct TurnBounds {
    pub(super) cancel: CancellationToken,
    requests_left: Arc<AtomicU32>,
}

impl TurnBounds {
    pub(super) fn new(cancel: CancellationToken, max_requests: u32) -> Self {
        Self { cancel, requests_left: Arc::new(AtomicU32::new(max_requests)) }
    }

    /// Takes one of the requests that are left, if there is one.
    pub(super) fn take_request(&self) -> bool {
        let one_less = |left: u32| left.checked_sub(1);
        self.requests_left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less).is_ok()
    }
}
