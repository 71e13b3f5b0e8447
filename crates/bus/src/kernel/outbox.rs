//! The lines that wait to be written to one client or worker.
//!
//! In: lines. Out: as few writes as possible. Small lines are gathered into one piece, large
//! ones are kept as they are, and all pieces go out with one system call per wake-up.

use std::collections::VecDeque;
use std::io::IoSlice;
use std::os::fd::AsFd;

use bytes::{Buf as _, Bytes};
use rustix::io::Errno;
use rustix::net::SendFlags;

use crate::switch::{QueueLevel, QueueMarks};

/// Lines of this size or more are queued as they are: cheaper than copying them.
const LARGE_LINE_BYTES: usize = 8 << 10;
/// The capacity for small lines that an emptied outbox keeps.
const KEPT_BYTES: usize = 32 << 10;
/// Pieces per system call.
const MAX_PIECES: usize = 64;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FlushOutcome {
    All,
    /// The rest must wait until the party can be written to.
    Blocked,
    /// The party does not read any more.
    Broken,
}

#[derive(Debug, Default)]
pub(super) struct Outbox {
    pieces: VecDeque<Bytes>,
    /// Small lines, after all pieces.
    tail: Vec<u8>,
    n_bytes: usize,
    /// Lines since it was last empty.
    n_lines: usize,
    /// The fill level that was last reported to the switch.
    level: QueueLevel,
}

impl Outbox {
    pub(super) fn n_bytes(&self) -> usize {
        self.n_bytes
    }

    pub(super) fn push(&mut self, line: Bytes) {
        self.n_bytes += line.len();
        self.n_lines += 1;
        if line.len() < LARGE_LINE_BYTES {
            self.tail.extend_from_slice(&line);
        } else {
            self.seal();
            self.pieces.push_back(line);
        }
    }

    pub(super) fn clear(&mut self) {
        *self = Self { level: self.level, ..Self::default() };
    }

    /// Writes what can be written to a pipe now.
    pub(super) fn flush(&mut self, pipe: impl AsFd) -> FlushOutcome {
        self.flush_by(&pipe, |pipe, bytes| rustix::io::write(pipe, bytes))
    }

    /// Writes what can be written to a socket now, for which the system has a faster call.
    pub(super) fn send(&mut self, socket: impl AsFd) -> FlushOutcome {
        const FLAGS: SendFlags = SendFlags::DONTWAIT.union(SendFlags::NOSIGNAL);
        self.flush_by(&socket, |socket, bytes| rustix::net::send(socket, bytes, FLAGS))
    }

    /// A short write means that the party is full: asking once more would only cost a system
    /// call.
    fn flush_by<F: AsFd>(
        &mut self,
        fd: &F,
        write: impl Fn(&F, &[u8]) -> Result<usize, Errno>,
    ) -> FlushOutcome {
        while self.n_bytes > 0 {
            let written = match self.pieces.is_empty() {
                true => write(fd, &self.tail),
                false => {
                    self.seal();
                    let mut slices = [IoSlice::new(&[]); MAX_PIECES];
                    for (slice, piece) in slices.iter_mut().zip(&self.pieces) {
                        *slice = IoSlice::new(piece);
                    }
                    let n_slices = self.pieces.len().min(MAX_PIECES);
                    rustix::io::writev(fd, slices.get(..n_slices).unwrap_or_default())
                }
            };
            let n_tried = match self.pieces.is_empty() {
                true => self.tail.len(),
                false => self.pieces.iter().take(MAX_PIECES).map(Bytes::len).sum(),
            };
            match written {
                Ok(n) => {
                    self.written(n);
                    if n < n_tried {
                        return FlushOutcome::Blocked;
                    }
                }
                Err(Errno::AGAIN) => return FlushOutcome::Blocked,
                Err(Errno::INTR) => {}
                Err(_) => return FlushOutcome::Broken,
            }
        }
        FlushOutcome::All
    }

    /// The new fill level, if a mark was crossed since the last call.
    pub(super) fn crossing(&mut self, marks: QueueMarks) -> Option<QueueLevel> {
        // A line that is larger than a mark and waits alone must be able to pass.
        let n_waiting = if self.n_lines <= 1 { 0 } else { self.n_bytes };
        let level = match () {
            () if n_waiting > marks.full => QueueLevel::Full,
            () if n_waiting > marks.high => QueueLevel::High,
            () if n_waiting <= marks.low => QueueLevel::Low,
            () => self.level.min(QueueLevel::High),
        };
        (std::mem::replace(&mut self.level, level) != level).then_some(level)
    }

    fn written(&mut self, mut n: usize) {
        self.n_bytes -= n;
        if self.pieces.is_empty() && n < self.tail.len() {
            self.seal();
        }
        while let Some(piece) = self.pieces.front_mut().filter(|_| n > 0) {
            let n_of_piece = piece.len().min(n);
            piece.advance(n_of_piece);
            n -= n_of_piece;
            if piece.is_empty() {
                self.pieces.pop_front();
            }
        }
        if self.n_bytes == 0 {
            self.n_lines = 0;
            self.tail.clear();
            self.tail.shrink_to(KEPT_BYTES);
            self.pieces.shrink_to(MAX_PIECES);
        }
    }

    fn seal(&mut self) {
        if !self.tail.is_empty() {
            self.pieces.push_back(Bytes::from(std::mem::take(&mut self.tail)));
        }
    }
}

#[cfg(test)]
mod tests;
