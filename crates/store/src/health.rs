//! What is wrong with a log just now.
//!
//! In: the outcome of every write, read and sync. Out: a [`LogHealth`] for whoever shows or waits.
//! A log in trouble says so here before anybody asks it for something: its clients hear of their
//! own requests only, and one that just watches makes none.
//!
//! Always true: writes and syncs are well again with the first that succeeds. Reads are not, because
//! a failing disk still gives most pages: a failed read is remembered for a while.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use wire::{Millis, Seq, SessionId};

use crate::{StoreError, mint};

/// A failed read counts for so long: longer than the pause between two looks of any monitoring.
const READ_FAILURE_KEPT: Duration = Duration::from_secs(60);

/// The state of a log as a whole; the default is a log that is well.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LogHealth {
    /// What fails just now, at most one of each kind.
    pub troubles: Vec<LogTrouble>,
    /// Sessions that were found missing when the log was opened, and were not deleted since.
    pub lost: Vec<LostSession>,
}

/// Something that fails since a time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogTrouble {
    pub kind: TroubleKind,
    pub since: Millis,
    /// The last of the errors.
    pub error: StoreError,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TroubleKind {
    /// Files of the log were removed or replaced while it was open.
    Files,
    /// Nothing can be appended.
    Writing,
    /// What is appended does not survive a power cut.
    Syncing,
    /// Something could not be read.
    Reading,
}

/// A session that the second copy of the heads knows and the database does not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LostSession {
    pub id: SessionId,
    pub head: Seq,
}

impl LogHealth {
    /// Whether the log takes what is appended, and keeps it.
    pub fn is_writable(&self) -> bool {
        self.troubles.iter().all(|trouble| trouble.kind == TroubleKind::Reading)
    }
}

impl LogTrouble {
    /// Every name that a trouble can have.
    pub const NAMES: [&'static str; 5] =
        ["disk_full", "files_gone", "write_failed", "sync_failed", "read_failed"];

    /// What is wrong, in a word for programs.
    pub fn name(&self) -> &'static str {
        match (self.kind, &self.error) {
            (_, StoreError::DiskFull { .. }) => "disk_full",
            (TroubleKind::Files, _) => "files_gone",
            (TroubleKind::Writing, _) => "write_failed",
            (TroubleKind::Syncing, _) => "sync_failed",
            (TroubleKind::Reading, _) => "read_failed",
        }
    }
}

impl TroubleKind {
    /// What is wrong, as the beginning of a sentence.
    pub fn words(self) -> &'static str {
        match self {
            Self::Files => "files of the log are gone",
            Self::Writing => "the log cannot be written",
            Self::Syncing => "the log cannot be made safe against a power cut",
            Self::Reading => "the log could not be read",
        }
    }
}

/// The troubles of one log, noted by whoever meets them.
#[derive(Debug, Default)]
pub(crate) struct HealthNotes {
    troubles: Mutex<BTreeMap<TroubleKind, NotedTrouble>>,
    /// Whether there is any, so that a success costs nothing while there is none.
    has_any: AtomicBool,
}

#[derive(Debug)]
struct NotedTrouble {
    trouble: LogTrouble,
    last_failed: Instant,
}

impl HealthNotes {
    /// Notes how something went; refusals and what concerns one session alone are no trouble.
    pub(crate) fn note<T>(&self, kind: TroubleKind, outcome: &Result<T, StoreError>) {
        match outcome {
            Ok(_) if kind != TroubleKind::Reading => self.clear(kind),
            Err(error) => self.fail(kind, error.clone()),
            Ok(_) => {}
        }
    }

    pub(crate) fn fail(&self, kind: TroubleKind, error: StoreError) {
        if !error.is_trouble() {
            return;
        }
        let kind = if let StoreError::FilesGone { .. } = error { TroubleKind::Files } else { kind };
        let now = Instant::now();
        let mut troubles = self.lock();
        if let Some(noted) = troubles.get_mut(&kind) {
            (noted.trouble.error, noted.last_failed) = (error, now);
            return;
        }
        tracing::error!(%error, "{}", kind.words());
        let trouble = LogTrouble { kind, since: mint::now(), error };
        troubles.insert(kind, NotedTrouble { trouble, last_failed: now });
        self.has_any.store(true, Ordering::Release);
    }

    pub(crate) fn has_any(&self) -> bool {
        self.has_any.load(Ordering::Acquire)
    }

    pub(crate) fn clear(&self, kind: TroubleKind) {
        if !self.has_any() {
            return;
        }
        let mut troubles = self.lock();
        if troubles.remove(&kind).is_some() {
            tracing::warn!("no longer: {}", kind.words());
        }
        self.has_any.store(!troubles.is_empty(), Ordering::Release);
    }

    pub(crate) fn troubles(&self) -> Vec<LogTrouble> {
        if !self.has_any() {
            return Vec::new();
        }
        let mut troubles = self.lock();
        let is_current = |kind: TroubleKind, noted: &NotedTrouble| {
            kind != TroubleKind::Reading || noted.last_failed.elapsed() < READ_FAILURE_KEPT
        };
        troubles.retain(|kind, noted| is_current(*kind, noted));
        self.has_any.store(!troubles.is_empty(), Ordering::Release);
        troubles.values().map(|noted| noted.trouble.clone()).collect()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<TroubleKind, NotedTrouble>> {
        // Nothing panics under this lock, and the table is consistent at every step.
        self.troubles.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
