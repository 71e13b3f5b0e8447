//! The body of an HTTP/1.1 answer out of the bytes that follow its head, in whatever pieces
//! they come.

use anyhow::{Context, ensure};

/// A chunk's size in hex, with extensions that nobody sends; more is no HTTP.
const MAX_SIZE_LINE: usize = 256;

/// How the end of a body is known.
#[derive(Debug)]
pub(super) enum Body {
    Length(usize),
    Chunked(Chunked),
}

#[derive(Debug, Default)]
pub(super) struct Chunked {
    state: State,
    size_line: Vec<u8>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum State {
    /// In the line that says how long the next chunk is.
    #[default]
    Size,
    /// So many bytes of the chunk are to come.
    Data(usize),
    /// In the line end behind a chunk.
    AfterData,
    /// In what follows the last chunk.
    Trailer,
    Done,
}

impl Body {
    pub(super) fn is_done(&self) -> bool {
        match self {
            Self::Length(n_left) => *n_left == 0,
            Self::Chunked(chunked) => chunked.state == State::Done,
        }
    }

    /// Appends the body's part of `bytes` to `out`, and says how many of them were the body's.
    pub(super) fn take(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> anyhow::Result<usize> {
        match self {
            Self::Length(n_left) => {
                let n = bytes.len().min(*n_left);
                out.extend(bytes.iter().take(n));
                *n_left -= n;
                Ok(n)
            }
            Self::Chunked(chunked) => chunked.take(bytes, out),
        }
    }
}

impl Chunked {
    fn take(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> anyhow::Result<usize> {
        let mut rest = bytes;
        while !rest.is_empty() && self.state != State::Done {
            rest = match self.state {
                State::Data(n_left) => {
                    let (data, after) = rest.split_at(n_left.min(rest.len()));
                    out.extend_from_slice(data);
                    self.state = match n_left - data.len() {
                        0 => State::AfterData,
                        n_left => State::Data(n_left),
                    };
                    after
                }
                _ => self.take_line(rest)?,
            };
        }
        Ok(bytes.len() - rest.len())
    }

    fn take_line<'a>(&mut self, bytes: &'a [u8]) -> anyhow::Result<&'a [u8]> {
        let end = memchr::memchr(b'\n', bytes);
        let (line, after) = bytes.split_at(end.map_or(bytes.len(), |at| at + 1));
        self.size_line.extend_from_slice(line);
        ensure!(self.size_line.len() <= MAX_SIZE_LINE, "a chunk's size is no number");
        if end.is_none() {
            return Ok(after);
        }
        let line = self.size_line.trim_ascii();
        self.state = match self.state {
            State::Size => match size_of(line)? {
                0 => State::Trailer,
                n_bytes => State::Data(n_bytes),
            },
            State::Trailer if line.is_empty() => State::Done,
            State::Trailer => State::Trailer,
            _ => {
                ensure!(line.is_empty(), "a chunk is longer than it says");
                State::Size
            }
        };
        self.size_line.clear();
        Ok(after)
    }
}

fn size_of(line: &[u8]) -> anyhow::Result<usize> {
    let line = std::str::from_utf8(line)?;
    let size = line.split(';').next().unwrap_or_default().trim();
    usize::from_str_radix(size, 16).with_context(|| format!("`{line}` is no size of a chunk"))
}

#[cfg(test)]
mod tests;
