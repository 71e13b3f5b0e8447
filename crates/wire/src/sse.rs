//! Server-sent events, cut out of a stream of bytes.
//!
//! In: chunks, cut anywhere. Out: whole events, or, for streams whose servers leave out the blank
//! lines between them, single lines. A line ends in LF, CR or both; a mark of byte order and
//! comments are passed over, a repeated field replaces the earlier one but for data, which is
//! added to. What is longer than its reader allows is an error at once, before it is held.

use std::mem;

/// Cuts bytes into lines. A line that lies within one chunk is not copied.
#[derive(Debug, Default)]
pub struct SseLines {
    /// The beginning of a line whose end has not come; or the line that was returned last.
    held: Vec<u8>,
    is_returned: bool,
    /// The last byte was a CR: an LF that follows belongs to it.
    is_after_cr: bool,
    is_past_first: bool,
}

/// One line of an event stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SseLine<'a> {
    /// The end of an event: the fields before it belong together.
    Blank,
    /// No value is a line without a colon, which the standard takes for an empty one.
    Field { name: &'a [u8], value: Option<&'a [u8]> },
}

/// A line, or an event, is longer than its limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an event is longer than {limit} bytes")]
pub struct SseTooLong {
    pub limit: usize,
}

impl SseLines {
    /// The next line that ends in `chunk`, which it is taken from. Where none ends any more, the
    /// rest is kept for the next chunk.
    pub fn next<'a, 'c: 'a>(
        &'a mut self,
        chunk: &mut &'c [u8],
        limit: usize,
    ) -> Result<Option<SseLine<'a>>, SseTooLong> {
        if mem::take(&mut self.is_returned) {
            self.held = Vec::new();
        }
        if !chunk.is_empty() && mem::take(&mut self.is_after_cr) {
            *chunk = chunk.strip_prefix(b"\n").unwrap_or(chunk);
        }
        let end = memchr::memchr2(b'\n', b'\r', chunk);
        let (part, rest) = chunk.split_at(end.unwrap_or(chunk.len()));
        if self.held.len() + part.len() > limit {
            return Err(SseTooLong { limit });
        }
        let Some((end, rest)) = rest.split_first() else {
            self.held.extend_from_slice(part);
            *chunk = rest;
            return Ok(None);
        };
        *chunk = rest;
        self.is_after_cr = *end == b'\r';
        let is_first = !mem::replace(&mut self.is_past_first, true);
        if self.held.is_empty() {
            return Ok(Some(read(part, is_first)));
        }
        self.held.extend_from_slice(part);
        self.is_returned = true;
        Ok(Some(read(&self.held, is_first)))
    }

    /// The stream is over: what is left is a line too.
    pub fn finish(&mut self) -> Option<SseLine<'_>> {
        let is_left = !mem::replace(&mut self.is_returned, true) && !self.held.is_empty();
        is_left.then(|| read(&self.held, !self.is_past_first))
    }
}

fn read(line: &[u8], is_first: bool) -> SseLine<'_> {
    let line = match line.strip_prefix("\u{feff}".as_bytes()) {
        Some(unmarked) if is_first => unmarked,
        _ => line,
    };
    if line.is_empty() {
        return SseLine::Blank;
    }
    let Some(colon) = memchr::memchr(b':', line) else {
        return SseLine::Field { name: line, value: None };
    };
    let (name, value) = line.split_at(colon);
    let value = value.strip_prefix(b": ").or(value.strip_prefix(b":"));
    SseLine::Field { name, value }
}

/// One event that was sent off by its blank line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SseEvent {
    /// Empty for a plain message.
    pub name: String,
    pub data: String,
    pub id: Option<String>,
    pub retry: Option<u64>,
}

/// Cuts bytes into events.
#[derive(Debug)]
pub struct SseParser {
    lines: SseLines,
    next: SseEvent,
    has_data: bool,
    limit: usize,
}

impl SseParser {
    /// No line, and no data of an event, may be longer than `limit`.
    pub fn new(limit: usize) -> Self {
        Self { lines: SseLines::default(), next: SseEvent::default(), has_data: false, limit }
    }

    /// Adds the events that this chunk completes to `events`.
    pub fn feed(
        &mut self,
        mut chunk: &[u8],
        events: &mut impl Extend<SseEvent>,
    ) -> Result<(), SseTooLong> {
        loop {
            let room = self.limit.saturating_sub(self.next.data.len());
            let line = self.lines.next(&mut chunk, room);
            let Some(line) = line.map_err(|_| SseTooLong { limit: self.limit })? else {
                return Ok(());
            };
            let SseLine::Field { name, value } = line else {
                let event = mem::take(&mut self.next);
                events.extend(mem::take(&mut self.has_data).then_some(event));
                continue;
            };
            let value = String::from_utf8_lossy(value.unwrap_or_default());
            match name {
                b"data" => {
                    if mem::replace(&mut self.has_data, true) {
                        self.next.data.push('\n');
                    }
                    self.next.data.push_str(&value);
                }
                b"event" => self.next.name = value.into_owned(),
                b"id" if !value.contains('\0') => self.next.id = Some(value.into_owned()),
                b"retry" => self.next.retry = value.parse().ok(),
                // Comments, which have no name, and what a later server may say.
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests;
