//! One session: what it remembers, and the turn that runs in it.
//!
//! In: prompts and the updates that were sent. Out: what is replayed and recalled, and what of it is
//! to be written to the session's file, so that a later process has it, too. There is at most one
//! turn at a time. What is remembered has a limit in entries and in bytes: the oldest entries go
//! first. A turn appends lines to the file; it is written as a whole when its first line changes, or
//! when most of it is forgotten, so that a turn costs the same however many came before.

mod bounded_lines;
pub(super) mod record_store;

use super::settings::DemoSettings;
use bounded_lines::BoundedLines;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::watch;

// Titles are read for every list.
const MAX_TITLE_CHARS: usize = 200;
// The part of the first prompt that is the title of a session which has none.
const PROMPT_TITLE_CHARS: usize = 60;

// What waits to be appended at the end of a turn. Beyond, the whole file is written, whose size is
// bounded by what is remembered.
const MAX_UNSAVED_BYTES: usize = 1024 * 1024;

// What a file may have of forgotten entries, even if it remembers less: a resume reads it quickly,
// and a whole file is rarely written.
const MAX_FORGOTTEN_BYTES: usize = 256 * 1024;

/// The first line of a session's file: what a list shows, and what is chosen.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RecordHead {
    pub(super) session_id: String,
    pub(super) cwd: String,
    #[serde(default)]
    pub(super) title: Option<String>,
    #[serde(default)]
    pub(super) settings: DemoSettings,
}

/// Each further line of the file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum MemoryLine {
    /// The text of a prompt.
    Prompt(String),
    /// What the user asked to `remember`.
    Note(String),
    /// The `update` object of a `session/update` to replay.
    Update(Value),
}

/// What a session's file needs so that it says what the record does.
#[derive(Debug)]
pub(super) enum UnsavedPart {
    Lines(String),
    WholeFile(String),
}

/// The record of a session, which survives the process.
#[derive(Debug)]
pub(super) struct DemoRecord {
    pub(super) updated_at: Timestamp,
    head: RecordHead,
    prompts: BoundedLines,
    notes: BoundedLines,
    updates: BoundedLines,
    /// Lines that are not in the file yet, if nothing but lines is missing there.
    unsaved: String,
    is_appendable: bool,
    n_file_bytes: usize,
}

pub(super) struct DemoSession {
    pub(super) record: DemoRecord,
    /// A closed session is remembered and refuses prompts until it is loaded or resumed.
    pub(super) is_open: bool,
    /// Set to true to cancel the running turn.
    pub(super) turn: Option<watch::Sender<bool>>,
}

impl DemoRecord {
    pub(super) fn new(session_id: String, cwd: String) -> Self {
        Self::with_head(RecordHead { session_id, cwd, ..RecordHead::default() })
    }

    /// The record in the text of a file. A line that cannot be read, such as one that a crash cut
    /// off, is forgotten.
    fn from_text(text: &str) -> Option<Self> {
        let (head, lines) = text.split_once('\n')?;
        let mut record = Self::with_head(serde_json::from_str(head).ok()?);
        // What is appended to half a line could not be read either.
        let mut is_whole = lines.is_empty() || lines.ends_with('\n');
        for line in lines.lines() {
            match serde_json::from_str(line) {
                Ok(entry) => record.list_of(&entry).push(line.to_owned()),
                Err(_) => is_whole = false,
            }
        }
        record.is_appendable = is_whole;
        record.n_file_bytes = text.len();
        Some(record)
    }

    fn with_head(head: RecordHead) -> Self {
        Self {
            updated_at: Timestamp::now(),
            head,
            prompts: BoundedLines::default(),
            notes: BoundedLines::default(),
            updates: BoundedLines::default(),
            unsaved: String::new(),
            is_appendable: false,
            n_file_bytes: 0,
        }
    }

    pub(super) fn head(&self) -> &RecordHead {
        &self.head
    }

    pub(super) fn set_cwd(&mut self, cwd: String) {
        if self.head.cwd != cwd {
            self.change_head().cwd = cwd;
        }
    }

    pub(super) fn set_title(&mut self, title: &str) {
        self.change_head().title = Some(title.chars().take(MAX_TITLE_CHARS).collect());
    }

