//! Writes output to stdout, or to a file.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufWriter, IsTerminal as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use anyhow::Context as _;

use crate::outcome::Failure;

/// Writes to stdout and flushes. A reader that is slow may block this; call it where that
/// is fine.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    if text.is_empty() {
        return Ok(());
    }
    let mut stdout = std::io::stdout().lock();
    let text = match stdout.is_terminal() {
        true => for_a_terminal(text),
        false => Cow::Borrowed(text),
    };
    let written = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
    written.map_err(|error| Failure::of_stdout(&error))
}

/// Escapes, as JSON can, the characters that JSON leaves as they are and that would mislead a
/// terminal or its reader. In text for people there are none of them any more.
fn for_a_terminal(text: &str) -> Cow<'_, str> {
    let is_led_by = |c: char| c >= '\u{7f}' && wire::text::is_hidden(c);
    if !text.contains(is_led_by) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 16);
    for (c, hides) in wire::text::with_hidden(None, text) {
        match hides && is_led_by(c) {
            true => escape_in_json(c, &mut safe),
            false => safe.push(c),
        }
    }
    Cow::Owned(safe)
}

/// Appends a character as JSON's `\u` escape.
pub(crate) fn escape_in_json(c: char, out: &mut String) {
    for unit in c.encode_utf16(&mut [0; 2]) {
        // Writing to a String cannot fail.
        let _ = write!(out, "\\u{unit:04x}");
    }
}

/// The target of an export: stdout, or a file for our user alone, because a log holds whatever
/// secrets were said or read.
pub(crate) struct OutputTarget<'a>(Option<(&'a Path, BufWriter<File>)>);

impl<'a> OutputTarget<'a> {
    pub(crate) fn open(path: Option<&'a Path>) -> Result<Self, Failure> {
        let Some(path) = path else { return Ok(Self(None)) };
        let mut options = File::options();
        let file = options.write(true).create(true).truncate(true).mode(0o600).open(path);
        Ok(Self(Some((path, BufWriter::new(file.with_context(|| cannot_write(path))?)))))
    }

    pub(crate) fn path(&self) -> Option<std::path::Display<'_>> {
        self.0.as_ref().map(|(path, _)| path.display())
    }

    pub(crate) fn write(&mut self, text: &str) -> Result<(), Failure> {
        let Some((path, file)) = &mut self.0 else { return print(text) };
        Ok(file.write_all(text.as_bytes()).with_context(|| cannot_write(path))?)
    }

    pub(crate) fn finish(self) -> Result<(), Failure> {
        let Some((path, mut file)) = self.0 else { return Ok(()) };
        let written = file.flush().and_then(|()| file.get_ref().sync_all());
        Ok(written.with_context(|| cannot_write(path))?)
    }
}

fn cannot_write(path: &Path) -> String {
    format!("cannot write {}", path.display())
}

#[cfg(test)]
mod tests {
    //! JSON on a terminal moves nothing, and says the same.

    use super::for_a_terminal;

    #[test]
    fn json_is_the_same_and_hides_nothing() {
        let said = "a\u{9b}31m\u{7f}\u{202e}b\u{e0041}\u{200d}c\n\u{1b}[0m";
        let json = serde_json::to_string(said).unwrap();
        let shown = for_a_terminal(&json);
        assert!(!shown.contains(['\u{9b}', '\u{7f}', '\u{202e}', '\u{e0041}', '\u{1b}']));
        assert_eq!(serde_json::from_str::<String>(&shown).unwrap(), said);
        let emoji = "\"❤\u{fe0f} a\u{fe0f}\"";
        assert_eq!(for_a_terminal(emoji), "\"❤\u{fe0f} a\\ufe0f\"");
        assert_eq!(for_a_terminal("\u{1b}[1mbold\u{1b}[0m\n"), "\u{1b}[1mbold\u{1b}[0m\n");
    }
}
