//! Server-sent events, cut out of bytes.
//!
//! In: bytes as they come, cut anywhere. Out: frames. A line that is longer than any event of
//! a log is refused before it is held.

/// Beyond the largest event that a log takes.
const MAX_LINE_BYTES: usize = 96 << 20;

/// One event of a stream.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Frame {
    pub id: Option<String>,
    pub event: Option<String>,
    pub data: String,
}

#[derive(Debug, thiserror::Error)]
#[error("a line is too long")]
pub struct TooLong;

/// Cuts bytes into frames.
#[derive(Debug, Default)]
pub struct Frames {
    /// The beginning of a line whose end has not come.
    rest: Vec<u8>,
    next: Frame,
    has_data: bool,
}

impl Frames {
    /// Adds bytes; whole frames are appended to `frames`.
    pub fn push(&mut self, bytes: &[u8], frames: &mut Vec<Frame>) -> Result<(), TooLong> {
        let mut bytes = bytes;
        while let Some(end) = memchr::memchr(b'\n', bytes) {
            let (line, after) = bytes.split_at(end);
            bytes = after.get(1..).unwrap_or_default();
            if self.rest.is_empty() {
                self.line(line, frames);
            } else {
                let mut whole = std::mem::take(&mut self.rest);
                whole.extend_from_slice(line);
                self.line(&whole, frames);
            }
        }
        if self.rest.len() + bytes.len() > MAX_LINE_BYTES {
            return Err(TooLong);
        }
        self.rest.extend_from_slice(bytes);
        Ok(())
    }

    fn line(&mut self, line: &[u8], frames: &mut Vec<Frame>) {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.is_empty() {
            let frame = std::mem::take(&mut self.next);
            if std::mem::take(&mut self.has_data) {
                frames.push(frame);
            }
            return;
        }
        let line = String::from_utf8_lossy(line);
        let (name, value) = line.split_once(':').unwrap_or((&line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match name {
            "data" => {
                if std::mem::replace(&mut self.has_data, true) {
                    self.next.data.push('\n');
                }
                self.next.data.push_str(value);
            }
            "id" => self.next.id = Some(value.to_owned()),
            "event" => self.next.event = Some(value.to_owned()),
            // Comments, and what a later daemon may say.
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;
