//! The input history: earlier prompts, reached with the arrows and kept across runs.
//!
//! The file holds one JSON string a line, the newest last, for its owner alone. A line that
//! cannot be read is skipped.

use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

const PRIVATE: u32 = 0o600;

/// Entries that are kept.
const MAX_ENTRIES: usize = 1000;
/// The longest prompt that is kept; nobody walks to a longer one.
const MAX_ENTRY_BYTES: usize = 64 << 10;
/// The file is written anew when it has grown to this.
const MAX_FILE_BYTES: u64 = 4 << 20;

#[derive(Debug, Default)]
pub(crate) struct History {
    entries: Vec<String>,
    /// The entry that is shown; behind the last one there is the draft.
    at: Option<usize>,
    draft: String,
}

impl History {
    pub(crate) fn new(entries: Vec<String>) -> Self {
        Self { entries, ..Self::default() }
    }

    /// Adds an entry; false if it is not worth keeping.
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

    /// Ends the walk: something else was typed.
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

    /// The entries of the file; none if there is no file of ours there.
    pub(crate) fn read(&self) -> Vec<String> {
        match self.tail() {
            Ok(text) => entries(&text),
            Err(error) => {
                if error.kind() != io::ErrorKind::NotFound {
                    tracing::warn!(%error, path = %self.0.display(), "cannot read what was typed");
                }
                Vec::new()
            }
        }
    }

    /// Several chats append to it, each a line at a time.
    pub(crate) fn append(&self, entry: &str) -> io::Result<()> {
        let mut file = self.open(OpenOptions::new().append(true).create(true))?;
        if file.metadata()?.len() > MAX_FILE_BYTES {
            self.shorten()?;
            file = self.open(OpenOptions::new().append(true).create(true))?;
        }
        file.write_all(line(entry).as_bytes())
    }

    /// The end of the file, as much as is read.
    fn tail(&self) -> io::Result<Vec<u8>> {
        let mut file = self.open(OpenOptions::new().read(true))?;
        let start = file.metadata()?.len().saturating_sub(2 * MAX_FILE_BYTES);
        file.seek(SeekFrom::Start(start))?;
        let mut text = Vec::new();
        file.take(2 * MAX_FILE_BYTES).read_to_end(&mut text)?;
        Ok(text)
    }

    fn shorten(&self) -> io::Result<()> {
        let mut left = MAX_FILE_BYTES / 2;
        let mut kept: Vec<String> = Vec::new();
        for entry in self.read().iter().rev().take(MAX_ENTRIES / 2) {
            let line = line(entry);
            let Some(rest) = left.checked_sub(line.len() as u64) else { break };
            left = rest;
            kept.push(line);
        }
        kept.reverse();
        let new = self.0.with_extension(format!("{}.new", std::process::id()));
        // The leftover of a process that died may have the same name.
        let _ = std::fs::remove_file(&new);
        let mut file = OpenOptions::new().write(true).create_new(true).mode(PRIVATE).open(&new)?;
        file.write_all(kept.concat().as_bytes())?;
        std::fs::rename(new, &self.0)
    }

    /// Opens the file if it is one: a link may lead to anything, a pipe would wait for
    /// whoever is at its other end. It is for its owner alone, also if it was not before:
    /// prompts hold whatever secrets were typed.
    fn open(&self, options: &mut OpenOptions) -> io::Result<File> {
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let flags = i32::try_from(flags.bits()).unwrap_or_default();
        let file = options.mode(PRIVATE).custom_flags(flags).open(&self.0)?;
        let about = file.metadata()?;
        if !about.is_file() {
            return Err(io::Error::other("it is no file"));
        }
        if about.permissions().mode() & 0o077 != 0 {
            file.set_permissions(Permissions::from_mode(PRIVATE))?;
        }
        Ok(file)
    }
}

fn line(entry: &str) -> String {
    format!("{}\n", serde_json::Value::from(entry))
}

fn entries(text: &[u8]) -> Vec<String> {
    let lines = text.split(|byte| *byte == b'\n');
    let all: Vec<String> = lines.filter_map(|line| serde_json::from_slice(line).ok()).collect();
    let n_old = all.len().saturating_sub(MAX_ENTRIES);
    all.into_iter().skip(n_old).collect()
}

#[cfg(test)]
mod tests;
