//! The beginning and the end of an output, which are kept of it.
//!
//! In: bytes as they come. Out: text for a model, and its last part for people who watch.
//! Memory is bounded by the two limits, however much comes.

use std::collections::VecDeque;

use crate::native::display_text;

#[derive(Debug)]
pub(super) struct OutputBuffer {
    head: Vec<u8>,
    head_limit: usize,
    tail: VecDeque<u8>,
    tail_limit: usize,
    n_left_out: u64,
}

impl OutputBuffer {
    /// A third of the limit for the beginning: errors mostly stand at the end.
    pub(super) fn new(limit: usize) -> Self {
        let head_limit = limit / 3;
        Self {
            head: Vec::new(),
            head_limit,
            tail: VecDeque::new(),
            tail_limit: limit - head_limit,
            n_left_out: 0,
        }
    }

    pub(super) fn push(&mut self, chunk: &[u8]) {
        let n_head = chunk.len().min(self.head_limit - self.head.len());
        let (head, rest) = chunk.split_at(n_head);
        self.head.extend_from_slice(head);
        let n_skipped = rest.len().saturating_sub(self.tail_limit);
        let rest = rest.get(n_skipped..).unwrap_or_default();
        let n_over = (self.tail.len() + rest.len()).saturating_sub(self.tail_limit);
        self.tail.drain(..n_over);
        self.tail.extend(rest);
        self.n_left_out += (n_skipped + n_over) as u64;
    }

    /// All that is kept, with a note where something is missing.
    pub(super) fn text(&mut self) -> String {
        if self.n_left_out == 0 {
            // In one piece: a character may stand across the two.
            let mut whole = self.head.clone();
            whole.extend(&self.tail);
            return display_text::printed(&whole);
        }
        let head = display_text::printed(whole_characters(&self.head));
        let tail = display_text::printed(from_character(self.tail.make_contiguous()));
        let n = self.n_left_out;
        format!(
            "{head}\n[… {n} bytes left out here: to see them, write the output to a file and \
             read it in parts, or filter it …]\n{tail}"
        )
    }

    /// The last bytes as text, for somebody who watches.
    pub(super) fn recent(&self, limit: usize) -> String {
        let n_tail = self.tail.len().min(limit);
        // Only then is the end of the head what came before the tail.
        let n_head = match self.n_left_out {
            0 => self.head.len().min(limit - n_tail),
            _ => 0,
        };
        let mut bytes = self.head.get(self.head.len() - n_head..).unwrap_or_default().to_vec();
        bytes.extend(self.tail.iter().skip(self.tail.len() - n_tail));
        display_text::printed(from_character(&bytes))
    }
}

/// The bytes without a last character that the limit has cut in two.
fn whole_characters(bytes: &[u8]) -> &[u8] {
    let n_open = bytes.iter().rev().take(3).take_while(|byte| **byte & 0xc0 == 0x80).count();
    let at = bytes.len().saturating_sub(n_open + 1);
    let n_wanted = match bytes.get(at) {
        Some(0xc0..=0xdf) => 2,
        Some(0xe0..=0xef) => 3,
        Some(0xf0..=0xf7) => 4,
        _ => 0,
    };
    if n_wanted > n_open + 1 { bytes.get(..at).unwrap_or_default() } else { bytes }
}

fn from_character(bytes: &[u8]) -> &[u8] {
    let n_rest = bytes.iter().take(3).take_while(|byte| **byte & 0xc0 == 0x80).count();
    bytes.get(n_rest..).unwrap_or_default()
}

#[cfg(test)]
mod tests;
