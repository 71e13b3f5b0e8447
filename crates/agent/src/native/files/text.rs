//! The text of a file, with its habits: line ends, byte order mark, newline at the end.
//!
//! A model sees and writes plain lines. What it wrote gets the habits of the file back.

use sha2::{Digest as _, Sha256};

const BOM: char = '\u{feff}';
/// As git and ripgrep do: a NUL early in a file means that it is not text.
const SNIFFED_BYTES: usize = 8192;

pub(in crate::native) type TextDigest = [u8; 32];

/// Text as it is in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::native) struct FileText {
    raw: String,
}

impl FileText {
    pub(in crate::native) fn new(raw: String) -> Self {
        Self { raw }
    }

    pub(in crate::native) fn as_str(&self) -> &str {
        &self.raw
    }

    /// A digest of what a person would call the text: editors may hand it over with other line
    /// ends, and without the mark or the last newline.
    pub(in crate::native) fn digest(&self) -> TextDigest {
        let plain = self.raw.strip_prefix(BOM).unwrap_or(&self.raw).replace("\r\n", "\n");
        Sha256::digest(plain.strip_suffix('\n').unwrap_or(&plain)).into()
    }

    /// Whether every line ends in CRLF. Where only some do, they are part of the text.
    pub(in crate::native) fn is_crlf(&self) -> bool {
        let n_lines = self.raw.bytes().filter(|byte| *byte == b'\n').count();
        // One more CR before it would be lost on the way back.
        n_lines > 0 && self.raw.matches("\r\n").count() == n_lines && !self.raw.contains("\r\r\n")
    }

    /// The text without the habits, as a model sees it.
    pub(in crate::native) fn plain(&self) -> String {
        let text = self.raw.strip_prefix(BOM).unwrap_or(&self.raw);
        match self.is_crlf() {
            true => text.replace("\r\n", "\n"),
            false => text.to_owned(),
        }
    }

    /// `plain` with the habits of this file.
    pub(in crate::native) fn with_format_of(&self, plain: &str) -> Self {
        let plain = plain.strip_prefix(BOM).unwrap_or(plain);
        let body = match self.is_crlf() {
            true => plain.replace("\r\n", "\n").replace('\n', "\r\n"),
            false => plain.to_owned(),
        };
        Self { raw: if self.raw.starts_with(BOM) { format!("{BOM}{body}") } else { body } }
    }

    /// Another text in place of this one: a newline at its end stays.
    pub(in crate::native) fn replaced_by(&self, plain: &str) -> Self {
        let ends = self.raw.ends_with('\n') && !plain.is_empty() && !plain.ends_with('\n');
        match ends {
            true => self.with_format_of(&format!("{plain}\n")),
            false => self.with_format_of(plain),
        }
    }
}

pub(in crate::native) fn is_binary(bytes: &[u8]) -> bool {
    bytes.iter().take(SNIFFED_BYTES).any(|byte| *byte == 0)
}

#[cfg(test)]
mod tests;
