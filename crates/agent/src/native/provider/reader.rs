//! The body of an answer: bytes in, JSON chunks out, however the endpoint sends them.
//!
//! A stream of events, or the whole answer as one JSON document. Which of them it is shows in
//! the first byte; the content type is not to be trusted. Some servers leave out the blank
//! lines between events: a line that is a JSON object by itself is a chunk at once, and only
//! others are held until the blank line.

use serde_json::Value;

use wire::sse::{SseLine, SseLines};

/// A chunk holds a token or, at worst, a whole file as the argument of a call.
const MAX_LINE_BYTES: usize = 8 << 20;
/// Longest body: far above any answer, with everything that is sent around each token.
const MAX_BODY_BYTES: usize = 512 << 20;
const MAX_DOCUMENT_BYTES: usize = 32 << 20;
/// Characters of a body that is no answer, enough to recognise it.
const EXCERPT_CHARS: usize = 120;

#[derive(Debug, PartialEq)]
pub(super) enum BodyPiece {
    Chunk(Value),
    /// The endpoint reported an error.
    Error(Value),
    /// `[DONE]`
    Done,
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum BodyError {
    #[error("a line of it is longer than {MAX_LINE_BYTES} bytes")]
    LineTooLong,
    #[error("it is longer than any answer")]
    TooLong,
    #[error("it is not an answer of a model but begins with `{0}`; check the base URL")]
    Foreign(String),
}

#[derive(Debug, Default)]
pub(super) struct BodyReader {
    format: BodyFormat,
    n_bytes: usize,
    chunks: ChunkAssembler,
    excerpt: Vec<u8>,
}

/// Makes chunks of the fields of a stream.
#[derive(Debug, Default)]
struct ChunkAssembler {
    /// Data lines that are not chunks by themselves.
    held: Vec<Vec<u8>>,
    held_bytes: usize,
    is_error: bool,
    /// Whether any field came that a stream of chunks has.
    has_fields: bool,
    /// A chunk was no JSON.
    has_skipped: bool,
}

#[derive(Debug, Default)]
enum BodyFormat {
    /// Only white space so far.
    #[default]
    Unknown,
    Events(SseLines),
    Document(Vec<u8>),
}

impl BodyReader {
    /// Whether no byte has come.
    pub(super) fn is_empty(&self) -> bool {
        self.n_bytes == 0
    }

    pub(super) fn feed(
        &mut self,
        bytes: &[u8],
        pieces: &mut Vec<BodyPiece>,
    ) -> Result<(), BodyError> {
        self.n_bytes += bytes.len();
        if self.n_bytes > MAX_BODY_BYTES {
            return Err(BodyError::TooLong);
        }
        let room = (4 * EXCERPT_CHARS).saturating_sub(self.excerpt.len());
        self.excerpt.extend(bytes.iter().take(room));
        if matches!(self.format, BodyFormat::Unknown) {
            let first = bytes.iter().find(|byte| !byte.is_ascii_whitespace());
            self.format = match first {
                None => return Ok(()),
                Some(b'{' | b'[') => BodyFormat::Document(Vec::new()),
                // A page for browsers: some do not end for a long time.
                Some(b'<') => return Err(self.foreign()),
                Some(_) => BodyFormat::Events(SseLines::default()),
            };
        }
        match &mut self.format {
            BodyFormat::Unknown => Ok(()),
            BodyFormat::Document(document) => {
                if document.len() + bytes.len() > MAX_DOCUMENT_BYTES {
                    return Err(BodyError::TooLong);
                }
                document.extend_from_slice(bytes);
                Ok(())
            }
            BodyFormat::Events(lines) => {
                let mut bytes = bytes;
                while let Some(line) =
                    lines.next(&mut bytes, MAX_LINE_BYTES).map_err(|_| BodyError::LineTooLong)?
                {
                    self.chunks.take(line, pieces);
                }
                Ok(())
            }
        }
    }

