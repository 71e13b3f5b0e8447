//! Attachments: files that clients upload to a session.
//!
//! In: names and bytes from clients. Out: files below `SESSIONS/<id>/attachments`, found again by
//! ids that are made here. A file is there as a whole or not at all: it counts once its metadata
//! note is written.
//!
//! Always true: no path comes from a client. What is opened is one name below a directory
//! handle that cannot be left, and a link planted there is not followed. A session's files
//! never weigh more than [`MAX_SESSION_BYTES`].

mod name;
mod storage;
mod upload;

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cap_std::fs::Dir;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sessions::fair_limiter::FairLimiter;
use utoipa::ToSchema;
use wire::uri::file_uri;
use wire::{CallId, SessionId};

use crate::locking::Locking as _;
use crate::problem::{Problem, kinds};
pub(crate) use name::{mime_type, on_disk as name_on_disk, shown as shown_name};
pub(crate) use upload::Upload;

/// Prompts whose attachments are in memory at a time.
const MAX_IN_MEMORY: usize = 2;

pub(crate) const MAX_FILE_BYTES: u64 = 32 << 20;
pub(crate) const MAX_SESSION_BYTES: u64 = 256 << 20;
/// Bytes at the start of a file by which its type is detected.
pub(crate) const N_SNIFFED_BYTES: usize = 512;
/// Files of one session: listing them takes one read each.
const MAX_FILES: usize = 1000;