    pub(super) fn settings_mut(&mut self) -> &mut DemoSettings {
        &mut self.change_head().settings
    }

    fn change_head(&mut self) -> &mut RecordHead {
        self.is_appendable = false;
        &mut self.head
    }

    pub(super) fn remember_prompt(&mut self, text: String) {
        self.updated_at = Timestamp::now();
        if self.head.title.is_none()
            && let Some(line) = text.lines().next()
        {
            self.set_title(&line.chars().take(PROMPT_TITLE_CHARS).collect::<String>());
        }
        self.remember(&MemoryLine::Prompt(text));
    }

    pub(super) fn remember_note(&mut self, note: String) {
        self.remember(&MemoryLine::Note(note));
    }

    pub(super) fn remember_update(&mut self, update: Value) {
        self.remember(&MemoryLine::Update(update));
    }

    fn remember(&mut self, entry: &MemoryLine) {
        let Ok(line) = serde_json::to_string(entry) else { return };
        if self.unsaved.len() + line.len() > MAX_UNSAVED_BYTES {
            self.is_appendable = false;
        }
        if self.is_appendable {
            self.unsaved.push_str(&line);
            self.unsaved.push('\n');
        } else {
            self.unsaved = String::new();
        }
        self.list_of(entry).push(line);
    }

    fn list_of(&mut self, entry: &MemoryLine) -> &mut BoundedLines {
        match entry {
            MemoryLine::Prompt(_) => &mut self.prompts,
            MemoryLine::Note(_) => &mut self.notes,
            MemoryLine::Update(_) => &mut self.updates,
        }
    }

    /// The texts of the user's prompts, the oldest first.
    pub(super) fn prompts(&self) -> Vec<String> {
        texts(&self.prompts)
    }

    pub(super) fn notes(&self) -> Vec<String> {
        texts(&self.notes)
    }

    /// The `update` objects to replay.
    pub(super) fn updates(&self) -> Vec<Value> {
        let update = |entry| match entry {
            MemoryLine::Update(update) => Some(update),
            _ => None,
        };
        entries(&self.updates).filter_map(update).collect()
    }

    /// What is to be written to the file; it counts as written until [`not_saved`](Self::not_saved)
    /// says otherwise.
    pub(super) fn take_unsaved(&mut self) -> UnsavedPart {
        let lines = std::mem::take(&mut self.unsaved);
        let n_file_bytes = self.n_file_bytes + lines.len();
        let lists = [&self.prompts, &self.notes, &self.updates];
        let n_remembered: usize = lists.iter().map(|list| list.n_bytes()).sum();
        let n_forgotten = n_file_bytes.saturating_sub(n_remembered);
        if self.is_appendable && n_forgotten <= n_remembered.max(MAX_FORGOTTEN_BYTES) {
            self.n_file_bytes = n_file_bytes;
            return UnsavedPart::Lines(lines);
        }
        let mut text = serde_json::to_string(&self.head).unwrap_or_default();
        text.push('\n');
        for line in lists.into_iter().flat_map(BoundedLines::iter) {
            text.push_str(line);
            text.push('\n');
        }
        self.is_appendable = true;
        self.n_file_bytes = text.len();
        UnsavedPart::WholeFile(text)
    }

    /// What was to be written was not, or only a part of it.
    pub(super) fn not_saved(&mut self) {
        self.is_appendable = false;
        self.unsaved = String::new();
    }
}

fn entries(lines: &BoundedLines) -> impl Iterator<Item = MemoryLine> {
    lines.iter().filter_map(|line| serde_json::from_str(line).ok())
}

fn texts(lines: &BoundedLines) -> Vec<String> {
    let text = |entry| match entry {
        MemoryLine::Prompt(text) | MemoryLine::Note(text) => Some(text),
        MemoryLine::Update(_) => None,
    };
    entries(lines).filter_map(text).collect()
}

impl DemoSession {
    pub(super) fn open(record: DemoRecord) -> Self {
        Self { record, is_open: true, turn: None }
    }

    pub(super) fn close(&mut self) {
        self.cancel();
        self.is_open = false;
    }

    pub(super) fn cancel(&self) {
        if let Some(turn) = &self.turn {
            turn.send_replace(true);
        }
    }
}

#[cfg(test)]
mod tests;
