//! Server-sent events, cut out of a stream of bytes.
//!
//! In: chunks, cut anywhere. Out: whole events. Follows the standard where servers do not: a
//! line may end in CR, LF or both, unknown fields and comments are skipped, repeated fields
//! replace. What one event may hold is bounded.

use std::mem;

/// One event that was sent off by its empty line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Event {
    /// Empty for a plain message.
    pub(super) name: String,
    pub(super) data: String,
    pub(super) id: Option<String>,
    pub(super) retry: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an event is longer than {limit} bytes")]
pub(super) struct TooLong {
    limit: usize,
}

#[derive(Debug)]
pub(super) struct Events {
    line: Vec<u8>,
    event: Event,
    has_data: bool,
    /// The last byte was a CR: an LF that follows belongs to it.
    is_after_cr: bool,
    is_at_start: bool,
    limit: usize,
}

impl Events {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            line: Vec::new(),
            event: Event::default(),
            has_data: false,
            is_after_cr: false,
            is_at_start: true,
            limit,
        }
    }

    /// The events that this chunk completes.
    pub(super) fn feed(&mut self, mut chunk: &[u8]) -> Result<Vec<Event>, TooLong> {
        let mut done = Vec::new();
        if mem::take(&mut self.is_after_cr) {
            if chunk.is_empty() {
                self.is_after_cr = true;
                return Ok(done);
            }
            chunk = chunk.strip_prefix(b"\n").unwrap_or(chunk);
        }
        while let Some(end) = chunk.iter().position(|byte| matches!(byte, b'\r' | b'\n')) {
            let (line, rest) = chunk.split_at(end);
            self.extend(line)?;
            done.extend(self.end_line());
            chunk = match rest {
                [b'\r'] => {
                    self.is_after_cr = true;
                    &[]
                }
                [b'\r', b'\n', rest @ ..] | [_, rest @ ..] => rest,
                [] => &[],
            };
        }
        self.extend(chunk)?;
        Ok(done)
    }

    fn extend(&mut self, bytes: &[u8]) -> Result<(), TooLong> {
        if self.line.len() + self.event.data.len() + bytes.len() > self.limit {
            return Err(TooLong { limit: self.limit });
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    fn end_line(&mut self) -> Option<Event> {
        let bytes = mem::take(&mut self.line);
        let mut line = String::from_utf8_lossy(&bytes);
        if mem::take(&mut self.is_at_start) && line.starts_with('\u{feff}') {
            line = line.trim_start_matches('\u{feff}').to_owned().into();
        }
        if line.is_empty() {
            let event = mem::take(&mut self.event);
            return mem::take(&mut self.has_data).then_some(event);
        }
        let (field, value) = line.split_once(':').unwrap_or((&line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut self.event.name),
            "data" => {
                if mem::replace(&mut self.has_data, true) {
                    self.event.data.push('\n');
                }
                self.event.data.push_str(value);
            }
            "id" if !value.contains('\0') => self.event.id = Some(value.to_owned()),
            "retry" => self.event.retry = value.parse().ok(),
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests;
