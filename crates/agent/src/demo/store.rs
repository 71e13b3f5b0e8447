//! Sessions on disk, one JSON file each.
//!
//! In: records. Out: the same records, in this process or a later one.
//! A file is replaced as a whole, so a reader never sees half a record. An id that could leave
//! the directory names no session. Without a directory nothing is kept.

use super::session::Record;
use std::io;
use std::path::{Path, PathBuf};

// Longer than any id we make, shorter than any file system's limit.
const MAX_ID_BYTES: usize = 128;

pub(super) struct Store {
    directory: Option<PathBuf>,
}

impl Store {
    pub(super) fn new(directory: Option<PathBuf>) -> Self {
        Self { directory }
    }

    pub(super) async fn save(&self, record: &Record) -> io::Result<()> {
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

    /// Nothing, also for a file that cannot be read as a record: such a session is lost.
    pub(super) async fn load(&self, id: &str) -> Option<Record> {
        read(&self.path(id)?).await
    }

    pub(super) async fn remove(&self, id: &str) -> io::Result<()> {
        let Some(path) = self.path(id) else { return Ok(()) };
        match tokio::fs::remove_file(path).await {
            Err(problem) if problem.kind() != io::ErrorKind::NotFound => Err(problem),
            _ => Ok(()),
        }
    }

    pub(super) async fn list(&self) -> Vec<Record> {
        let mut records = Vec::new();
        let Some(directory) = &self.directory else { return records };
        let Ok(mut entries) = tokio::fs::read_dir(directory).await else { return records };
        while let Ok(Some(entry)) = entries.next_entry().await {
            let path = entry.path();
            if path.extension().is_some_and(|extension| extension == "json") {
                records.extend(read(&path).await);
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

async fn read(path: &Path) -> Option<Record> {
    let text = tokio::fs::read(path).await.ok()?;
    serde_json::from_slice(&text).ok()
}

#[cfg(test)]
mod tests;