    /// The body is over.
    pub(super) fn finish(&mut self, pieces: &mut Vec<BodyPiece>) -> Result<(), BodyError> {
        match &mut self.format {
            BodyFormat::Unknown => Ok(()),
            BodyFormat::Document(document) => {
                let document = std::mem::take(document);
                let value = parse(&document).ok_or_else(|| self.foreign())?;
                // Some wrap even their only answer or error into a list.
                let value = match value {
                    Value::Array(mut all) if !all.is_empty() => all.swap_remove(0),
                    value => value,
                };
                pieces.push(BodyPiece::Chunk(value));
                pieces.push(BodyPiece::Done);
                Ok(())
            }
            BodyFormat::Events(lines) => {
                if let Some(line) = lines.finish() {
                    self.chunks.take(line, pieces);
                }
                self.chunks.take(SseLine::Blank, pieces);
                if self.chunks.has_fields { Ok(()) } else { Err(self.foreign()) }
            }
        }
    }

    fn foreign(&self) -> BodyError {
        let text = String::from_utf8_lossy(&self.excerpt);
        let text = super::failure::on_one_line(&text);
        BodyError::Foreign(text.chars().take(EXCERPT_CHARS).collect())
    }
}

impl ChunkAssembler {
    fn take(&mut self, line: SseLine<'_>, pieces: &mut Vec<BodyPiece>) {
        match line {
            SseLine::Blank => {
                self.release(pieces);
                self.is_error = false;
            }
            SseLine::Field { name: b"data", value: Some(data) } => {
                self.has_fields = true;
                self.data(data, pieces);
            }
            // Some servers send this instead of data, and others announce an error with it.
            SseLine::Field { name: b"error", value: Some(data) } => {
                self.has_fields = true;
                self.is_error = true;
                if !data.is_empty() {
                    self.data(data, pieces);
                }
            }
            SseLine::Field { name: b"event", value: Some(name) }
                if name.trim_ascii() == b"error" =>
            {
                self.has_fields = true;
                self.is_error = true;
            }
            // Comments, ids, and words of something that is no stream.
            SseLine::Field { .. } => {}
        }
    }

    fn data(&mut self, data: &[u8], pieces: &mut Vec<BodyPiece>) {
        if self.held.is_empty() {
            if data.trim_ascii() == b"[DONE]" {
                pieces.push(BodyPiece::Done);
                return;
            }
            if let Some(value @ Value::Object(_)) = parse(data) {
                pieces.push(self.piece(value));
                return;
            }
        }
        if self.held_bytes + data.len() > MAX_LINE_BYTES {
            self.release(pieces);
        }
        self.held_bytes += data.len();
        self.held.push(data.to_vec());
    }

    /// Gives out the lines that were held: together one chunk, or each one, or none.
    fn release(&mut self, pieces: &mut Vec<BodyPiece>) {
        let held = std::mem::take(&mut self.held);
        self.held_bytes = 0;
        if held.len() > 1
            && let Some(value @ Value::Object(_)) = parse(&held.join(&b'\n'))
        {
            pieces.push(self.piece(value));
            return;
        }
        for data in held {
            let data = data.trim_ascii();
            match parse(data) {
                _ if data == b"[DONE]" => pieces.push(BodyPiece::Done),
                Some(value @ Value::Object(_)) => pieces.push(self.piece(value)),
                Some(Value::String(text)) if self.is_error => {
                    pieces.push(BodyPiece::Error(Value::String(text)));
                }
                _ if self.is_error => {
                    let text = String::from_utf8_lossy(data).into_owned();
                    pieces.push(BodyPiece::Error(Value::String(text)));
                }
                _ if data.is_empty() => {}
                // Whoever runs the endpoint has to know; once is enough.
                _ if !std::mem::replace(&mut self.has_skipped, true) => {
                    tracing::error!(bytes = data.len(), "skipped a chunk that is not JSON");
                }
                _ => tracing::warn!(bytes = data.len(), "skipped a chunk that is not JSON"),
            }
        }
    }

    fn piece(&self, value: Value) -> BodyPiece {
        match self.is_error && value.get("error").is_none() {
            true => BodyPiece::Error(value),
            false => BodyPiece::Chunk(value),
        }
    }
}

fn parse(bytes: &[u8]) -> Option<Value> {
    match serde_json::from_slice(bytes) {
        Ok(value) => Some(value),
        // A broken character is no reason to lose the rest.
        Err(_) if std::str::from_utf8(bytes).is_err() => {
            serde_json::from_str(&String::from_utf8_lossy(bytes)).ok()
        }
        Err(_) => None,
    }
}

#[cfg(test)]
mod tests;
