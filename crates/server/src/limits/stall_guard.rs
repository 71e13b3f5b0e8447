//! A connection's byte stream, cut when its peer stalls or when the connection's token is
//! cancelled.
//!
//! It lies below TLS and HTTP, and stays below a WebSocket, so nothing that is spoken above
//! can keep a connection from ending. A peer stalls when it takes not one byte for too long
//! while bytes wait for it; a quiet connection with nothing to send does not stall. Where what waits
//! is the last that it is told ([`LastWords`]), it has longer.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use rustix::net::sockopt;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Sleep;
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

/// How long the peer of a connection has for what it is told last, while there is something.
#[derive(Debug, Clone, Default)]
pub struct LastWords(Arc<AtomicU64>);

/// Held while a last word waits for the peer.
#[derive(Debug)]
pub struct LastWordsGuard(LastWords);

impl LastWords {
    pub fn wait(&self, within: Duration) -> LastWordsGuard {
        let millis = u64::try_from(within.as_millis()).unwrap_or(u64::MAX);
        self.0.store(millis, Ordering::Relaxed);
        LastWordsGuard(self.clone())
    }

    /// The time that the peer has, while a last word waits for it.
    pub fn within(&self) -> Option<Duration> {
        let millis = self.0.load(Ordering::Relaxed);
        (millis > 0).then(|| Duration::from_millis(millis))
    }
}

impl Drop for LastWordsGuard {
    fn drop(&mut self) {
        self.0.0.store(0, Ordering::Relaxed);
    }
}

/// A stream whose system may have a patience of its own with its peer.
pub trait Patient {
    fn set_patience(&self, _patience: Duration) {}
}

impl Patient for TcpStream {
    fn set_patience(&self, patience: Duration) {
        let millis = u32::try_from(patience.as_millis()).unwrap_or(u32::MAX);
        let _as_before = sockopt::set_tcp_user_timeout(self, millis);
    }
}

impl Patient for UnixStream {}

#[derive(Debug)]
pub struct StallGuard<S> {
    inner: S,
    stall_timeout: Duration,
    last_words: LastWords,
    /// What the peer has now, of the two.
    patience: Duration,
    /// Runs while the peer takes nothing.
    alarm: Option<Pin<Box<Sleep>>>,
    cut: CancellationToken,
    // Two, because a reader and a writer in different tasks must both wake up.
    cut_reading: Pin<Box<WaitForCancellationFutureOwned>>,
    cut_writing: Pin<Box<WaitForCancellationFutureOwned>>,
    /// The connection's permit out of the listener's limit.
    _place: Option<OwnedSemaphorePermit>,
}

impl<S: Patient> StallGuard<S> {
    pub fn new(
        inner: S,
        stall_timeout: Duration,
        last_words: LastWords,
        cut: CancellationToken,
        place: Option<OwnedSemaphorePermit>,
    ) -> Self {
        Self {
            inner,
            stall_timeout,
            last_words,
            patience: stall_timeout,
            alarm: None,
            cut_reading: Box::pin(cut.clone().cancelled_owned()),
            cut_writing: Box::pin(cut.clone().cancelled_owned()),
            cut,
            _place: place,
        }
    }

    fn moved<T>(
        &mut self,
        cx: &mut Context<'_>,
        outcome: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if outcome.is_ready() {
            self.alarm = None;
            return outcome;
        }
        let patience = self.last_words.within().unwrap_or(self.stall_timeout);
        if patience != self.patience {
            self.patience = patience;
            self.inner.set_patience(patience);
            self.alarm = None;
        }
        let alarm = self.alarm.get_or_insert_with(|| Box::pin(tokio::time::sleep(patience)));
        if alarm.as_mut().poll(cx).is_ready() {
            self.cut.cancel();
            return Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the peer stalls")));
        }
        Poll::Pending
    }
}

impl<S> Drop for StallGuard<S> {
    /// Whoever waits to cut this connection need not wait any longer.
    fn drop(&mut self) {
        self.cut.cancel();
    }
}

fn is_cut(signal: &mut Pin<Box<WaitForCancellationFutureOwned>>, cx: &mut Context<'_>) -> bool {
    signal.as_mut().poll(cx).is_ready()
}

fn cut_off<T>() -> Poll<io::Result<T>> {
    Poll::Ready(Err(io::Error::new(io::ErrorKind::ConnectionAborted, "the connection was cut")))
}

impl<S: AsyncRead + Unpin> AsyncRead for StallGuard<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if is_cut(&mut self.cut_reading, cx) {
            return cut_off();
        }
        Pin::new(&mut self.inner).poll_read(cx, buf)
    }
}

impl<S: AsyncWrite + Patient + Unpin> AsyncWrite for StallGuard<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        if is_cut(&mut self.cut_writing, cx) {
            return cut_off();
        }
        let outcome = Pin::new(&mut self.inner).poll_write(cx, buf);
        self.moved(cx, outcome)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if is_cut(&mut self.cut_writing, cx) {
            return cut_off();
        }
        let outcome = Pin::new(&mut self.inner).poll_write_vectored(cx, bufs);
        self.moved(cx, outcome)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if is_cut(&mut self.cut_writing, cx) {
            return cut_off();
        }
        // A socket's flush moves nothing, so it must not pass for progress.
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests;
