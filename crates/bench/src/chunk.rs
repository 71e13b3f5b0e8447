//! The numbered chunks that the scripted agent streams, and how clients know them again
//! wherever they come out, whatever was wrapped around them.

use std::sync::LazyLock;

use memchr::memmem::{Finder, find};

const MARK: &str = "chunk #";
const DIGITS: usize = 8;
/// The filling character, which no peer has to escape.
const FILLING: char = '.';

static MARK_FINDER: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(MARK));

/// Lines of `session/update`, made once and renumbered in place.
#[derive(Debug)]
pub struct Chunks {
    line: Vec<u8>,
    digits_at: usize,
}

impl Chunks {
    /// Chunks whose text has `n_bytes`, or as many as the number takes.
    pub fn new(session: &str, n_bytes: usize) -> Self {
        let mut text = format!("{MARK}{:0DIGITS$} ", 0);
        text.extend(std::iter::repeat_n(FILLING, n_bytes.saturating_sub(text.len())));
        let update = serde_json::json!({
            "jsonrpc": "2.0",
            "method": "session/update",
            "params": {
                "sessionId": session,
                "update": {
                    "sessionUpdate": "agent_message_chunk",
                    "content": { "type": "text", "text": text },
                },
            },
        });
        let line = format!("{update}\n").into_bytes();
        // A session may be called what it likes, but its id comes first.
        let text_at = line.len() - tail_of(&line);
        Self { line, digits_at: text_at + MARK.len() }
    }

    pub fn line(&mut self, number: u64) -> &[u8] {
        let mut rest = number;
        let digits = self.line.get_mut(self.digits_at..self.digits_at + DIGITS);
        for digit in digits.into_iter().flatten().rev() {
            *digit = b'0' + u8::try_from(rest % 10).unwrap_or_default();
            rest /= 10;
        }
        &self.line
    }
}

/// How many bytes from the last mark to the end.
fn tail_of(line: &[u8]) -> usize {
    memchr::memmem::rfind(line, MARK.as_bytes()).map_or(0, |at| line.len() - at)
}

/// The text of a chunk, short like a token.
pub fn token(number: u64) -> String {
    format!("{MARK}{number:0DIGITS$} ")
}

/// The number of the chunk that stands in `text`, if one does.
pub fn number_in(text: &[u8]) -> Option<u64> {
    digits_at(text, MARK_FINDER.find(text)? + MARK.len())
}

/// The numbers of all chunks in `text`: some agents put several tokens into one update.
pub fn numbers_in(text: &[u8]) -> impl Iterator<Item = u64> {
    MARK_FINDER.find_iter(text).filter_map(|at| digits_at(text, at + MARK.len()))
}

fn digits_at(text: &[u8], at: usize) -> Option<u64> {
    let digits = text.get(at..at + DIGITS)?;
    digits.iter().try_fold(0, |number: u64, digit| {
        digit.is_ascii_digit().then(|| number * 10 + u64::from(digit - b'0'))
    })
}

/// The chunks that a prompt asks the scripted agent for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChunkRequest {
    pub n_chunks: u64,
    pub n_bytes: usize,
}

impl ChunkRequest {
    const VERB: &'static str = "stream ";

    pub fn prompt(self) -> String {
        format!("{}{} {}.", Self::VERB, self.n_chunks, self.n_bytes)
    }

    /// Finds the request anywhere in a prompt: some clients put text of their own around it.
    pub fn find_in(text: &str) -> Option<Self> {
        Self::read_at(text, find(text.as_bytes(), Self::VERB.as_bytes())?)
    }

    /// The last one: a model is told all earlier prompts too.
    pub fn find_last_in(text: &str) -> Option<Self> {
        let mut places = memchr::memmem::rfind_iter(text.as_bytes(), Self::VERB.as_bytes());
        places.find_map(|at| Self::read_at(text, at))
    }

    fn read_at(text: &str, at: usize) -> Option<Self> {
        let at = at + Self::VERB.len();
        let (request, _) = text.get(at..)?.split_once('.')?;
        let (n_chunks, n_bytes) = request.split_once(' ')?;
        Some(Self { n_chunks: n_chunks.parse().ok()?, n_bytes: n_bytes.parse().ok()? })
    }
}

#[cfg(test)]
mod tests;
