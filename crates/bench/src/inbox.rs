//! A read buffer that cuts incoming bytes into lines.
//!
//! In: one `read` at a time. Out: lines with their newline. Only bytes that came since the last
//! look are searched, and only the unfinished end of a read is ever moved.

use std::os::fd::AsFd;

use rustix::buffer::spare_capacity;
use rustix::io::Errno;

/// Room for each `read`; larger than any pipe or socket hands over at once.
const READ_BYTES: usize = 256 << 10;

#[derive(Debug, Default)]
pub struct Inbox {
    bytes: Vec<u8>,
    /// The start of the first line that was not handed out.
    start: usize,
    /// The offset before which there is no newline.
    searched: usize,
}

#[derive(Debug, PartialEq, Eq)]
pub enum FillOutcome {
    Some,
    NothingYet,
    End,
}

impl Inbox {
    pub fn fill(&mut self, source: impl AsFd) -> Result<FillOutcome, Errno> {
        if self.start > 0 {
            self.bytes.copy_within(self.start.., 0);
            self.bytes.truncate(self.bytes.len() - self.start);
            self.searched -= self.start;
            self.start = 0;
        }
        self.bytes.reserve(READ_BYTES);
        match rustix::io::read(source, spare_capacity(&mut self.bytes)) {
            Ok(0) => Ok(FillOutcome::End),
            Ok(_) => Ok(FillOutcome::Some),
            Err(Errno::AGAIN | Errno::INTR) => Ok(FillOutcome::NothingYet),
            Err(error) => Err(error),
        }
    }

    pub fn next_line(&mut self) -> Option<&[u8]> {
        let Some(at) = memchr::memchr(b'\n', self.bytes.get(self.searched..)?) else {
            self.searched = self.bytes.len();
            return None;
        };
        let (start, end) = (self.start, self.searched + at + 1);
        (self.start, self.searched) = (end, end);
        self.bytes.get(start..end)
    }
}

#[cfg(test)]
mod tests;
