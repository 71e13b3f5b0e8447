//! The open connections, the oldest first, and which of them is evicted when the limit is reached.
//!
//! Unauthenticated connections go first, so that they keep nobody out; then those of readers that
//! stand still and have been given up. Then a client that has more than its share of the limit, so
//! that one alone does not either.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, Weak};

use tokio_util::sync::CancellationToken;

use crate::guard::ConnectionActivity;
use crate::limits::CLIENT_SHARE_DIVISOR;
use crate::locking::Locking as _;

#[derive(Debug)]
pub(super) struct OpenConnections {
    open: Mutex<VecDeque<OpenConnection>>,
    /// The listener's limit; the list can be longer, as ended connections stay in it for a while.
    max: usize,
}

#[derive(Debug)]
struct OpenConnection {
    cut: CancellationToken,
    activity: Weak<ConnectionActivity>,
}

impl OpenConnection {
    /// None once it has ended.
    fn activity(&self) -> Option<Arc<ConnectionActivity>> {
        self.activity.upgrade().filter(|_| !self.cut.is_cancelled())
    }
}

impl OpenConnections {
    pub(super) fn new(max: usize) -> Self {
        Self { open: Mutex::default(), max }
    }

    /// `cut` ends the connection and is cancelled when it has ended.
    pub(super) fn add(&self, cut: CancellationToken, activity: &Arc<ConnectionActivity>) {
        let mut open = self.open.locked();
        if open.len() > self.max.saturating_mul(2) {
            open.retain(|connection| connection.activity().is_some());
        }
        open.push_back(OpenConnection { cut, activity: Arc::downgrade(activity) });
    }

    /// The token that cuts the connection to be evicted, if one can be.
    pub(super) fn to_evict(&self) -> Option<CancellationToken> {
        let mut open = self.open.locked();
        open.retain(|connection| connection.activity().is_some());
        let is_stranger = |activity: &ConnectionActivity| activity.client().is_none();
        let is_given_up = |activity: &ConnectionActivity| activity.last_words.within().is_some();
        let largest = self.largest_client(&open);
        let is_surplus = |activity: &ConnectionActivity| {
            !activity.is_busy()
                && activity.client().is_some_and(|name| Some(name) == largest.as_deref())
        };
        let find = |is_it: &dyn Fn(&ConnectionActivity) -> bool| {
            open.iter().position(|connection| connection.activity().is_some_and(|one| is_it(&one)))
        };
        let place =
            find(&is_stranger).or_else(|| find(&is_given_up)).or_else(|| find(&is_surplus))?;
        open.remove(place).map(|connection| connection.cut)
    }

    /// The client that has the most connections, if they are more than its share.
    fn largest_client(&self, open: &VecDeque<OpenConnection>) -> Option<String> {
        let mut counts: HashMap<String, usize> = HashMap::new();
        for activity in open.iter().filter_map(OpenConnection::activity) {
            if let Some(name) = activity.client() {
                *counts.entry(name.to_owned()).or_default() += 1;
            }
        }
        let most = counts.into_iter().max_by_key(|(_, count)| *count)?;
        (most.1 > self.max / CLIENT_SHARE_DIVISOR).then_some(most.0)
    }
}

#[cfg(test)]
mod tests;
