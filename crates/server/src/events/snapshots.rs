//! Where a reader goes on that has been in the middle of a log before.
//!
//! What a vocabulary tells depends on everything before it. So that nobody who comes back has to
//! hear a long log from its first event, readings of it are kept as they were when nothing ran:
//! a few, each small, the newest.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use projection::Vocabulary;
use wire::{Seq, SessionId};

use super::wanted::Format;

/// Of all sessions together.
const MAX_KEPT: usize = 64;
/// What weighs more is read again.
const MAX_BYTES: usize = 64 << 10;
/// Fewer events are quickly read.
const LEAST_EVENTS: u64 = 256;

#[derive(Debug)]
pub(crate) struct Snapshots {
    kept: Mutex<VecDeque<Snapshot>>,
    /// Between one and the next of the same log.
    least_events: u64,
}

impl Default for Snapshots {
    fn default() -> Self {
        Self::every(LEAST_EVENTS)
    }
}

#[derive(Debug)]
struct Snapshot {
    log: Log,
    seq: Seq,
    vocabulary: Vocabulary,
}

/// A log in one vocabulary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Log {
    pub(super) session: SessionId,
    pub(super) epoch: u64,
    pub(super) format: Format,
}

impl Snapshots {
    pub(super) fn every(least_events: u64) -> Self {
        Self { kept: Mutex::default(), least_events }
    }

    /// Keeps a reading that has come to `seq`, unless that is not worth it.
    pub(super) fn keep(&self, log: Log, seq: Seq, vocabulary: &Vocabulary) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let last = kept.iter().filter(|one| one.log == log).map(|one| one.seq.0).max();
        let is_new = seq.0 >= last.unwrap_or_default() + self.least_events;
        if !is_new || !vocabulary.is_idle() || vocabulary.weight() > MAX_BYTES {
            return;
        }
        if kept.len() >= MAX_KEPT {
            kept.pop_front();
        }
        kept.push_back(Snapshot { log, seq, vocabulary: vocabulary.clone() });
    }

    /// The last one that is not after `seq`.
    pub(super) fn before(&self, log: Log, seq: Seq) -> Option<(Seq, Vocabulary)> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let fitting = kept.iter().filter(|one| one.log == log && one.seq <= seq);
        let last = fitting.max_by_key(|one| one.seq)?;
        Some((last.seq, last.vocabulary.clone()))
    }

    /// A session is no more.
    pub(crate) fn forget(&self, session: SessionId) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|one| one.log.session != session);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::recorded;

    #[test]
    fn a_few_are_kept_where_nothing_runs_and_none_of_a_session_that_is_gone() {
        let log = |n: u8| Log {
            session: SessionId::from_entropy(&[n; 64]),
            epoch: 1,
            format: Format::Ui,
        };
        let snapshots = Snapshots::every(2);
        let mut vocabulary = Vocabulary::ui();
        let mut n_idle = 0;
        for event in recorded::events() {
            vocabulary.frames(&event);
            n_idle += u64::from(vocabulary.is_idle());
            snapshots.keep(log(0), event.seq, &vocabulary);
        }
        let n_kept = snapshots.kept.lock().unwrap().len() as u64;
        assert!(n_kept > 0 && n_kept < n_idle, "{n_kept} of {n_idle}");
        let (seq, _) = snapshots.before(log(0), Seq(u64::MAX)).unwrap();
        assert!(snapshots.before(log(0), Seq(seq.0 - 1)).is_none_or(|(before, _)| before < seq));
        assert!(snapshots.before(log(1), Seq(u64::MAX)).is_none());
        assert!(snapshots.before(Log { epoch: 2, ..log(0) }, Seq(u64::MAX)).is_none());
        for n in 1..=100 {
            snapshots.keep(log(n), Seq(1000), &vocabulary);
        }
        assert_eq!(snapshots.kept.lock().unwrap().len(), MAX_KEPT);
        snapshots.forget(log(100).session);
        assert!(snapshots.before(log(100), Seq(u64::MAX)).is_none());
    }
}