/// A file that belongs to a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Attachment {
    #[schema(value_type = String)]
    pub(crate) id: CallId,
    /// As the client named it, without directories and control characters.
    pub(crate) name: String,
    /// Detected by its bytes, or else by its name; `application/octet-stream` if unknown.
    pub(crate) mime_type: String,
    pub(crate) size: u64,
    /// Milliseconds since 1970.
    pub(crate) created: i64,
    /// Name of the token that uploaded it.
    pub(crate) by: String,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum AttachmentError {
    #[error("there is no attachment `{0}`")]
    NoSuchFile(String),
    #[error("the session was deleted while the file came")]
    SessionGone,
    #[error("{0}")]
    BadName(&'static str),
    #[error("a file has at most {MAX_FILE_BYTES} bytes")]
    TooLarge,
    #[error("the files of a session have at most {MAX_SESSION_BYTES} bytes and are {MAX_FILES}")]
    Full,
    #[error("cannot {action}: {error}")]
    Io { action: &'static str, error: io::Error },
}

impl AttachmentError {
    fn io(action: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |error| Self::Io { action, error }
    }
}

impl From<AttachmentError> for Problem {
    fn from(error: AttachmentError) -> Self {
        let detail = error.to_string();
        match error {
            AttachmentError::NoSuchFile(_) | AttachmentError::SessionGone => {
                Self::not_found(detail)
            }
            AttachmentError::BadName(_) => Self::bad_request(detail),
            AttachmentError::TooLarge => Self::of(kinds::FILE_TOO_LARGE).detail(detail),
            AttachmentError::Full => Self::of(kinds::ATTACHMENTS_FULL)
                .detail(detail)
                .remedy("delete some of its attachments"),
            AttachmentError::Io { error, .. } => Self::of_file(error.kind(), detail),
        }
    }
}

/// The files of all sessions.
#[derive(Debug, Clone)]
pub(crate) struct Attachments {
    root: PathBuf,
    /// Bytes reserved for the uploads under way.
    reserved: Arc<Mutex<HashMap<SessionId, u64>>>,
    /// Permits of prompts whose attachments are in memory.
    pub(crate) in_memory: Arc<FairLimiter>,
}

impl Attachments {
    pub(crate) fn below(root: PathBuf) -> Self {
        Self {
            root,
            reserved: Arc::default(),
            in_memory: Arc::new(FairLimiter::new(MAX_IN_MEMORY)),
        }
    }

    /// Begins an upload of `n_bytes`, if so many are announced.
    pub(crate) async fn begin(
        &self,
        session: SessionId,
        name: &str,
        by: &str,
        n_bytes: Option<u64>,
    ) -> Result<Upload, AttachmentError> {
        let name = name::shown(name)?;
        if n_bytes.is_some_and(|n_bytes| n_bytes > MAX_FILE_BYTES) {
            return Err(AttachmentError::TooLarge);
        }
        let room = self.reserve(session, n_bytes.unwrap_or(MAX_FILE_BYTES)).await?;
        let (files, by) = (self.clone(), by.to_owned());
        blocking(move || {
            let dir = storage::make(&files.root, session)?;
            Upload::begin(dir, room, name, by)
        })
        .await
    }

    async fn reserve(
        &self,
        session: SessionId,
        n_bytes: u64,
    ) -> Result<AttachmentRoom, AttachmentError> {
        let all = self.list(session).await?;
        let used: u64 = all.iter().map(|attachment| attachment.size).sum();
        let mut reserved = self.reserved.locked();
        let mine = reserved.get(&session).copied().unwrap_or_default();
        if all.len() >= MAX_FILES || used + mine + n_bytes > MAX_SESSION_BYTES {
            return Err(AttachmentError::Full);
        }
        reserved.insert(session, mine + n_bytes);
        Ok(AttachmentRoom { session, n_bytes, reserved: self.reserved.clone() })
    }

    /// The files of a session, the oldest first.
    pub(crate) async fn list(
        &self,
        session: SessionId,
    ) -> Result<Vec<Attachment>, AttachmentError> {
        let root = self.root.clone();
        blocking(move || match storage::open(&root, session)? {
            Some(dir) => storage::notes(&dir),
            None => Ok(Vec::new()),
        })
        .await
    }

    /// One file, opened.
    pub(crate) async fn open(
        &self,
        session: SessionId,
        id: &str,
    ) -> Result<(Attachment, std::fs::File), AttachmentError> {
        let (root, id) = (self.root.clone(), parse(id)?);
        blocking(move || {
            let (dir, note) = storage::find(&root, session, id)?;
            let file = storage::file(&dir, id, &note.name)?;
            Ok((note, file.ok_or_else(|| AttachmentError::NoSuchFile(id.to_string()))?))
        })
        .await
    }

    /// The directory of a session's files and its path, if there is one. Waits for the disk.
    pub(crate) fn dir(&self, session: SessionId) -> Option<(Dir, PathBuf)> {
        let dir = storage::open(&self.root, session).ok()??;
        Some((dir, storage::path(&self.root, session)))
    }

    /// The path by which an agent finds the file.
    pub(crate) fn path(&self, session: SessionId, attachment: &Attachment) -> PathBuf {
        let dir = storage::path(&self.root, session);
        dir.join(attachment.id.as_str()).join(name::on_disk(&attachment.name))
    }

    pub(crate) async fn remove(&self, session: SessionId, id: &str) -> Result<(), AttachmentError> {
        let (root, id) = (self.root.clone(), parse(id)?);
        blocking(move || {
            let (dir, note) = storage::find(&root, session, id)?;
            storage::remove(&dir, id, &note.name).map_err(AttachmentError::io("remove the file"))
        })
        .await
    }

    /// Removes all files of a session.
    pub(crate) async fn remove_all(&self, session: SessionId) -> Result<(), AttachmentError> {
        let root = self.root.clone();
        blocking(move || storage::remove_all(&root, session)).await
    }

    /// The sessions that have a directory here.
    pub(crate) async fn sessions(&self) -> Result<Vec<SessionId>, AttachmentError> {
        let root = self.root.clone();
        blocking(move || storage::sessions(&root)).await
    }
}

/// Bytes reserved for an upload, released when it has ended.
#[derive(Debug)]
pub(crate) struct AttachmentRoom {
    session: SessionId,
    n_bytes: u64,
    reserved: Arc<Mutex<HashMap<SessionId, u64>>>,
}

impl Drop for AttachmentRoom {
    fn drop(&mut self) {
        let mut reserved = self.reserved.locked();
        if let Some(n_bytes) = reserved.get_mut(&self.session) {
            *n_bytes = n_bytes.saturating_sub(self.n_bytes);
            if *n_bytes == 0 {
                reserved.remove(&self.session);
            }
        }
    }
}

/// An image as ACP's content block.
pub(crate) fn image_block(bytes: &[u8], mime_type: &str, path: &Path) -> Value {
    json!({
        "type": "image", "data": STANDARD.encode(bytes),
        "mimeType": mime_type, "uri": file_uri(path),
    })
}

fn parse(id: &str) -> Result<CallId, AttachmentError> {
    let missing = || AttachmentError::NoSuchFile(crate::problem::shown(id));
    CallId::parse(id).map_err(|_| missing())
}

async fn blocking<T: Send + 'static>(
    action: impl FnOnce() -> Result<T, AttachmentError> + Send + 'static,
) -> Result<T, AttachmentError> {
    let done = tokio::task::spawn_blocking(action).await;
    done.map_err(|error| AttachmentError::io("go on")(io::Error::other(error)))?
}

#[cfg(test)]
mod tests;
