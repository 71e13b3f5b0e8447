//! Limits of the connections of a listener that streams may take.
//!
//! A stream keeps its connection for as long as its reader likes, so whoever may open some
//! could open them all and keep everybody out. Always true: the streams of one token take no
//! more connections than its share, and those of all together leave some for plain requests.
//! Streams that share a connection, as HTTP/2 lets them, take one place together.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};

use crate::limits::{CLIENT_SHARE_DIVISOR, RETRY_AFTER_SECONDS};
use crate::locking::Locking as _;
use crate::principal::Principal;
use crate::problem::{Problem, kinds};

/// The least share, also on a small listener: what a person's windows need.
const LEAST_SHARE: usize = 16;

#[derive(Debug)]
pub(super) struct StreamShares {
    max_each: usize,
    max_all: usize,
    taken: Mutex<ShareCounts>,
}

#[derive(Debug, Default)]
struct ShareCounts {
    n_all: usize,
    by_name: HashMap<String, usize>,
}

/// A connection that has streams; given back when the last of them drops it.
#[derive(Debug)]
pub(crate) struct StreamShare {
    shares: Arc<StreamShares>,
    name: String,
    is_given_back: AtomicBool,
}

impl StreamShare {
    /// Gives back what the last stream of a connection has, before that ends.
    pub(crate) fn give_back_last(connection: &ConnectionShare) {
        let known = connection.locked();
        // Its streams, and this.
        if let Some(share) = known.upgrade().filter(|share| Arc::strong_count(share) <= 2) {
            share.give_back();
        }
    }

    fn give_back(&self) {
        if self.is_given_back.swap(true, Ordering::Relaxed) {
            return;
        }
        let mut taken = self.shares.taken.locked();
        taken.n_all = taken.n_all.saturating_sub(1);
        let n_left = taken.by_name.get(&self.name).map_or(0, |n| n.saturating_sub(1));
        match n_left {
            0 => taken.by_name.remove(&self.name),
            n => taken.by_name.insert(self.name.clone(), n),
        };
    }
}

/// The share of a connection, while it has streams.
pub(crate) type ConnectionShare = Mutex<Weak<StreamShare>>;

impl StreamShares {
    pub(super) fn new(max_connections: usize) -> Self {
        Self {
            max_each: (max_connections / CLIENT_SHARE_DIVISOR).max(LEAST_SHARE),
            max_all: max_connections - max_connections / 8,
            taken: Mutex::default(),
        }
    }

    /// A share for one more stream. A stream that `is_begun` cannot be refused any more.
    pub(super) fn take(
        self: &Arc<Self>,
        connection: &ConnectionShare,
        principal: Option<&Principal>,
        is_begun: bool,
    ) -> Result<Arc<StreamShare>, Problem> {
        let mut known = connection.locked();
        let is_taken = |share: &Arc<StreamShare>| !share.is_given_back.load(Ordering::Relaxed);
        if let Some(share) = known.upgrade().filter(is_taken) {
            return Ok(share);
        }
        let name = principal.map(|one| one.name.clone()).unwrap_or_default();
        let mut taken = self.taken.locked();
        let n_own = taken.by_name.get(&name).copied().unwrap_or(0);
        // The daemon's own user comes by a socket of its own, and shares it with nobody.
        let has_share = principal.is_none_or(|one| !one.is_local);
        if !is_begun && has_share && n_own >= self.max_each {
            return Err(too_many("the streams of one token", self.max_each));
        }
        if !is_begun && taken.n_all >= self.max_all {
            return Err(too_many("all streams", self.max_all));
        }
        taken.n_all += 1;
        taken.by_name.insert(name.clone(), n_own + 1);
        drop(taken);
        let is_given_back = AtomicBool::new(false);
        let share = Arc::new(StreamShare { shares: self.clone(), name, is_given_back });
        *known = Arc::downgrade(&share);
        Ok(share)
    }
}

impl Drop for StreamShare {
    fn drop(&mut self) {
        self.give_back();
    }
}

fn too_many(whose: &str, n_connections: usize) -> Problem {
    Problem::of(kinds::TOO_MANY_STREAMS)
        .detail(format!("{whose} may take {n_connections} connections"))
        .remedy("close some, or read them over one connection of HTTP/2")
        .retry_after(RETRY_AFTER_SECONDS)
}

#[cfg(test)]
mod tests;
