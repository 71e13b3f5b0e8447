//! Bytes that wait to go out: everything of one wake-up leaves in one `write`.

use std::os::fd::AsFd;

use rustix::io::Errno;

#[derive(Debug, Default)]
pub struct Outbox {
    bytes: Vec<u8>,
    /// What is before it has been written.
    start: usize,
}

#[derive(Debug, PartialEq, Eq)]
pub enum FlushOutcome {
    All,
    /// The reader must make room first.
    Part,
}

impl Outbox {
    pub fn push(&mut self, line: &[u8]) {
        if self.start > 0 && self.bytes.len() + line.len() > self.bytes.capacity() {
            self.bytes.drain(..self.start);
            self.start = 0;
        }
        self.bytes.extend_from_slice(line);
    }

    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    pub fn flush(&mut self, sink: impl AsFd) -> Result<FlushOutcome, Errno> {
        while let Some(rest) = self.bytes.get(self.start..).filter(|rest| !rest.is_empty()) {
            match rustix::io::write(&sink, rest) {
                Ok(n_bytes) => self.start += n_bytes,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Ok(FlushOutcome::Part),
                Err(error) => return Err(error),
            }
        }
        self.bytes.clear();
        self.start = 0;
        Ok(FlushOutcome::All)
    }
}
