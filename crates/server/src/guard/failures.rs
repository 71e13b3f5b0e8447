//! The rate limit of wrong tokens, by address.
//!
//! Ten a minute are answered as wrong; the rest are told to come back later. Guessing 256
//! random bits is hopeless at any speed; what this keeps out is the noise.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use super::connection_info::{Peer, PeerKey};

use crate::locking::Locking as _;

const MAX_FAILURES: u32 = 10;
const WINDOW: Duration = Duration::from_secs(60);
/// Addresses remembered at a time; further ones share one count.
const MAX_PEERS: usize = 4096;

#[derive(Debug, Default)]
pub(super) struct Failures {
    known: Mutex<FailureCounts>,
}

#[derive(Debug, Default)]
struct FailureCounts {
    peers: HashMap<PeerKey, FailureCount>,
    others: Option<FailureCount>,
}

#[derive(Debug, Clone, Copy)]
struct FailureCount {
    since: Instant,
    n: u32,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum FailureVerdict {
    Counted,
    Limited { retry_after: u32, is_first: bool },
}

impl Failures {
    pub(super) fn note(&self, peer: &Peer, now: Instant) -> FailureVerdict {
        let mut known = self.known.locked();
        let key = peer.key();
        if known.peers.len() >= MAX_PEERS && !known.peers.contains_key(&key) {
            known.peers.retain(|_, count| !count.is_over(now));
        }
        let is_full = known.peers.len() >= MAX_PEERS && !known.peers.contains_key(&key);
        let fresh = FailureCount { since: now, n: 0 };
        let count = if is_full {
            known.others.get_or_insert(fresh)
        } else {
            known.peers.entry(key).or_insert(fresh)
        };
        count.note(now)
    }
}

impl FailureCount {
    fn is_over(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.since) >= WINDOW
    }

    fn note(&mut self, now: Instant) -> FailureVerdict {
        if self.is_over(now) {
            *self = Self { since: now, n: 0 };
        }
        self.n = self.n.saturating_add(1);
        if self.n <= MAX_FAILURES {
            return FailureVerdict::Counted;
        }
        let left = WINDOW.saturating_sub(now.saturating_duration_since(self.since));
        FailureVerdict::Limited {
            retry_after: u32::try_from(left.as_secs()).unwrap_or(u32::MAX).max(1),
            is_first: self.n == MAX_FAILURES + 1,
        }
    }
}

#[cfg(test)]
mod tests;
