//! What all who read take of the daemon's memory together.
//!
//! A reader that takes nothing costs one chunk, but a single event can be as large as an
//! agent's longest line. Such pages are counted; when they are too much, those lose their
//! connection at once whose readers keep them waiting, and not after the usual patience.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::http::StatusCode;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::problem::Problem;

/// Streams of events at a time. HTTP/2 has many on one connection, so the connections' limit
/// does not bound them.
const MAX_STREAMS: usize = 4096;
/// Logs that are written out as files at a time; each holds a page of its log.
const MAX_EXPORTS: usize = 8;
/// Smaller pages are bounded by the number of streams.
const LARGE_PAGE: usize = 1 << 20;
/// Of large pages, over all streams.
const MAX_HELD: usize = 256 << 20;

#[derive(Debug)]
pub(crate) struct Load {
    n_held: Arc<AtomicUsize>,
    streams: Arc<Semaphore>,
    exports: Arc<Semaphore>,
}

impl Default for Load {
    fn default() -> Self {
        Self {
            n_held: Arc::default(),
            streams: Arc::new(Semaphore::new(MAX_STREAMS)),
            exports: Arc::new(Semaphore::new(MAX_EXPORTS)),
        }
    }
}

impl Load {
    /// A place for a stream of events.
    pub(super) fn stream(&self) -> Result<Held, Problem> {
        let place = self.streams.clone().try_acquire_owned();
        let place = place.map_err(|_| full("too-many-streams", "too many streams are open"))?;
        Ok(Held { n_all: self.n_held.clone(), n_bytes: 0, _place: place })
    }

    /// A place for a log that is written out.
    pub(crate) fn export(&self) -> Result<OwnedSemaphorePermit, Problem> {
        let place = self.exports.clone().try_acquire_owned();
        place.map_err(|_| full("too-many-exports", "too many logs are being exported"))
    }
}

fn full(slug: &str, title: &str) -> Problem {
    Problem::new(StatusCode::SERVICE_UNAVAILABLE, slug, title)
        .retry_after(crate::limits::COME_BACK_SECONDS)
}

/// One stream's place, and what is held for its reader.
#[derive(Debug)]
pub(super) struct Held {
    n_all: Arc<AtomicUsize>,
    n_bytes: usize,
    _place: OwnedSemaphorePermit,
}

impl Held {
    /// The page that waits has `n_bytes`; none does with 0.
    pub(super) fn set(&mut self, n_bytes: usize) {
        let n_bytes = if n_bytes < LARGE_PAGE { 0 } else { n_bytes };
        self.n_all.fetch_add(n_bytes, Ordering::Relaxed);
        self.n_all.fetch_sub(std::mem::replace(&mut self.n_bytes, n_bytes), Ordering::Relaxed);
    }

    /// Whether this reader should not be waited for.
    pub(super) fn is_too_much(&self) -> bool {
        self.n_bytes > 0 && self.n_all.load(Ordering::Relaxed) > MAX_HELD
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.set(0);
    }
}

#[cfg(test)]
mod tests;
