//! Detection of slow readers, and the steps that are taken against them.
//!
//! A connection drops a chunk when it has written the last byte of it to the socket. The gate lets
//! one chunk out at a time, so what a reader that takes nothing costs is one chunk, and when a
//! chunk left is when the reader last took one. The longer it takes none, the more is done.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::{Instant, sleep_until};

use crate::daemon::StreamPace;

/// Before this, what was read ahead is kept: reading it again would cost more than the memory.
const SHORT_WAIT: Duration = Duration::from_millis(100);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SlowReaderStep {
    /// What was read ahead for the reader is dropped.
    Rest,
    /// The reader will be warned.
    Warn,
    /// The reader loses its connection.
    Evict,
}

/// Says when each step against a slow reader is due, counted from its creation.
#[derive(Debug)]
pub(super) struct SlowReaderTimer {
    pace: StreamPace,
    since: Instant,
    next: SlowReaderStep,
}

impl SlowReaderTimer {
    pub(super) fn new(pace: StreamPace) -> Self {
        Self { pace, since: Instant::now(), next: SlowReaderStep::Rest }
    }

    /// Waits until the next step is due. Dropping the future skips none.
    pub(super) async fn next(&mut self) -> SlowReaderStep {
        let (after, then) = match self.next {
            SlowReaderStep::Rest => (SHORT_WAIT.min(self.pace.warn_after), SlowReaderStep::Warn),
            SlowReaderStep::Warn => (self.pace.warn_after, SlowReaderStep::Evict),
            SlowReaderStep::Evict => (self.pace.evict_after, SlowReaderStep::Evict),
        };
        sleep_until(self.since + after).await;
        std::mem::replace(&mut self.next, then)
    }
}

/// The largest chunk. Together with a response's head it stays below what the HTTP
/// connection takes before it stops asking for more: only while it asks can a reader be
/// watched.
pub(super) const CHUNK_BYTES: usize = 48 << 10;

/// Lets one chunk out at a time: each holds the lock until its last byte is dropped.
pub(super) type ChunkGate = Arc<Mutex<()>>;

#[cfg(test)]
mod tests;
