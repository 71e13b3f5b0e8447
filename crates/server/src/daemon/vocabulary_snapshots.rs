//! Snapshots of vocabularies, from which a reader goes on in the middle of a log.
//!
//! The frames of a vocabulary depend on all events before. So that a reader that comes back does
//! not replay a long log from its first event, states of vocabularies are kept from when nothing
//! ran: a few, each small, the newest.

use std::collections::VecDeque;
use std::sync::Mutex;

use projection::Vocabulary;
use serde::Serialize;
use wire::{Seq, SessionId, TurnId};

use crate::locking::Locking as _;

/// Snapshots of all sessions together.
const MAX_KEPT: usize = 64;
const MAX_KEPT_BYTES: usize = 8 << 20;
/// Limit of one snapshot, beyond which the log is read again: that of some thousand calls is
/// smaller.
const MAX_BYTES: usize = 2 << 20;
/// Events between two snapshots of a log; fewer are quickly read.
const LEAST_EVENTS: u64 = 256;

#[derive(Debug)]
pub(crate) struct VocabularySnapshots {
    kept: Mutex<VecDeque<VocabularySnapshot>>,
    /// Events between two snapshots of the same log.
    least_events: u64,
}

impl Default for VocabularySnapshots {
    fn default() -> Self {
        Self::every(LEAST_EVENTS)
    }
}

#[derive(Debug)]
struct VocabularySnapshot {
    log: SnapshotKey,
    seq: Seq,
    n_bytes: usize,
    vocabulary: Vocabulary,
}

/// A log in one vocabulary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SnapshotKey {
    pub(crate) session: SessionId,
    pub(crate) epoch: u64,
    pub(crate) format: StreamFormat,
}

/// The vocabulary of the frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum StreamFormat {
    Acp,
    Ui,
    Envelopes,
    Conversation,
    /// One turn alone, as the UI of Open Design reads it.
    Run(TurnId),
}

impl VocabularySnapshots {
    pub(crate) fn every(least_events: u64) -> Self {
        Self { kept: Mutex::default(), least_events }
    }

    /// Keeps a vocabulary that has read up to `seq`, unless that is not worth it.
    pub(crate) fn keep(&self, log: SnapshotKey, seq: Seq, vocabulary: &Vocabulary) {
        let mut kept = self.kept.locked();
        let last = kept.iter().filter(|one| one.log == log).map(|one| one.seq.0).max();
        let is_new = seq.0 >= last.unwrap_or_default() + self.least_events;
        if !is_new || !vocabulary.is_idle() {
            return;
        }
        let n_bytes = vocabulary.weight();
        if n_bytes > MAX_BYTES {
            return;
        }
        kept.push_back(VocabularySnapshot { log, seq, n_bytes, vocabulary: vocabulary.clone() });
        let mut n_kept_bytes: usize = kept.iter().map(|one| one.n_bytes).sum();
        while kept.len() > MAX_KEPT || n_kept_bytes > MAX_KEPT_BYTES {
            let Some(oldest) = kept.pop_front() else { break };
            n_kept_bytes -= oldest.n_bytes;
        }
    }

    /// The last snapshot that is not after `seq`.
    pub(crate) fn before(&self, log: SnapshotKey, seq: Seq) -> Option<(Seq, Vocabulary)> {
        let kept = self.kept.locked();
        let fitting = kept.iter().filter(|one| one.log == log && one.seq <= seq);
        let last = fitting.max_by_key(|one| one.seq)?;
        Some((last.seq, last.vocabulary.clone()))
    }

    /// Drops the snapshots of a deleted session.
    pub(crate) fn forget(&self, session: SessionId) {
        let mut kept = self.kept.locked();
        kept.retain(|one| one.log.session != session);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::testing;

    #[test]
    fn a_few_are_kept_where_nothing_runs_and_none_of_a_session_that_is_gone() {
        let log = |n: u8| SnapshotKey {
            session: SessionId::from_entropy(&[n; 64]),
            epoch: 1,
            format: StreamFormat::Ui,
        };
        let snapshots = VocabularySnapshots::every(2);
        let mut vocabulary = Vocabulary::ui();
        let mut n_idle = 0;
        for event in testing::events() {
            vocabulary.frames(&event);
            n_idle += u64::from(vocabulary.is_idle());
            snapshots.keep(log(0), event.seq, &vocabulary);
        }
        let n_kept = snapshots.kept.lock().unwrap().len() as u64;
        assert!(n_kept > 0 && n_kept < n_idle, "{n_kept} of {n_idle}");
        let (seq, _) = snapshots.before(log(0), Seq(u64::MAX)).unwrap();
        assert!(snapshots.before(log(0), Seq(seq.0 - 1)).is_none_or(|(before, _)| before < seq));
        assert!(snapshots.before(log(1), Seq(u64::MAX)).is_none());
        assert!(snapshots.before(SnapshotKey { epoch: 2, ..log(0) }, Seq(u64::MAX)).is_none());
        for n in 1..=100 {
            snapshots.keep(log(n), Seq(1000), &vocabulary);
        }
        assert_eq!(snapshots.kept.lock().unwrap().len(), MAX_KEPT);
        let n_bytes: usize = snapshots.kept.lock().unwrap().iter().map(|one| one.n_bytes).sum();
        assert!(n_bytes > 0 && n_bytes <= MAX_KEPT_BYTES);
        snapshots.forget(log(100).session);
        assert!(snapshots.before(log(100), Seq(u64::MAX)).is_none());
    }

    /// It is long sessions that need them.
    #[test]
    fn a_session_of_many_calls_is_kept_and_all_together_weigh_little() {
        let recorded = testing::events();
        let turn = recorded.iter().find_map(|event| event.turn);
        let event = |seq: u64, kind: &str, payload: &serde_json::Value| wire::Event {
            seq: Seq(seq),
            at: wire::Millis(0),
            turn,
            kind: wire::Kind::from_log(kind),
            payload: wire::Json::of(payload),
        };
        let mut vocabulary = Vocabulary::conversation();
        for n in 1..=2000 {
            let output = "x".repeat(2000);
            let update = serde_json::json!({ "toolCallId": format!("call-{n}"), "title": "Read it",
                "status": "completed", "rawInput": { "path": "a" }, "rawOutput": output });
            let payload = serde_json::json!({ "sessionId": "s", "update": update });
            vocabulary.frames(&event(n, "tool_call", &payload));
        }
        vocabulary.frames(&event(2001, "session_closed", &serde_json::json!({})));
        let snapshots = VocabularySnapshots::default();
        for n in 0..30 {
            let session = SessionId::from_entropy(&[n; 64]);
            let log = SnapshotKey { session, epoch: 1, format: StreamFormat::Conversation };
            snapshots.keep(log, Seq(2001), &vocabulary);
            assert!(snapshots.before(log, Seq(3000)).is_some(), "{} bytes", vocabulary.weight());
        }
        let kept = snapshots.kept.lock().unwrap();
        assert!(kept.len() > 1 && kept.len() < 30);
        assert!(kept.iter().map(|one| one.n_bytes).sum::<usize>() <= MAX_KEPT_BYTES);
    }
}
