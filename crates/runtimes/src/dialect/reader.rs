//! From bytes to a dialect: cuts stdout into lines, and feeds plain text as it comes.

use wire::{LineError, LineSplitter};

use super::{Dialect, DialectName, Exit, Said};

/// Reads one process's stdout.
#[derive(Debug)]
pub struct Reader {
    lines: LineSplitter,
    /// Plain text has no lines: it is passed on as it comes, cut between characters.
    text: Option<Vec<u8>>,
}

impl Reader {
    pub fn new(name: DialectName, max_line_bytes: usize) -> Self {
        let text = (name == DialectName::Plain).then(Vec::new);
        Self { lines: LineSplitter::new(max_line_bytes), text }
    }

    pub fn feed(&mut self, chunk: &[u8], dialect: &mut dyn Dialect, out: &mut Vec<Said>) {
        if let Some(pending) = &mut self.text {
            pending.extend_from_slice(chunk);
            let text = take_text(pending);
            if !text.is_empty() {
                dialect.line(&text, out);
            }
            return;
        }
        self.lines.feed(chunk);
        while let Some(line) = self.lines.next_line() {
            pass_on(line, dialect, out);
        }
    }

    /// stdout ended; a last line may lack its end.
    pub fn finish(&mut self, exit: &Exit, dialect: &mut dyn Dialect, out: &mut Vec<Said>) {
        match &mut self.text {
            Some(pending) => {
                if !pending.is_empty() {
                    dialect.line(&String::from_utf8_lossy(pending), out);
                    pending.clear();
                }
            }
            None => {
                if let Some(line) = self.lines.finish() {
                    pass_on(line, dialect, out);
                }
            }
        }
        dialect.end(exit, out);
    }
}

fn pass_on(line: Result<bytes::Bytes, LineError>, dialect: &mut dyn Dialect, out: &mut Vec<Said>) {
    match line {
        Ok(line) => dialect.line(&String::from_utf8_lossy(&line), out),
        Err(LineError::NotUtf8 { line }) => dialect.line(&String::from_utf8_lossy(&line), out),
        Err(error @ LineError::TooLong { .. }) => out.push(Said::Raw(error.to_string())),
    }
}

/// Everything up to a character that is not complete yet; what is no UTF-8 is replaced, in
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
