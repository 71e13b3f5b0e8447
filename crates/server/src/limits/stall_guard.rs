//! A connection's byte stream, cut when its peer stalls or when the connection's token is
//! cancelled.
//!
//! It lies below TLS and HTTP, and stays below a WebSocket, so nothing that is spoken above
//! can keep a connection from ending. A peer stalls when it takes not one byte for too long
//! while bytes wait for it; a quiet connection with nothing to send does not stall.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Sleep;
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

#[derive(Debug)]
pub struct StallGuard<S> {
    inner: S,
    stall_timeout: Duration,
    /// Runs while the peer takes nothing.
    alarm: Option<Pin<Box<Sleep>>>,
    cut: CancellationToken,
    // Two, because a reader and a writer in different tasks must both wake up.
    cut_reading: Pin<Box<WaitForCancellationFutureOwned>>,
    cut_writing: Pin<Box<WaitForCancellationFutureOwned>>,
    /// The connection's permit out of the listener's limit.
    _place: Option<OwnedSemaphorePermit>,
}

impl<S> StallGuard<S> {
    pub fn new(
        inner: S,
        stall_timeout: Duration,
        cut: CancellationToken,
        place: Option<OwnedSemaphorePermit>,
    ) -> Self {
        Self {
            inner,
            stall_timeout,
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
        let timeout = self.stall_timeout;
        let alarm = self.alarm.get_or_insert_with(|| Box::pin(tokio::time::sleep(timeout)));
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

impl<S: AsyncWrite + Unpin> AsyncWrite for StallGuard<S> {
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
