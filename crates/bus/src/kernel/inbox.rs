//! Cuts the bytes read from a client or a worker into lines.
//!
//! In: chunks of a stream, cut anywhere. Out: its lines, as slices of the chunk wherever they
//! came in one piece. Whether a line is UTF-8 is for the reader of the line to see, once.

use std::os::fd::AsFd;

use bytes::{Buf as _, Bytes, BytesMut};
use rustix::io::Errno;
use rustix::net::RecvFlags;

/// Bytes read from one party (a client or a worker) before it is the next one's turn. Sixteen
/// messages of 16 KiB, as a full pipe may hold.
const READ_BYTES: usize = 256 << 10;
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";
/// Bytes of a line over the limit that are searched for its id.
const HEAD_BYTES: usize = 4096;

#[derive(Debug, PartialEq, Eq)]
pub(super) enum LineCut {
    Line(Bytes),
    /// The beginning of a line that is being skipped.
    TooLong(Bytes),
}

/// The unfinished line of one party.
#[derive(Debug, Default)]
pub(super) struct LineCutter {
    unfinished: Vec<u8>,
    /// Inside a line that was already reported as too long.
    is_skipping: bool,
}

impl LineCutter {
    pub(super) fn n_unfinished(&self) -> usize {
        self.unfinished.len()
    }

    /// Whether a line has begun and not ended.
    pub(super) fn is_in_line(&self) -> bool {
        self.is_skipping || !self.unfinished.is_empty()
    }

    /// Whether that line is too long, and lost.
    pub(super) fn is_skipping(&self) -> bool {
        self.is_skipping
    }

    /// Takes the next line off the chunk. After `None` the chunk is used up.
    pub(super) fn cut(&mut self, chunk: &mut Bytes, max_line_bytes: usize) -> Option<LineCut> {
        while !chunk.is_empty() {
            let Some(end) = memchr::memchr(b'\n', chunk) else {
                let rest = std::mem::take(chunk);
                return self.keep(&rest, max_line_bytes);
            };
            let piece = chunk.split_to(end);
            chunk.advance(1);
            if std::mem::take(&mut self.is_skipping) {
                continue;
            }
            let line = match self.unfinished.is_empty() {
                true => piece,
                false => {
                    self.unfinished.extend_from_slice(&piece);
                    Bytes::from(std::mem::take(&mut self.unfinished))
                }
            };
            if let Some(cut) = check(line, max_line_bytes) {
                return Some(cut);
            }
        }
        None
    }

    /// The last line of a stream that ended without a line end.
    pub(super) fn finish(&mut self, max_line_bytes: usize) -> Option<LineCut> {
        self.is_skipping = false;
        check(Bytes::from(std::mem::take(&mut self.unfinished)), max_line_bytes)
    }

    /// Gives up on the line that is not finished.
    pub(super) fn skip(&mut self) -> LineCut {
        self.is_skipping = true;
        let unfinished = Bytes::from(std::mem::take(&mut self.unfinished));
        LineCut::TooLong(head(&unfinished))
    }

    fn keep(&mut self, rest: &[u8], max_line_bytes: usize) -> Option<LineCut> {
        if self.is_skipping {
            return None;
        }
        self.unfinished.extend_from_slice(rest);
        // One byte of grace: the `\r` of a line that just fits.
        (self.unfinished.len() > max_line_bytes + 1).then(|| self.skip())
    }
}

fn check(mut line: Bytes, max_line_bytes: usize) -> Option<LineCut> {
    // Some programs begin every file with it; no worker would understand it here.
    if line.starts_with(BYTE_ORDER_MARK) {
        line.advance(BYTE_ORDER_MARK.len());
    }
    if line.last() == Some(&b'\r') {
        line.truncate(line.len() - 1);
    }
    match () {
        () if line.trim_ascii_start().is_empty() => None,
        () if line.len() > max_line_bytes => Some(LineCut::TooLong(head(&line))),
        () => Some(LineCut::Line(line)),
    }
}

/// A copy, so that the rest can go.
fn head(line: &[u8]) -> Bytes {
    Bytes::copy_from_slice(line.get(..HEAD_BYTES).unwrap_or(line))
}

/// The one buffer into which all parties are read, in turn: a thousand of them need not have one
/// each.
#[derive(Debug, Default)]
pub(super) struct ReadBuffer {
    spare: BytesMut,
}

impl ReadBuffer {
    /// Reads once from a pipe: the whole buffer and how much of it was filled. Give the buffer back
    /// when its lines have gone their way.
    pub(super) fn read(&mut self, pipe: impl AsFd) -> Result<(Bytes, usize), Errno> {
        let n = rustix::io::read(pipe, self.spare())?;
        Ok((std::mem::take(&mut self.spare).freeze(), n))
    }

    /// Reads once from a socket, for which the system has a faster call.
    pub(super) fn receive(&mut self, socket: impl AsFd) -> Result<(Bytes, usize), Errno> {
        let (n, _) = rustix::net::recv(socket, self.spare(), RecvFlags::DONTWAIT)?;
        Ok((std::mem::take(&mut self.spare).freeze(), n))
    }

    fn spare(&mut self) -> &mut [u8] {
        if self.spare.is_empty() {
            self.spare = BytesMut::zeroed(READ_BYTES);
        }
        &mut self.spare
    }

    pub(super) fn give_back(&mut self, buffer: Bytes) {
        // If a line of it is still held somewhere, the next read gets a new one.
        self.spare = buffer.try_into_mut().unwrap_or_default();
    }
}

#[cfg(test)]
mod tests;
