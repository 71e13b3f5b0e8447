//! A count of a burst's chunks: delivered, missing, doubled, out of order.

use std::time::{Duration, Instant};

#[derive(Debug)]
pub(super) struct ChunkTally {
    has_come: Vec<bool>,
    last: u64,
    n_delivered: usize,
    n_doubled: usize,
    n_disordered: usize,
    started: Instant,
    /// When the clock was last looked at, and how many had come by then.
    took: Duration,
    n_timed: usize,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Burst {
    pub(super) per_second: f64,
    /// From 0 to 1.
    pub(super) share_delivered: f64,
    pub(super) n_doubled: usize,
    pub(super) n_disordered: usize,
}

impl ChunkTally {
    /// Starts the clock.
    pub(super) fn new(n_chunks: u64) -> Self {
        Self {
            has_come: vec![false; usize::try_from(n_chunks).unwrap_or_default()],
            last: 0,
            n_delivered: 0,
            n_doubled: 0,
            n_disordered: 0,
            started: Instant::now(),
            took: Duration::ZERO,
            n_timed: 0,
        }
    }

    /// Chunks are numbered from one; others than were asked for are not counted.
    pub(super) fn add(&mut self, number: u64) {
        let place = usize::try_from(number).ok().and_then(|number| number.checked_sub(1));
        let Some(has_come) = place.and_then(|place| self.has_come.get_mut(place)) else { return };
        if std::mem::replace(has_come, true) {
            self.n_doubled += 1;
            return;
        }
        self.n_delivered += 1;
        if number < self.last {
            self.n_disordered += 1;
        }
        self.last = number;
        // The end of a turn may have to be waited for; that is not the events' time. Asking
        // the clock for every event would be.
        if self.n_delivered.is_multiple_of(256) || self.n_delivered == self.has_come.len() {
            self.took = self.started.elapsed();
            self.n_timed = self.n_delivered;
        }
    }

    #[allow(clippy::cast_precision_loss, reason = "far below 2^52")]
    pub(super) fn burst(&self) -> Burst {
        let n_delivered = self.n_delivered as f64;
        Burst {
            per_second: self.n_timed as f64 / self.took.as_secs_f64().max(f64::MIN_POSITIVE),
            share_delivered: n_delivered / (self.has_come.len() as f64).max(1.0),
            n_doubled: self.n_doubled,
            n_disordered: self.n_disordered,
        }
    }
}

#[cfg(test)]
mod tests;
