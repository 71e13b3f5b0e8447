//! What was typed before: walked through with the arrows, kept across runs.
//!
//! The file holds one JSON string a line, the newest last, for its owner alone. A line that
//! cannot be read is skipped.

use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

/// Entries that are kept.
const MAX_ENTRIES: usize = 1000;
/// A prompt that is longer is not worth walking to.
const MAX_ENTRY_BYTES: usize = 64 << 10;
/// The file is written anew when it has grown to this.
const MAX_FILE_BYTES: u64 = 4 << 20;

#[derive(Debug, Default)]
pub(crate) struct History {
    entries: Vec<String>,
    /// Where the walk is; behind the last entry there is the draft.
    at: Option<usize>,
    draft: String,
}

impl History {
    pub(crate) fn new(mut entries: Vec<String>) -> Self {
        let n_old = entries.len().saturating_sub(MAX_ENTRIES);
        entries.drain(..n_old);
        Self { entries, at: None, draft: String::new() }
    }

    /// Whether it was worth remembering.
    pub(crate) fn add(&mut self, text: &str) -> bool {
        self.at = None;
        if text.trim().is_empty()
            || text.len() > MAX_ENTRY_BYTES
            || self.entries.last().is_some_and(|last| last == text)
        {
            return false;
        }
        self.entries.push(text.to_owned());
        if self.entries.len() > MAX_ENTRIES {
            self.entries.remove(0);
        }
        true
    }

    /// The entry before; `draft` is what stands in the editor now.
    pub(crate) fn older(&mut self, draft: &str) -> Option<&str> {
        let at = match self.at {
            None => {
                draft.clone_into(&mut self.draft);
                self.entries.len()
            }
            Some(at) => at,
        };
        let at = at.checked_sub(1)?;
        self.at = Some(at);
        self.entries.get(at).map(String::as_str)
    }

    pub(crate) fn newer(&mut self) -> Option<&str> {
        let at = self.at? + 1;
        match self.entries.get(at) {
            Some(entry) => {
                self.at = Some(at);
                Some(entry)
            }
            None => {
                self.at = None;
                Some(&self.draft)
            }
        }
    }

    /// Something else was typed.
    pub(crate) fn stop(&mut self) {
        self.at = None;
    }
}

/// The file in which it is kept.
#[derive(Debug, Clone)]
pub(crate) struct HistoryFile(PathBuf);

impl HistoryFile {
    pub(crate) fn at(path: &Path) -> Self {
        Self(path.to_owned())
    }

    pub(crate) fn read(&self) -> Vec<String> {
        let text = std::fs::read(&self.0).unwrap_or_default();
        let lines = text.split(|byte| *byte == b'\n');
        let entries: Vec<String> =
            lines.filter_map(|line| serde_json::from_slice(line).ok()).collect();
        let n_old = entries.len().saturating_sub(MAX_ENTRIES);
        entries.into_iter().skip(n_old).collect()
    }

    /// Several chats append to it, each a line at a time.
    pub(crate) fn append(&self, entry: &str) -> io::Result<()> {
        if std::fs::metadata(&self.0).is_ok_and(|about| about.len() > MAX_FILE_BYTES) {
            self.shorten()?;
        }
        let mut file = private().append(true).open(&self.0)?;
        file.write_all(format!("{}\n", serde_json::Value::from(entry)).as_bytes())
    }

    fn shorten(&self) -> io::Result<()> {
        let lines: Vec<String> = self
            .read()
            .iter()
            .rev()
            .take(MAX_ENTRIES / 2)
            .rev()
            .map(|entry| format!("{}\n", serde_json::Value::from(entry.as_str())))
            .collect();
        let new = self.0.with_extension(format!("{}.new", std::process::id()));
        let mut file = private().write(true).truncate(true).open(&new)?;
        file.write_all(lines.concat().as_bytes())?;
        std::fs::rename(new, &self.0)
    }
}

/// For us alone: prompts hold whatever secrets were typed.
fn private() -> std::fs::OpenOptions {
    let mut options = std::fs::OpenOptions::new();
    options.create(true).mode(0o600);
    options
}

#[cfg(test)]
mod tests;
