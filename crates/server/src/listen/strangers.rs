//! Who came in and has not shown who it is, the oldest first.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio_util::sync::CancellationToken;

use crate::guard::Activity;

#[derive(Debug)]
pub(super) struct Strangers {
    waiting: Mutex<VecDeque<Stranger>>,
    /// More can be remembered, but not be there.
    max: usize,
}

#[derive(Debug)]
struct Stranger {
    cut: CancellationToken,
    activity: Weak<Activity>,
}

impl Stranger {
    /// Still there, and still nobody.
    fn is_one(&self) -> bool {
        let is_known = |activity: Arc<Activity>| activity.is_known();
        !self.cut.is_cancelled() && !self.activity.upgrade().is_none_or(is_known)
    }
}

impl Strangers {
    pub(super) fn new(max: usize) -> Self {
        Self { waiting: Mutex::default(), max }
    }

    /// `cut` ends the connection and is cancelled when it has ended.
    pub(super) fn add(&self, cut: CancellationToken, activity: &Arc<Activity>) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if waiting.len() > self.max.saturating_mul(2) {
            waiting.retain(Stranger::is_one);
        }
        waiting.push_back(Stranger { cut, activity: Arc::downgrade(activity) });
    }

    /// What cuts the one that has been nobody for the longest.
    pub(super) fn oldest(&self) -> Option<CancellationToken> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some(stranger) = waiting.pop_front() {
            if stranger.is_one() {
                return Some(stranger.cut);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests;
