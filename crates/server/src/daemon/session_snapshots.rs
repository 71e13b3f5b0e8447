//! Snapshots of the newest sessions, for all who watch the list of sessions.
//!
//! In: the records, read again when the last snapshot is old and somebody asks. Out: snapshots,
//! each shared by all who watch the same list. A snapshot in which nothing is new is the same
//! allocation as the one before, and so is each session in it that did not change.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use sessions::registry::{SessionRegistry, SessionStatus};
use store::{SessionFilter, SessionRecord, StoreError};
use tokio::time::Instant;
use wire::{Millis, Seq, SessionId};

use crate::locking::Locking as _;

/// How long a snapshot is fresh: soon enough for a list, and next to no load for the log.
const FRESH_FOR: Duration = Duration::from_millis(500);
/// Sessions that were deleted and are remembered, until everybody who watches has received it.
const MAX_DELETED: usize = SessionFilter::MAX_LIMIT;

/// A snapshot of the newest sessions, as many as one listing holds, and of those that were deleted
/// lately.
pub(crate) type SessionSnapshot = BTreeMap<SessionId, Arc<SessionListEntry>>;

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct SessionListEntry {
    pub(crate) seq: Seq,
    /// None for a session that was deleted.
    pub(crate) state: Option<ListedSession>,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ListedSession {
    pub(crate) status: SessionStatus,
    pub(crate) title: Option<String>,
    /// Questions that wait for a person.
    pub(crate) n_pending: usize,
    /// The event in which the last of these was asked.
    pub(crate) last_asked: Option<Seq>,
}

/// The owner whose sessions are watched, if not everybody's.
type SessionOwner = Option<(String, Millis)>;

/// The lists that somebody watches, by owner.
#[derive(Debug, Default)]
pub(crate) struct SessionSnapshots(Mutex<HashMap<SessionOwner, Weak<SessionSnapshotSource>>>);

impl SessionSnapshots {
    pub(crate) fn at(&self, made_by: SessionOwner) -> Arc<SessionSnapshotSource> {
        let mut sources = self.0.locked();
        if let Some(source) = sources.get(&made_by).and_then(Weak::upgrade) {
            return source;
        }
        sources.retain(|_, source| source.strong_count() > 0);
        let source = Arc::new(SessionSnapshotSource {
            made_by: made_by.clone(),
            last: tokio::sync::Mutex::default(),
        });
        sources.insert(made_by, Arc::downgrade(&source));
        source
    }
}

#[derive(Debug)]
pub(crate) struct SessionSnapshotSource {
    made_by: SessionOwner,
    last: tokio::sync::Mutex<LastSnapshot>,
}

#[derive(Debug, Default)]
struct LastSnapshot {
    /// None before the first snapshot.
    at: Option<Instant>,
    sessions: Arc<SessionSnapshot>,
    /// Those of them that were deleted, the oldest first.
    deleted: VecDeque<SessionId>,
}

impl SessionSnapshotSource {
    /// The sessions as they are, or were a moment ago.
    pub(crate) async fn sessions(
        &self,
        registry: &SessionRegistry,
    ) -> Result<Arc<SessionSnapshot>, StoreError> {
        let mut last = self.last.lock().await;
        if last.at.is_none_or(|at| at.elapsed() >= FRESH_FOR) {
            let (sessions, deleted) = self.read(registry, &last.sessions).await?;
            last.take(sessions, deleted);
        }
        Ok(last.sessions.clone())
    }

    /// What is listed now, and what was before and is deleted since.
    async fn read(
        &self,
        registry: &SessionRegistry,
        before: &SessionSnapshot,
    ) -> Result<(SessionSnapshot, Vec<SessionId>), StoreError> {
        let made_by = self.made_by.clone();
        let filter =
            SessionFilter { made_by, limit: SessionFilter::MAX_LIMIT, ..SessionFilter::default() };
        let records = registry.log().sessions(filter).await?;
        let mut now = SessionSnapshot::new();
        for record in records {
            let (id, entry) = (record.id, entry(registry, record).await);
            // The earlier entry where nothing has changed.
            let known = before.get(&id).filter(|known| ***known == entry).cloned();
            now.insert(id, known.unwrap_or_else(|| Arc::new(entry)));
        }
        let mut deleted = Vec::new();
        for (id, entry) in before {
            if now.contains_key(id) {
                continue;
            }
            if entry.state.is_none() {
                now.insert(*id, entry.clone());
            } else if registry.log().session(*id).await?.is_none() {
                now.insert(*id, Arc::new(SessionListEntry { seq: entry.seq, state: None }));
                deleted.push(*id);
            }
            // Else it is not one of the newest any more.
        }
        Ok((now, deleted))
    }
}

impl LastSnapshot {
    fn take(&mut self, mut sessions: SessionSnapshot, deleted: Vec<SessionId>) {
        self.at = Some(Instant::now());
        self.deleted.extend(deleted);
        // One that was deleted may have been imported again.
        self.deleted.retain(|id| sessions.get(id).is_some_and(|entry| entry.state.is_none()));
        while self.deleted.len() > MAX_DELETED
            && let Some(id) = self.deleted.pop_front()
        {
            sessions.remove(&id);
        }
        if *self.sessions != sessions {
            self.sessions = Arc::new(sessions);
        }
    }
}

async fn entry(registry: &SessionRegistry, record: SessionRecord) -> SessionListEntry {
    let status = registry.status(&record).await;
    let (n_pending, last_asked) = registry.context().pending.mark(record.id);
    let state = ListedSession { status, title: record.title, n_pending, last_asked };
    SessionListEntry { seq: record.head, state: Some(state) }
}
