//! A form as browsers send it: `multipart/form-data`, read as it comes.
//!
//! In: a body. Out: its parts one after the other, and of each its content in pieces.
//!
//! Always true: no more of it is in memory than one piece of the body, the longest head of a part
//! and a delimiter. A body that is no such form ends with an error, wherever it was cut.

use axum::body::{Body, BodyDataStream, Bytes};
use axum::http::{HeaderMap, header};
use futures_util::StreamExt as _;
use memchr::memmem;

use crate::problem::Problem;

/// Limit of a part's head: the names of a field and of a file, and a type.
const MAX_HEAD_BYTES: usize = 8 << 10;
/// Limit of a boundary by RFC 2046.
const MAX_BOUNDARY_BYTES: usize = 70;

#[derive(Debug, thiserror::Error)]
pub(super) enum MultipartError {
    #[error("`Content-Type` is not `multipart/form-data` with a `boundary`")]
    NoBoundary,
    #[error("the body is no such form, or broke off")]
    Broken,
    #[error("the head of a part has more than {MAX_HEAD_BYTES} bytes")]
    LongHead,
    #[error("the field `{name}` has more than {limit} bytes")]
    LongField { name: String, limit: usize },
}

impl From<MultipartError> for Problem {
    fn from(error: MultipartError) -> Self {
        Self::bad_request(error.to_string())
    }
}

#[derive(Debug)]
pub(super) struct MultipartForm {
    body: BodyDataStream,
    /// Bytes that have arrived and were not returned yet.
    buffer: Vec<u8>,
    /// `\r\n--` and the boundary.
    delimiter: Vec<u8>,
    is_in_part: bool,
}

/// The head of a part.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct PartHead {
    pub(super) name: String,
    pub(super) file_name: Option<String>,
}

impl MultipartForm {
    pub(super) fn of(headers: &HeaderMap, body: Body) -> Result<Self, MultipartError> {
        let said = headers.get(header::CONTENT_TYPE).and_then(|said| said.to_str().ok());
        let boundary = said.and_then(|said| parameter(said, "boundary"));
        let is_fine = |it: &String| (1..=MAX_BOUNDARY_BYTES).contains(&it.len()) && it.is_ascii();
        let boundary = boundary.filter(is_fine).ok_or(MultipartError::NoBoundary)?;
        let delimiter = format!("\r\n--{boundary}").into_bytes();
        // The first delimiter may stand at the very beginning.
        let buffer = b"\r\n".to_vec();
        Ok(Self { body: body.into_data_stream(), buffer, delimiter, is_in_part: true })
    }

    /// The next part; what is left of the one before is passed over.
    pub(super) async fn next(&mut self) -> Result<Option<PartHead>, MultipartError> {
        while self.piece().await?.is_some() {}
        while self.buffer.len() < 2 {
            self.more().await?;
        }
        if self.buffer.starts_with(b"--") {
            return Ok(None);
        }
        let end = loop {
            match memmem::find(&self.buffer, b"\r\n\r\n") {
                Some(end) if end <= MAX_HEAD_BYTES => break end,
                None if self.buffer.len() <= MAX_HEAD_BYTES => self.more().await?,
                _ => return Err(MultipartError::LongHead),
            }
        };
        let head = self.buffer.get(..end).and_then(head).ok_or(MultipartError::Broken)?;
        self.buffer.drain(..end + 4);
        self.is_in_part = true;
        Ok(Some(head))
    }

    /// The next piece of the part's content; `None` when it was the last.
    pub(super) async fn piece(&mut self) -> Result<Option<Bytes>, MultipartError> {
        if !self.is_in_part {
            return Ok(None);
        }
        loop {
            if let Some(at) = memmem::find(&self.buffer, &self.delimiter) {
                let piece = self.take(at);
                self.buffer.drain(..self.delimiter.len());
                self.is_in_part = false;
                return Ok(Some(piece));
            }
            // What may be the beginning of a delimiter waits for the rest.
            let n_sure = self.buffer.len().saturating_sub(self.delimiter.len() - 1);
            if n_sure > 0 {
                return Ok(Some(self.take(n_sure)));
            }
            self.more().await?;
        }
    }

    /// A whole field of a few bytes.
    pub(super) async fn text(
        &mut self,
        name: &str,
        limit: usize,
    ) -> Result<String, MultipartError> {
        let mut bytes = Vec::new();
        while let Some(piece) = self.piece().await? {
            if bytes.len() + piece.len() > limit {
                return Err(MultipartError::LongField { name: name.to_owned(), limit });
            }
            bytes.extend_from_slice(&piece);
        }
        String::from_utf8(bytes).map_err(|_| MultipartError::Broken)
    }

    fn take(&mut self, n: usize) -> Bytes {
        self.buffer.drain(..n).collect::<Vec<u8>>().into()
    }

    async fn more(&mut self) -> Result<(), MultipartError> {
        match self.body.next().await {
            Some(Ok(more)) => {
                self.buffer.extend_from_slice(&more);
                Ok(())
            }
            Some(Err(_)) | None => Err(MultipartError::Broken),
        }
    }
}

/// Reads the lines of a part's head.
fn head(bytes: &[u8]) -> Option<PartHead> {
    let text = std::str::from_utf8(bytes).ok()?;
    let disposition = text.split("\r\n").find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.trim().eq_ignore_ascii_case("content-disposition").then(|| value.trim())
    })?;
    let is_form_data = disposition.split(';').next()?.trim().eq_ignore_ascii_case("form-data");
    let name = is_form_data.then(|| parameter(disposition, "name")).flatten()?;
    Some(PartHead { name, file_name: parameter(disposition, "filename") })
}

/// A parameter behind the value of a header; browsers write a quote in it as `%22`.
fn parameter(value: &str, wanted: &str) -> Option<String> {
    let mut rest = value.split_once(';')?.1;
    loop {
        let (name, after) = rest.split_once('=')?;
        let after = after.trim_start();
        let (found, left) = match after.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"')?,
            None => after.split_once(';').map_or((after, ""), |(found, left)| (found, left)),
        };
        if name.trim().trim_start_matches(';').trim().eq_ignore_ascii_case(wanted) {
            return Some(found.trim().to_owned());
        }
        rest = left.trim_start().trim_start_matches(';');
        if rest.is_empty() {
            return None;
        }
    }
}

#[cfg(test)]
mod tests;
