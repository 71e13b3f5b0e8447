//! Snapshots of vocabularies, from which a reader goes on in the middle of a log.
//!
//! The frames of a vocabulary depend on all events before. So that neither a page of a long
//! transcript nor a reader that comes back has the log read from its first event, states are kept
//! at intervals beside the session's other files. Readers keep them as they pass, and
//! [`snapshot_builder`](super::snapshot_builder) where nobody does.
//!
//! Always true: a snapshot that is missing, damaged or of another version costs time and nothing
//! else; all of them can be removed at any moment.

mod storage;

use std::path::PathBuf;
use std::sync::Arc;

use projection::Vocabulary;
use store::EventLog;
use wire::{Seq, SessionId};

use crate::dir_handles::blocking;

/// Events between two snapshots of a log. So many are read in some ten milliseconds.
pub(super) const SPACING: u64 = 4096;
/// A state of so many bytes is kept every [`SPACING`] events, one that is larger as much more
/// rarely: the snapshots of a log take a small part of what the log does.
const BYTES_FOR_SPACING: usize = 128 << 10;
/// A state that is larger is not kept at all.
const MAX_BYTES: usize = 1 << 20;

/// A vocabulary that remembers events, and of which there are snapshots.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SnapshotFormat {
    Acp,
    Ui,
    Envelopes,
    Conversation,
}

impl SnapshotFormat {
    pub(crate) const ALL: [Self; 4] = [Self::Acp, Self::Ui, Self::Envelopes, Self::Conversation];

    /// As it is before the first event.
    pub(crate) fn vocabulary(self, session: SessionId) -> Vocabulary {
        match self {
            Self::Acp => Vocabulary::acp(session.to_string()),
            Self::Ui => Vocabulary::ui(),
            Self::Envelopes => Vocabulary::envelopes(session.to_string()),
            Self::Conversation => Vocabulary::conversation(),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Acp => "acp",
            Self::Ui => "ui",
            Self::Envelopes => "envelopes",
            Self::Conversation => "conversation",
        }
    }
}

/// A log in one vocabulary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SnapshotKey {
    pub(crate) session: SessionId,
    pub(crate) epoch: u64,
    pub(crate) format: SnapshotFormat,
}

/// The snapshots of all sessions.
#[derive(Clone)]
pub(crate) struct VocabularySnapshots {
    log: Arc<dyn EventLog>,
    /// The sessions' own directories.
    sessions: PathBuf,
}

impl std::fmt::Debug for VocabularySnapshots {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("VocabularySnapshots").field("in", &self.sessions).finish_non_exhaustive()
    }
}

impl VocabularySnapshots {
    pub(crate) fn below(sessions: PathBuf, log: Arc<dyn EventLog>) -> Self {
        Self { log, sessions }
    }

    /// The vocabulary as it was after the last snapshot that is not after `seq`, and the event that
    /// it had read to; as it is before the first event, if there is none.
    pub(crate) async fn before(&self, log: SnapshotKey, seq: Seq) -> (Seq, Vocabulary) {
        let fresh = (Seq(0), log.format.vocabulary(log.session));
        if seq.0 < SPACING {
            return fresh;
        }
        let sessions = self.sessions.clone();
        let found = blocking(move || Ok(storage::load(&sessions, log, seq))).await;
        found.ok().flatten().unwrap_or(fresh)
    }

    /// Keeps a vocabulary that has just read the event `seq`, if one is to be kept there. Nobody
    /// waits for that.
    pub(crate) fn keep(&self, log: SnapshotKey, seq: Seq, vocabulary: &Vocabulary) {
        if !seq.0.is_multiple_of(SPACING) || storage::is_kept(&self.sessions, log, seq) {
            return;
        }
        let Some(state) = vocabulary.state() else { return };
        let n_bytes = state.as_str().len();
        let factor = n_bytes.div_ceil(BYTES_FOR_SPACING).next_power_of_two() as u64;
        if n_bytes > MAX_BYTES || !seq.0.is_multiple_of(SPACING * factor) {
            return;
        }
        let Self { log: events, sessions } = self.clone();
        task::spawn(async move {
            let store = {
                let sessions = sessions.clone();
                blocking(move || storage::store(&sessions, log, seq, &state))
            };
            if let Err(error) = store.await {
                tracing::debug!(session = %log.session, %error, "no snapshot of a vocabulary");
            }
            // What is written while a session is deleted would be left over.
            if let Ok(None) = events.session(log.session).await {
                let _ = blocking(move || storage::remove(&sessions, log.session)).await;
            }
        });
    }

    /// The last event that all vocabularies of a log have a snapshot of. Those of other epochs are
    /// removed.
    pub(crate) async fn kept_to(&self, session: SessionId, epoch: u64) -> Seq {
        let sessions = self.sessions.clone();
        let listed = blocking(move || {
            let last = |format| storage::last(&sessions, SnapshotKey { session, epoch, format });
            storage::remove_other_epochs(&sessions, session, epoch);
            Ok(SnapshotFormat::ALL.map(last).into_iter().min().unwrap_or_default())
        });
        listed.await.unwrap_or_default()
    }
}

#[cfg(test)]
mod tests;
