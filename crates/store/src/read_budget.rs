//! A limit on how much of logs one client's readers may have in memory at a time.
//!
//! A read has up to a MiB, or one event that can be much larger, and whoever sends it on to
//! somebody slow has it for long. All that is read for one client takes from one budget: what has
//! no room waits for its turn, and has nothing in memory meanwhile.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use wire::{Event, Seq, SessionId};

use crate::{EventLog, StoreError};

/// Reads up to this size are not counted.
const SMALL_BYTES: usize = 64 << 10;
const MAX_BYTES: usize = 48 << 20;
/// Copies of each read that are in memory at once: as it was read, as it is encoded, as it is sent.
const COPIES: usize = 3;
/// The unit of the budget.
const KIB: usize = 1 << 10;

/// The budget of one client; a clone is the same budget.
#[derive(Debug, Clone)]
pub struct ReadBudget(Arc<BudgetState>);

#[derive(Debug)]
struct BudgetState {
    /// The free part, in KiB.
    free: Arc<Semaphore>,
    n_waiting: AtomicUsize,
}

/// A reader's share of the budget; given back when it is dropped.
#[derive(Debug)]
pub struct ReadPermit(OwnedSemaphorePermit);

/// Events, and their share of the budget while they are in memory: `None` if they are small.
#[derive(Debug)]
pub struct BudgetedRead {
    pub events: Vec<Event>,
    pub taken: Option<ReadPermit>,
}

impl Default for ReadBudget {
    fn default() -> Self {
        let free = Arc::new(Semaphore::new(MAX_BYTES / KIB));
        Self(Arc::new(BudgetState { free, n_waiting: AtomicUsize::new(0) }))
    }
}

impl ReadBudget {
    /// As [`EventLog::read`]. Dropping the future loses nothing.
    pub async fn read(
        &self,
        log: &dyn EventLog,
        session: SessionId,
        after: Seq,
        limit: usize,
    ) -> Result<BudgetedRead, StoreError> {
        let events = log.read(session, after, limit).await?;
        let n_bytes = Self::weight(&events);
        if !Self::is_large(n_bytes) {
            return Ok(BudgetedRead { events, taken: None });
        }
        if let Ok(permit) = self.0.free.clone().try_acquire_many_owned(cost(n_bytes)) {
            return Ok(BudgetedRead { events, taken: Some(ReadPermit(permit)) });
        }
        drop(events);
        let taken = Some(self.take(n_bytes).await);
        let mut events = log.read(session, after, limit).await?;
        // More may have been appended than the permit covers.
        while events.len() > 1 && Self::weight(&events) > n_bytes {
            events.pop();
        }
        Ok(BudgetedRead { events, taken })
    }

    /// Waits for its turn to have so many bytes in memory; more than the whole budget counts as all
    /// of it.
    pub async fn take(&self, n_bytes: usize) -> ReadPermit {
        self.0.n_waiting.fetch_add(1, Ordering::Relaxed);
        let _waiting = WaitingReader(&self.0.n_waiting);
        loop {
            // It is never closed.
            if let Ok(permit) = self.0.free.clone().acquire_many_owned(cost(n_bytes)).await {
                return ReadPermit(permit);
            }
        }
    }

    /// Whether it has other owners.
    pub fn is_shared(&self) -> bool {
        Arc::strong_count(&self.0) > 1
    }

    /// The size of events, as it is counted here.
    pub fn weight(events: &[Event]) -> usize {
        events.iter().map(|event| event.payload.as_str().len()).sum()
    }

    /// Whether so many bytes are counted at all.
    pub fn is_large(n_bytes: usize) -> bool {
        n_bytes > SMALL_BYTES
    }

    /// Whether a reader waits for what others have.
    pub fn has_waiting_readers(&self) -> bool {
        self.0.n_waiting.load(Ordering::Relaxed) > 0
    }
}

impl ReadPermit {
    /// Gives back all but the share for `n_bytes`.
    pub fn shrink_to(&mut self, n_bytes: usize) {
        let needed = usize::try_from(cost(n_bytes)).unwrap_or(usize::MAX);
        let surplus = self.0.num_permits().saturating_sub(needed);
        drop(self.0.split(surplus));
    }
}

/// A reader that is counted as waiting, until this is dropped.
struct WaitingReader<'a>(&'a AtomicUsize);

impl Drop for WaitingReader<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The share of the budget for so many bytes, in KiB.
fn cost(n_bytes: usize) -> u32 {
    let n_bytes = n_bytes.saturating_mul(COPIES).min(MAX_BYTES);
    u32::try_from(n_bytes.div_ceil(KIB)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;
