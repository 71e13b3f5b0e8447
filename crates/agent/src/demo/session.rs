//! One session: its record, in memory and on disk, and the turn that runs in it.
//!
//! In: prompts and the updates that were sent. Out: the memory that is replayed, in this process or
//! a later one. There is at most one turn at a time, and the memory has a limit: the oldest entries
//! go first. On disk a session is one JSON file, which is replaced as a whole, so that a reader
//! never sees half a record. An id that could leave the directory names no session there.

use super::settings::DemoSettings;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::VecDeque;
use std::io;
use std::path::{Path, PathBuf};
use tokio::sync::watch;

// Updates and prompts kept per session: enough for any test. Floods are not recorded at all.
const MAX_HISTORY: usize = 4096;

// Longer than any id we make, shorter than any file system's limit.
const MAX_ID_BYTES: usize = 128;

/// The record of a session, which survives the process.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct DemoRecord {
    pub(super) session_id: String,
    pub(super) cwd: String,
    #[serde(default)]
    pub(super) title: Option<String>,
    pub(super) updated_at: String,
    #[serde(default)]
    pub(super) settings: DemoSettings,
    /// Notes that the user asked to `remember`.
    #[serde(default)]
    pub(super) notes: Vec<String>,
    /// The texts of the user's prompts.
    #[serde(default)]
    pub(super) prompts: VecDeque<String>,
    /// The `update` objects to replay, the user's messages among them.
    #[serde(default)]
    pub(super) history: VecDeque<Value>,
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
        Self { session_id, cwd, updated_at: now(), ..Self::default() }
    }

    pub(super) fn remember_prompt(&mut self, text: String) {
        self.updated_at = now();
        if self.title.is_none() {
            self.title = text.lines().next().map(|line| line.chars().take(60).collect());
        }
        push_bounded(&mut self.prompts, text);
    }

    pub(super) fn remember_update(&mut self, update: Value) {
        push_bounded(&mut self.history, update);
    }
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

pub(super) fn now() -> String {
    jiff::Timestamp::now().to_string()
}

fn push_bounded<T>(queue: &mut VecDeque<T>, entry: T) {
    if queue.len() >= MAX_HISTORY {
        queue.pop_front();
    }
    queue.push_back(entry);
}

/// Sessions on disk; without a directory nothing is kept.
pub(super) struct RecordStore {
    directory: Option<PathBuf>,
}

impl RecordStore {
    pub(super) fn new(directory: Option<PathBuf>) -> Self {
        Self { directory }
    }

    pub(super) async fn save(&self, record: &DemoRecord) -> io::Result<()> {
        let Some(path) = self.path(&record.session_id) else { return Ok(()) };
        if let Some(directory) = path.parent() {
            tokio::fs::create_dir_all(directory).await?;
        }
        let text = serde_json::to_vec_pretty(record)?;
        // The process id keeps two agents on one directory from writing the same draft.
        let draft = path.with_extension(format!("{}.draft", std::process::id()));
        tokio::fs::write(&draft, text).await?;
        tokio::fs::rename(&draft, &path).await
    }

    /// The record of a session; none, also if its file cannot be read as a record: such a session
    /// is lost.
    pub(super) async fn load(&self, id: &str) -> Option<DemoRecord> {
        read_record(&self.path(id)?).await
    }

    pub(super) async fn remove(&self, id: &str) -> io::Result<()> {
        let Some(path) = self.path(id) else { return Ok(()) };
        match tokio::fs::remove_file(path).await {
            Err(problem) if problem.kind() != io::ErrorKind::NotFound => Err(problem),
            _ => Ok(()),
        }
    }

    pub(super) async fn list(&self) -> Vec<DemoRecord> {
        let mut records = Vec::new();
        let Some(directory) = &self.directory else { return records };
        let Ok(mut entries) = tokio::fs::read_dir(directory).await else { return records };
        while let Ok(Some(entry)) = entries.next_entry().await {
            let path = entry.path();
            if path.extension().is_some_and(|extension| extension == "json") {
                records.extend(read_record(&path).await);
            }
        }
        records
    }

    fn path(&self, id: &str) -> Option<PathBuf> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        let is_safe = !id.is_empty() && id.len() <= MAX_ID_BYTES && id.bytes().all(is_plain);
        self.directory.as_ref().filter(|_| is_safe).map(|it| it.join(format!("{id}.json")))
    }
}

async fn read_record(path: &Path) -> Option<DemoRecord> {
    let text = tokio::fs::read(path).await.ok()?;
    serde_json::from_slice(&text).ok()
}

#[cfg(test)]
mod tests;
