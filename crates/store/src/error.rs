//! Errors of the log, worded so that the reader knows what to do.
//!
//! An error never leaves half a batch behind: whatever is reported here, the log is as it
//! was before the call.

use std::path::PathBuf;

use wire::{Seq, SessionId};

use crate::Damage;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    #[error("there is no session `{0}`")]
    NoSuchSession(SessionId),
    /// The second copy of the heads knows it, and the database does not.
    #[error(
        "session `{session}` and its {} events are missing from the database; restore it from a \
         backup, or delete the session",
        .head.0
    )]
    SessionLost { session: SessionId, head: Seq },
    #[error("session `{0}` exists already")]
    SessionExists(SessionId),
    #[error("session `{session}` is in use by {}", owner(*.pid))]
    InUse { session: SessionId, pid: Option<u32> },
    #[error("`{0}` is not the start of a session id: only a-z and 0-9 occur in one")]
    InvalidPrefix(String),
    #[error("session `{session}` has reached its limit of {max_bytes} bytes")]
    SessionFull { session: SessionId, max_bytes: u64 },
    /// Acknowledged events are gone; appending goes on after `recover`.
    #[error(
        "the log of session `{session}` lost acknowledged events ({}..={}); recover it first",
        .damage.lost_from.0,
        .damage.lost_to.0
    )]
    Damaged { session: SessionId, damage: Damage },
    /// An event is not the one that was written. Everything before `seq` is readable.
    #[error("event {} of session `{session}` does not match its checksum or is missing", .seq.0)]
    Corrupt { session: SessionId, seq: Seq },
    /// `recover` takes the record as it is.
    #[error("the record of session `{session}` does not match its checksum")]
    CorruptRecord { session: SessionId },
    #[error(
        "`{path}` is damaged: {detail}; it was left as it is; `switchyard store repair` saves what can be read"
    )]
    CorruptDatabase { path: PathBuf, detail: String },
    #[error("`{path}` is not an event log: {detail}; it was left as it is")]
    NotALog { path: PathBuf, detail: String },
    #[error(
        "`{path}` has schema version {found}, this program knows up to {known}: use a newer one"
    )]
    NewerSchema { path: PathBuf, found: i64, known: i64 },
    #[error("no space left for `{path}`: free some, the log then goes on by itself")]
    DiskFull { path: PathBuf },
    #[error("cannot {action} `{path}`: too many files are open")]
    TooManyOpenFiles { action: &'static str, path: PathBuf },
    /// Its files cannot be replaced while others have it open.
    #[error("`{path}` is in use by another process")]
    LogInUse { path: PathBuf },
    #[error("`{path}` is there already")]
    FileExists { path: PathBuf },
    #[error("`{path}` needs {} MB more, and {} MB are free", mb(*.needed), *.free >> 20)]
    NoRoom { path: PathBuf, needed: u64, free: u64 },
    #[error("`{path}` is no sound backup: {detail}")]
    DamagedBackup { path: PathBuf, detail: String },
    #[error("`{path}` stayed locked by another process: {detail}")]
    Busy { path: PathBuf, detail: String },
    /// The disk refused a sync. What was committed can be read, but may not survive a
    /// power cut.
    #[error("`{path}` could not be synced to disk: {detail}")]
    SyncFailed { path: PathBuf, detail: String },
    /// What is written goes into files that have no name any more.
    #[error("`{path}` was removed or replaced while it was in use: {saved}")]
    FilesGone { path: PathBuf, saved: String },
    #[error("cannot {action} `{path}`: {detail}")]
    Io { action: &'static str, path: PathBuf, detail: String },
    #[error("the log is shut down")]
    Closed,
}

fn owner(pid: Option<u32>) -> String {
    pid.map_or_else(|| "another process".into(), |pid| format!("process {pid}"))
}

fn mb(bytes: u64) -> u64 {
    bytes.div_ceil(1 << 20)
}

impl StoreError {
    pub(crate) fn io(
        action: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |error| match error.kind() {
            std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => {
                Self::DiskFull { path }
            }
            _ if wire::fault::is_out_of_descriptors(&error) => {
                Self::TooManyOpenFiles { action, path }
            }
            _ => Self::Io { action, path, detail: error.to_string() },
        }
    }

    /// The file that it is about.
    pub(crate) fn path_mut(&mut self) -> Option<&mut PathBuf> {
        match self {
            Self::CorruptDatabase { path, .. }
            | Self::NotALog { path, .. }
            | Self::NewerSchema { path, .. }
            | Self::DiskFull { path }
            | Self::TooManyOpenFiles { path, .. }
            | Self::LogInUse { path }
            | Self::FileExists { path }
            | Self::NoRoom { path, .. }
            | Self::DamagedBackup { path, .. }
            | Self::Busy { path, .. }
            | Self::SyncFailed { path, .. }
            | Self::FilesGone { path, .. }
            | Self::Io { path, .. } => Some(path),
            _ => None,
        }
    }

    /// What can be done about it, where the error itself does not say so.
    pub fn remedy(&self) -> Option<&'static str> {
        match self {
            Self::Corrupt { .. } | Self::CorruptRecord { .. } | Self::Damaged { .. } => Some(
                "what is before the damage can be read; `switchyard daemon stop`, then `switchyard \
                 store repair` keeps that and lets the session go on behind it, or `switchyard store \
                 restore FILE` goes back to a backup",
            ),
            Self::SessionLost { .. } => Some(
                "`switchyard store restore FILE` goes back to a backup that has it; deleting the \
                 session forgets it",
            ),
            Self::DiskFull { .. } => Some("free some space on the disk of Switchyard's log"),
            error if error.is_trouble() => {
                Some("`switchyard daemon status` and `switchyard store check` say more")
            }
            _ => None,
        }
    }

    /// Whether the log as a whole is in trouble, and not one request or one session.
    pub fn is_trouble(&self) -> bool {
        match self {
            Self::CorruptDatabase { .. }
            | Self::NotALog { .. }
            | Self::DiskFull { .. }
            | Self::Busy { .. }
            | Self::SyncFailed { .. }
            | Self::FilesGone { .. }
            | Self::Io { .. } => true,
            Self::NoSuchSession(_)
            | Self::SessionLost { .. }
            | Self::SessionExists(_)
            | Self::InUse { .. }
            | Self::InvalidPrefix(_)
            | Self::SessionFull { .. }
            | Self::Damaged { .. }
            | Self::Corrupt { .. }
            | Self::CorruptRecord { .. }
            | Self::NewerSchema { .. }
            | Self::TooManyOpenFiles { .. }
            | Self::LogInUse { .. }
            | Self::FileExists { .. }
            | Self::NoRoom { .. }
            | Self::DamagedBackup { .. }
            | Self::Closed => false,
        }
    }

    /// A refusal concerns one request and has written nothing.
    pub(crate) fn is_refusal(&self) -> bool {
        matches!(
            self,
            Self::NoSuchSession(_)
                | Self::SessionExists(_)
                | Self::SessionFull { .. }
                | Self::Damaged { .. }
                | Self::Corrupt { .. }
                | Self::CorruptRecord { .. }
        )
    }
}
