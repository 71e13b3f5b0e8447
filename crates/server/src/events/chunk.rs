//! Bytes that are on their way, and how to know when they have left.
//!
//! A connection drops a chunk when it has written the last byte of it to the socket. The
//! gate lets one chunk out at a time, so what a reader that takes nothing costs is one
//! chunk, and when a chunk left is when the reader last took one.

use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The largest chunk. Together with a response's head it stays below what the HTTP
/// connection takes before it stops asking for more: only while it asks can a reader be
/// watched.
pub(super) const CHUNK_BYTES: usize = 48 << 10;

/// Lets one chunk out at a time.
#[derive(Debug, Clone)]
pub(super) struct Gate(Arc<Semaphore>);

/// The right to send a chunk.
#[derive(Debug)]
pub(super) struct Pass(OwnedSemaphorePermit);

struct Chunk {
    bytes: Bytes,
    _pass: OwnedSemaphorePermit,
}

impl AsRef<[u8]> for Chunk {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Gate {
    pub(super) fn new() -> Self {
        Self(Arc::new(Semaphore::new(1)))
    }

    /// Waits until the chunk before has left.
    pub(super) async fn pass(&self) -> Pass {
        loop {
            // The gate is never closed.
            if let Ok(permit) = self.0.clone().acquire_owned().await {
                return Pass(permit);
            }
        }
    }
}

impl Pass {
    /// `bytes`, with the pass inside: it comes back when they are dropped.
    pub(super) fn stamp(self, bytes: Bytes) -> Bytes {
        Bytes::from_owner(Chunk { bytes, _pass: self.0 })
    }
}

#[cfg(test)]
mod tests;
