//! Cuts a stream of bytes into lines.
//!
//! In: chunks, cut anywhere. Out: lines without their end, as slices of what came in.
//! Only `\n` ends a line (agents print raw U+2028 inside strings); a `\r` before it and
//! blank lines are dropped. A line that is too long or not UTF-8 is reported once and
//! skipped; the next good line is never lost, and memory never exceeds the limit by more
//! than one chunk.

use bytes::{Buf, Bytes, BytesMut};

/// A line of this size does not share its memory with what follows.
const LARGE_BYTES: usize = 1 << 20;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LineError {
    #[error("a line is longer than {limit} bytes; it was skipped")]
    TooLong { limit: usize },
    #[error("a line of {} bytes is not valid UTF-8; it was skipped", .line.len())]
    NotUtf8 { line: Bytes },
    #[error("there is no memory for a line of more than {n_bytes} bytes")]
    NoMemory { n_bytes: usize },
}

#[derive(Debug)]
pub struct LineSplitter {
    buffer: BytesMut,
    /// How much of `buffer` is known to hold no line end.
    n_scanned: usize,
    /// Inside a line that is already reported as too long.
    is_skipping: bool,
    max_line_bytes: usize,
}

impl LineSplitter {
    pub fn new(max_line_bytes: usize) -> Self {
        Self { buffer: BytesMut::new(), n_scanned: 0, is_skipping: false, max_line_bytes }
    }

    /// The buffer into which the next chunk is to be read. Append only.
    pub fn buffer(&mut self) -> &mut BytesMut {
        &mut self.buffer
    }

    /// Makes room for a chunk of that size. Where there is none for a large line and for one copy of
    /// it, this is an error, and not the end of the process.
    pub fn make_room(&mut self, n_chunk: usize) -> Result<(), LineError> {
        let n_bytes = self.buffer.len();
        if n_bytes >= LARGE_BYTES && self.buffer.capacity() - n_bytes < n_chunk {
            // The buffer doubles.
            let n_wanted = (self.buffer.capacity() + n_chunk).saturating_mul(4);
            let has_room = Vec::<u8>::new().try_reserve_exact(n_wanted).is_ok();
            if !has_room {
                self.drop_buffer();
                return Err(LineError::NoMemory { n_bytes });
            }
        }
        self.buffer.reserve(n_chunk);
        Ok(())
    }

    pub fn feed(&mut self, chunk: &[u8]) {
        self.buffer.extend_from_slice(chunk);
    }

    /// The next complete line, if there is one.
    pub fn next_line(&mut self) -> Option<Result<Bytes, LineError>> {
        loop {
            let unscanned = self.buffer.get(self.n_scanned..).unwrap_or_default();
            let Some(found) = memchr::memchr(b'\n', unscanned) else {
                return self.refuse_endless_line();
            };
            let mut line = self.buffer.split_to(self.n_scanned + found);
            self.buffer.advance(1);
            self.n_scanned = 0;
            if line.len() > LARGE_BYTES {
                // What comes next would otherwise keep all of this line's memory.
                self.buffer = BytesMut::from(self.buffer.as_ref());
            }
            if std::mem::take(&mut self.is_skipping) {
                continue;
            }
            if line.last() == Some(&b'\r') {
                line.truncate(line.len() - 1);
            }
            if let Some(checked) = self.check(line) {
                return Some(checked);
            }
        }
    }

    /// The last line of a stream that ended without a line end.
    pub fn finish(&mut self) -> Option<Result<Bytes, LineError>> {
        let line = std::mem::take(&mut self.buffer);
        self.n_scanned = 0;
        if std::mem::take(&mut self.is_skipping) {
            return None;
        }
        self.check(line)
    }

    fn refuse_endless_line(&mut self) -> Option<Result<Bytes, LineError>> {
        self.n_scanned = self.buffer.len();
        if self.is_skipping {
            self.drop_buffer();
            return None;
        }
        // One byte of grace: the `\r` of a line that just fits.
        if self.buffer.len() <= self.max_line_bytes + 1 {
            return None;
        }
        self.is_skipping = true;
        self.drop_buffer();
        Some(Err(LineError::TooLong { limit: self.max_line_bytes }))
    }

    /// Forgets a part of a skipped line, and its memory with it.
    fn drop_buffer(&mut self) {
        self.buffer = BytesMut::new();
        self.n_scanned = 0;
    }

    fn check(&self, line: BytesMut) -> Option<Result<Bytes, LineError>> {
        // Before blankness: an endless line is reported before it is known to be blank.
        if line.len() > self.max_line_bytes {
            return Some(Err(LineError::TooLong { limit: self.max_line_bytes }));
        }
        if line.iter().all(u8::is_ascii_whitespace) {
            return None;
        }
        let line = line.freeze();
        Some(match std::str::from_utf8(&line) {
            Ok(_) => Ok(line),
            Err(_) => Err(LineError::NotUtf8 { line }),
        })
    }
}

#[cfg(test)]
mod tests;
