//! Server-sent events as model endpoints send them: bytes in, fields out.
//!
//! Any cut of the bytes gives the same fields. Lines end with LF, CR or CRLF, the last one also
//! with the stream. Comments and fields that mean nothing here are passed over. A line that is
//! too long is an error at once, so that no server fills our memory.

/// What a line holds.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Field {
    /// Of `data:`, with or without the space after it.
    Data(Vec<u8>),
    /// `event: error`, with which some servers announce one, or `error:` with it.
    Error(Vec<u8>),
    /// A blank line: what came before belongs together.
    End,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct LineTooLong;

#[derive(Debug)]
pub(super) struct SseReader {
    line: Vec<u8>,
    max_line_bytes: usize,
    /// The last line ended with CR, so that an LF belongs to it.
    after_cr: bool,
    is_first: bool,
}

impl SseReader {
    pub(super) fn new(max_line_bytes: usize) -> Self {
        Self { line: Vec::new(), max_line_bytes, after_cr: false, is_first: true }
    }

    /// Takes what was read, and adds the fields of all lines that it completes.
    pub(super) fn feed(
        &mut self,
        mut bytes: &[u8],
        fields: &mut Vec<Field>,
    ) -> Result<(), LineTooLong> {
        if self.after_cr && !bytes.is_empty() {
            self.after_cr = false;
            bytes = bytes.strip_prefix(b"\n").unwrap_or(bytes);
        }
        while let Some(at) = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
            let (line, rest) = bytes.split_at(at);
            self.keep(line)?;
            let line = std::mem::take(&mut self.line);
            fields.extend(self.field(line));
            bytes = match rest {
                [b'\r', b'\n', rest @ ..] => rest,
                [b'\r'] => {
                    self.after_cr = true;
                    &[]
                }
                [_, rest @ ..] => rest,
                [] => &[],
            };
        }
        self.keep(bytes)
    }

    /// The stream is over: what is left is a line too.
    pub(super) fn finish(&mut self, fields: &mut Vec<Field>) {
        let line = std::mem::take(&mut self.line);
        if !line.is_empty() {
            fields.extend(self.field(line));
        }
        fields.push(Field::End);
    }

    fn keep(&mut self, bytes: &[u8]) -> Result<(), LineTooLong> {
        if self.line.len() + bytes.len() > self.max_line_bytes {
            return Err(LineTooLong);
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    fn field(&mut self, mut line: Vec<u8>) -> Option<Field> {
        if std::mem::take(&mut self.is_first) && line.starts_with("\u{feff}".as_bytes()) {
            line.drain(..3);
        }
        if line.is_empty() {
            return Some(Field::End);
        }
        let colon = line.iter().position(|byte| *byte == b':')?;
        let mut value = line.split_off(colon + 1);
        if value.first() == Some(&b' ') {
            value.remove(0);
        }
        match line.as_slice() {
            b"data:" => Some(Field::Data(value)),
            b"error:" => Some(Field::Error(value)),
            b"event:" if value.trim_ascii() == b"error" => Some(Field::Error(Vec::new())),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
