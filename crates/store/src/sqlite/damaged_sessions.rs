//! Sessions in whose logs a damaged event was met, for as long as this log is open.
//!
//! In: the outcome of every read. Out: the first damaged event that is known of a session. What was
//! appended behind it could not be relied on, and a repair would cut it off: so nothing is.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use wire::{Seq, SessionId};

use crate::{Damage, SessionRecord, StoreError};

/// More than anybody looks after one by one; each takes a few dozen bytes.
const MAX_NOTED: usize = 4096;

#[derive(Debug, Default)]
pub(super) struct DamagedSessions {
    noted: Mutex<BTreeMap<SessionId, Seq>>,
}

impl DamagedSessions {
    /// Notes the damage that a read has met, if any.
    pub(super) fn note<T>(&self, read: &Result<T, StoreError>) {
        let Err(StoreError::Corrupt { session, seq }) = read else { return };
        let mut noted = self.lock();
        if noted.len() >= MAX_NOTED && !noted.contains_key(session) {
            return;
        }
        let first = noted.entry(*session).or_insert_with(|| {
            tracing::error!(%session, seq = seq.0, "a session's log is damaged");
            *seq
        });
        *first = (*first).min(*seq);
    }

    /// The first event of the session that is known to be damaged.
    pub(super) fn first_bad(&self, session: SessionId) -> Option<Seq> {
        self.lock().get(&session).copied()
    }

    /// Refuses what needs the whole log of the session.
    pub(super) fn check(&self, session: SessionId) -> Result<(), StoreError> {
        match self.first_bad(session) {
            Some(seq) => Err(StoreError::Corrupt { session, seq }),
            None => Ok(()),
        }
    }

    /// What of the session's log cannot be relied on.
    pub(super) fn damage_of(&self, record: &SessionRecord) -> Option<Damage> {
        let lost_from = self.first_bad(record.id)?;
        Some(Damage { lost_from, lost_to: record.head })
    }

    /// The session is gone, or its damage was not there when it was looked for again.
    pub(super) fn forget(&self, session: SessionId) {
        self.lock().remove(&session);
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<SessionId, Seq>> {
        // Nothing panics under this lock, and the table is consistent at every step.
        self.noted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
