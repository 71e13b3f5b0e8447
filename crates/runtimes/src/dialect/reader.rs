//! The reader of a CLI's stdout: cuts it into lines for the dialect; plain text goes on uncut.

use wire::{Category, Fault, LineError, LineSplitter};

use super::{CliExit, Dialect, DialectName, Outputs, json};

/// How much of a line's beginning is kept, in case the line is too long: enough for its type and
/// its ids.
const MAX_HEAD_BYTES: usize = 4096;

/// Reads one process's stdout.
#[derive(Debug)]
pub struct DialectReader {
    lines: LineSplitter,
    /// The beginning of the present line.
    head: Vec<u8>,
    /// Plain text has no lines: it is passed on as it comes, cut between characters.
    text: Option<Vec<u8>>,
}

impl DialectReader {
    pub fn new(name: DialectName, max_line_bytes: usize) -> Self {
        let text = (name == DialectName::Plain).then(Vec::new);
        Self { lines: LineSplitter::new(max_line_bytes), head: Vec::new(), text }
    }

    pub fn feed(&mut self, chunk: &[u8], dialect: &mut dyn Dialect, out: &mut Outputs) {
        if let Some(pending) = &mut self.text {
            pending.extend_from_slice(chunk);
            let text = take_text(pending);
            if !text.is_empty() {
                dialect.line(&text, out);
            }
            return;
        }
        // Line by line, so that the head is always that of the line in hand.
        for piece in chunk.split_inclusive(|byte| *byte == b'\n') {
            let n_missing = MAX_HEAD_BYTES.saturating_sub(self.head.len());
            self.head.extend(piece.iter().take(n_missing));
            self.lines.feed(piece);
            while let Some(line) = self.lines.next_line() {
                self.pass_on(line, dialect, out);
            }
            if piece.ends_with(b"\n") {
                self.head.clear();
            }
        }
    }

    /// stdout ended; a last line may lack its end.
    pub fn finish(&mut self, exit: &CliExit, dialect: &mut dyn Dialect, out: &mut Outputs) {
        match &mut self.text {
            Some(pending) => {
                if !pending.is_empty() {
                    dialect.line(&String::from_utf8_lossy(pending), out);
                    pending.clear();
                }
            }
            None => {
                if let Some(line) = self.lines.finish() {
                    self.pass_on(line, dialect, out);
                }
                self.head.clear();
            }
        }
        dialect.end(exit, out);
    }

    fn pass_on(
        &self,
        line: Result<bytes::Bytes, LineError>,
        dialect: &mut dyn Dialect,
        out: &mut Outputs,
    ) {
        match line {
            Ok(line) | Err(LineError::NotUtf8 { line }) => {
                dialect.line(&String::from_utf8_lossy(&line), out);
            }
            Err(error @ LineError::NoMemory { .. }) => out.warn(error.to_string()),
            Err(error @ LineError::TooLong { limit }) => {
                out.unknown(&error.to_string());
                // Part of the answer may be missing; whoever reads it should know.
                out.warn(error.to_string());
                let message = format!(
                    "the CLI printed a line that is longer than {limit} bytes; it was skipped, \
                     and the end of the turn may have been in it"
                );
                let head = json::parse_head(&String::from_utf8_lossy(&self.head));
                dialect.oversized_line(&head, Fault::new(Category::Protocol, message), out);
            }
        }
    }
}

/// Takes everything up to a character that is not complete yet; invalid UTF-8 is replaced, in
/// the same way wherever the bytes were cut.
fn take_text(pending: &mut Vec<u8>) -> String {
    let mut text = String::new();
    let mut n_taken = 0;
    for chunk in pending.utf8_chunks() {
        text.push_str(chunk.valid());
        n_taken += chunk.valid().len();
        let invalid = chunk.invalid();
        // The beginning of a character at the very end may still be completed.
        let is_cut = n_taken + invalid.len() == pending.len()
            && std::str::from_utf8(invalid).is_err_and(|error| error.error_len().is_none());
        if is_cut {
            break;
        }
        if !invalid.is_empty() {
            text.push(char::REPLACEMENT_CHARACTER);
            n_taken += invalid.len();
        }
    }
    pending.drain(..n_taken);
    text
}
