//! Bounds the memory of unfinished WebSocket messages.
//!
//! The library gathers a message until it is whole and does not say how much it has. So the
//! bytes are counted where they come in: a connection may read so much before it has become a
//! message, and all connections together may too. Before a client is authenticated, it is little.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// How much a connection may send before it is authenticated, handshake included.
const MAX_UNAUTHENTICATED_BYTES: usize = 128 << 10;
/// Headers of frames and the library's own buffer, beside the message.
const SLACK_BYTES: usize = 256 << 10;

/// The bytes of unfinished messages of all connections of a listener.
#[derive(Debug)]
pub(super) struct UnfinishedBudget {
    n_bytes: AtomicUsize,
    max_bytes: usize,
}

impl UnfinishedBudget {
    pub(super) fn new(max_bytes: usize) -> Arc<Self> {
        Arc::new(Self { n_bytes: AtomicUsize::new(0), max_bytes })
    }
}

/// The bytes that one connection has read since its last whole message.
#[derive(Debug)]
pub(super) struct UnfinishedMeter {
    n_bytes: AtomicUsize,
    max_bytes: AtomicUsize,
    budget: Arc<UnfinishedBudget>,
}

impl UnfinishedMeter {
    pub(super) fn new(budget: &Arc<UnfinishedBudget>) -> Arc<Self> {
        Arc::new(Self {
            n_bytes: AtomicUsize::new(0),
            max_bytes: AtomicUsize::new(MAX_UNAUTHENTICATED_BYTES),
            budget: Arc::clone(budget),
        })
    }

    /// Notes that the client is authenticated: from now on messages may be as long as this.
    pub(super) fn admit(&self, max_message_bytes: usize) {
        self.max_bytes.store(max_message_bytes.saturating_add(SLACK_BYTES), Ordering::Relaxed);
    }

    /// Notes that a message is whole.
    pub(super) fn reset(&self) {
        let n_bytes = self.n_bytes.swap(0, Ordering::Relaxed);
        self.budget.n_bytes.fetch_sub(n_bytes, Ordering::Relaxed);
    }

    fn add(&self, n_bytes: usize) -> io::Result<()> {
        let own = self.n_bytes.fetch_add(n_bytes, Ordering::Relaxed) + n_bytes;
        let all = self.budget.n_bytes.fetch_add(n_bytes, Ordering::Relaxed) + n_bytes;
        let why = match () {
            () if own > self.max_bytes.load(Ordering::Relaxed) => "its message is too long",
            () if all > self.budget.max_bytes => "unfinished messages hold too much",
            () => return Ok(()),
        };
        Err(io::Error::other(why))
    }
}

impl Drop for UnfinishedMeter {
    fn drop(&mut self) {
        self.reset();
    }
}

/// A connection whose bytes are counted.
#[derive(Debug)]
pub(super) struct MeteredStream {
    pub(super) stream: TcpStream,
    pub(super) meter: Arc<UnfinishedMeter>,
}

impl AsyncRead for MeteredStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let n_before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(context, buffer))?;
        Poll::Ready(self.meter.add(buffer.filled().len() - n_before))
    }
}

impl AsyncWrite for MeteredStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
