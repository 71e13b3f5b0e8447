//! A pipe that remembers the lines that pass.
//!
//! In: a reader or writer. Out: the same bytes, and each whole line to the memory.
//! This sees what the SDK does not show: lines that it drops, and the bytes as they were.

use super::record::ClientRecord;
use crate::transcript::Direction;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

pub(super) struct Recorder<T> {
    pipe: T,
    direction: Direction,
    memory: Arc<ClientRecord>,
    unfinished: Vec<u8>,
}

impl<T> Recorder<T> {
    pub(super) fn new(pipe: T, direction: Direction, memory: Arc<ClientRecord>) -> Self {
        Self { pipe, direction, memory, unfinished: Vec::new() }
    }

    fn hear(&mut self, bytes: &[u8]) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.unfinished.extend_from_slice(piece);
            if self.unfinished.ends_with(b"\n") {
                self.unfinished.pop();
                let line = String::from_utf8_lossy(&self.unfinished).into_owned();
                self.memory.keep_line(self.direction, line);
                self.unfinished.clear();
            }
        }
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for Recorder<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let n_before = buf.filled().len();
        ready!(Pin::new(&mut self.pipe).poll_read(cx, buf))?;
        self.hear(&buf.filled()[n_before..]);
        Poll::Ready(Ok(()))
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Recorder<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let n_written = ready!(Pin::new(&mut self.pipe).poll_write(cx, buf))?;
        self.hear(&buf[..n_written]);
        Poll::Ready(Ok(n_written))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.pipe).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.pipe).poll_shutdown(cx)
    }
}
