//! Reads newline-delimited messages with a limit.
//!
//! In: any byte stream. Out: one line at a time, without its line ending.
//! A line over the limit is skipped to its end and reported, so memory stays bounded and the
//! connection goes on.

use std::io;
use tokio::io::{AsyncBufRead, AsyncBufReadExt as _};

// The same limit that Switchyard sets for lines from its workers.
pub(super) const MAX_LINE_BYTES: usize = 64 * 1024 * 1024;

pub(super) enum Line {
    /// The bytes of a line are in the reader's buffer.
    Ready,
    TooLong,
    Eof,
}

pub(super) struct Lines<R> {
    input: R,
    /// The bytes of the line so far. Kept here so that a cancelled `next` loses nothing.
    buffer: Vec<u8>,
    is_skipping: bool,
    /// The line in `buffer` was handed out and makes room at the next call.
    is_done: bool,
    max_line_bytes: usize,
}

impl<R: AsyncBufRead + Unpin> Lines<R> {
    pub(super) fn new(input: R, max_line_bytes: usize) -> Self {
        Self { input, buffer: Vec::new(), is_skipping: false, is_done: false, max_line_bytes }
    }

    pub(super) fn line(&self) -> &[u8] {
        self.buffer.strip_suffix(b"\r").unwrap_or(&self.buffer)
    }

    /// Reads on to the end of a line. Safe to drop at any await.
    pub(super) async fn next(&mut self) -> io::Result<Line> {
        if std::mem::take(&mut self.is_done) {
            self.buffer.clear();
        }
        loop {
            let bytes = self.input.fill_buf().await?;
            if bytes.is_empty() {
                return Ok(self.last());
            }
            let end = bytes.iter().position(|&byte| byte == b'\n');
            let part = &bytes[..end.unwrap_or(bytes.len())];
            if self.buffer.len() + part.len() > self.max_line_bytes {
                self.is_skipping = true;
                self.buffer = Vec::new();
            }
            if !self.is_skipping {
                self.buffer.extend_from_slice(part);
            }
            let n_used = part.len() + usize::from(end.is_some());
            self.input.consume(n_used);
            if end.is_some() {
                self.is_done = true;
                let is_too_long = std::mem::take(&mut self.is_skipping);
                return Ok(if is_too_long { Line::TooLong } else { Line::Ready });
            }
        }
    }

    /// A last line without a newline still counts.
    fn last(&mut self) -> Line {
        if self.buffer.is_empty() {
            return Line::Eof;
        }
        self.is_done = true;
        Line::Ready
    }
}

#[cfg(test)]
mod tests;
