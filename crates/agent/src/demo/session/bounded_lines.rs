//! Lines of text of which the oldest are forgotten.
//!
//! Always true: at most [`MAX_LINES`] lines of at most [`MAX_BYTES`] bytes together.

use std::collections::VecDeque;

// Updates, prompts or notes kept of a session: enough for any test. Floods are not remembered at all.
pub(super) const MAX_LINES: usize = 4096;
// A few attached pictures; what a resume reads is a small multiple of it.
pub(super) const MAX_BYTES: usize = 4 * 1024 * 1024;

#[derive(Debug, Default)]
pub(super) struct BoundedLines {
    lines: VecDeque<String>,
    n_bytes: usize,
}

impl BoundedLines {
    /// Adds a line. One that has no room even alone is forgotten at once.
    pub(super) fn push(&mut self, line: String) {
        if written_bytes(&line) > MAX_BYTES {
            return;
        }
        self.n_bytes += written_bytes(&line);
        self.lines.push_back(line);
        while self.lines.len() > MAX_LINES || self.n_bytes > MAX_BYTES {
            let Some(oldest) = self.lines.pop_front() else { break };
            self.n_bytes -= written_bytes(&oldest);
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &String> {
        self.lines.iter()
    }

    /// The bytes of all lines, as they are written.
    pub(super) fn n_bytes(&self) -> usize {
        self.n_bytes
    }
}

fn written_bytes(line: &str) -> usize {
    line.len() + "\n".len()
}
