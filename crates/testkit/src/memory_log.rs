//! An event log in memory: what tests need where nothing has to survive, and the model that the one
//! on disk is checked against.
//!
//! Behaves like [`SqliteLog`](store::SqliteLog) in everything but survival. Simple enough
//! to be believed by reading it: one mutex, one ordered map.

mod troubles;

use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use store::{
    AppendedRange, Batch, Claim, ClaimOwner, DECISION_KINDS, DEFAULT_MAX_SESSION_BYTES, Damage,
    DecisionFilter, DecisionPlace, EventLog, LogUsage, LoggedDecision, MAX_FOUND, MAX_READ_BYTES,
    NewSession, PageStart, RecordChanges, SessionFilter, SessionOrigin, SessionRecord, StoreError,
    check_prefix, mint,
};
use tokio::sync::watch;
use wire::{Draft, Event, Millis, Seq, SessionId};

use troubles::Troubles;
pub use troubles::{LogCall, WaitingCalls};

/// A session's number and a place in its log share one integer, which has so many bits for the
/// place.
const SEQ_BITS: u32 = 40;

#[derive(Debug)]
pub struct MemoryLog {
    sessions: Mutex<BTreeMap<SessionId, MemorySession>>,
    claims: Arc<Mutex<HashSet<SessionId>>>,
    /// How many sessions there ever were.
    n_made: Mutex<i64>,
    /// Says that something was appended or deleted.
    changes: watch::Sender<()>,
    max_session_bytes: u64,
    troubles: Troubles,
}

#[derive(Debug)]
struct MemorySession {
    /// Counts the sessions as they are made.
    number: i64,
    record: SessionRecord,
    origin: Option<SessionOrigin>,
    events: Vec<Event>,
}

impl MemoryLog {
    pub fn new() -> Self {
        Self {
            sessions: Mutex::default(),
            claims: Arc::default(),
            n_made: Mutex::default(),
            changes: watch::Sender::default(),
            max_session_bytes: DEFAULT_MAX_SESSION_BYTES,
            troubles: Troubles::default(),
        }
    }

    /// Lets every such call fail from now on.
    pub fn fail(&self, call: LogCall, error: StoreError) {
        self.troubles.fail(call, error);
    }

    /// Lets no call fail any more.
    pub fn mend(&self) {
        self.troubles.mend();
    }

    /// Lets every such call wait, until the result is dropped.
    pub fn hold(&self, call: LogCall) -> WaitingCalls<'_> {
        self.troubles.hold(call)
    }

    #[must_use]
    pub fn with_max_session_bytes(mut self, max_session_bytes: u64) -> Self {
        self.max_session_bytes = max_session_bytes;
        self
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<SessionId, MemorySession>> {
        lock(&self.sessions)
    }
}

impl Default for MemoryLog {
    fn default() -> Self {
        Self::new()
    }
}

#[async_trait]
impl EventLog for MemoryLog {
    async fn create(&self, new: NewSession) -> Result<SessionRecord, StoreError> {
        self.troubles.meet(LogCall::Create).await?;
        let origin = new.origin.clone();
        let record = new.into_record(mint::epoch());
        let mut sessions = self.lock();
        if sessions.contains_key(&record.id) {
            return Err(StoreError::SessionExists(record.id));
        }
        let mut n_made = lock(&self.n_made);
        *n_made += 1;
        let (number, events) = (*n_made, Vec::new());
        let session = MemorySession { number, record: record.clone(), origin, events };
        sessions.insert(record.id, session);
        Ok(record)
    }

    async fn append(&self, batch: Batch) -> Result<AppendedRange, StoreError> {
        self.troubles.meet(LogCall::Append).await?;
        let max_bytes = self.max_session_bytes.saturating_add(batch.reserve());
        let added = batch.weight();
        let Batch { session: id, drafts, durability: _, changes } = batch;
        let appended = {
            let mut sessions = self.lock();
            let session = sessions.get_mut(&id).ok_or(StoreError::NoSuchSession(id))?;
            if session.record.bytes + added > max_bytes {
                let max_bytes = self.max_session_bytes;
                return Err(StoreError::SessionFull { session: id, max_bytes });
            }
            session.append(drafts, added, changes)
        };
        self.changes.send_replace(());
        Ok(appended)
    }

    async fn sync(&self) -> Result<(), StoreError> {
        Ok(())
    }

    async fn read(
        &self,
        session: SessionId,
        after: Seq,
        limit: usize,
    ) -> Result<Vec<Event>, StoreError> {
        let sessions = self.lock();
        let found = sessions.get(&session).ok_or(StoreError::NoSuchSession(session))?;
        let start = usize::try_from(after.0).unwrap_or(usize::MAX);
        let mut bytes = 0;
        Ok(found
            .events
            .iter()
            .skip(start)
            .take(limit)
            .take_while(|event| {
                let fits = bytes < MAX_READ_BYTES;
                bytes += event.payload.as_str().len();
                fits
            })
            .cloned()
            .collect())
    }

    async fn wait(&self, session: SessionId, after: Seq) -> Result<(), StoreError> {
        let mut changes = self.changes.subscribe();
        loop {
            match self.lock().get(&session) {
                None => return Err(StoreError::NoSuchSession(session)),
                Some(found) if found.record.head > after => return Ok(()),
                Some(_) => {}
            }
            changes.changed().await.map_err(|_| StoreError::Closed)?;
        }
    }

    async fn session(&self, id: SessionId) -> Result<Option<SessionRecord>, StoreError> {
        self.troubles.meet(LogCall::Session).await?;
        Ok(self.lock().get(&id).map(|session| session.record.clone()))
    }

    async fn origin(&self, session: SessionId) -> Result<Option<SessionOrigin>, StoreError> {
        Ok(self.lock().get(&session).and_then(|session| session.origin.clone()))
    }

    async fn n_made_by(
        &self,
        made_by: &str,
        since: Millis,
        max: usize,
    ) -> Result<usize, StoreError> {
        let sessions = self.lock();
        let is_of = |session: &&MemorySession| {
            let origin = session.origin.as_ref();
            session.record.created >= since
                && origin.is_some_and(|origin| origin.made_by.as_deref() == Some(made_by))
        };
        Ok(sessions.values().filter(is_of).take(max).count())
    }

    async fn find(&self, prefix: &str) -> Result<Vec<SessionRecord>, StoreError> {
        check_prefix(prefix)?;
        let sessions = self.lock();
        let matches = sessions.values().filter(|s| s.record.id.as_str().starts_with(prefix));
        Ok(matches.take(MAX_FOUND).map(|session| session.record.clone()).collect())
    }

    async fn sessions(&self, filter: SessionFilter) -> Result<Vec<SessionRecord>, StoreError> {
        let sessions = self.lock();
        let mut records: Vec<_> = sessions
            .values()
            .filter(|session| filter.admits(&session.record, session.origin.as_ref()))
            .map(|session| session.record.clone())
            .collect();
        records.sort_by_key(|record| std::cmp::Reverse(PageStart::of(record)));
        records.truncate(filter.capped_limit());
        Ok(records)
    }

    async fn decisions(&self, filter: DecisionFilter) -> Result<Vec<LoggedDecision>, StoreError> {
        let sessions = self.lock();
        let wanted = |id: &SessionId| filter.session.is_none_or(|session| session == *id);
        let mut found: Vec<LoggedDecision> = sessions
            .iter()
            .filter(|(id, _)| wanted(id))
            .flat_map(|(_, session)| session.decisions())
            .filter(|decision| filter.since.is_none_or(|since| decision.at >= since))
            .filter(|decision| filter.until.is_none_or(|until| decision.at < until))
            .filter(|decision| filter.after.is_none_or(|after| decision.place > after))
            .collect();
        found.sort_by_key(|decision| decision.place);
        let mut bytes = 0;
        let fits = |decision: &LoggedDecision| {
            let fits = bytes < MAX_READ_BYTES;
            bytes += decision.event.as_ref().map_or(0, |event| event.payload.as_str().len());
            fits
        };
        Ok(found.into_iter().take(filter.capped_limit()).take_while(fits).collect())
    }

    async fn update(&self, session: SessionId, changes: RecordChanges) -> Result<(), StoreError> {
        let mut sessions = self.lock();
        let found = sessions.get_mut(&session).ok_or(StoreError::NoSuchSession(session))?;
        found.change(changes);
        Ok(())
    }

    async fn delete(&self, session: SessionId) -> Result<bool, StoreError> {
        let was_there = self.lock().remove(&session).is_some();
        self.changes.send_replace(());
        Ok(was_there)
    }

    async fn claim(&self, session: SessionId) -> Result<Claim, StoreError> {
        self.troubles.meet(LogCall::Claim).await?;
        if !lock(&self.claims).insert(session) {
            return Err(StoreError::InUse { session, pid: Some(std::process::id()) });
        }
        Ok(Claim::new(session, MemoryClaim { session, claims: Arc::clone(&self.claims) }))
    }

    async fn owner(&self, session: SessionId) -> Result<ClaimOwner, StoreError> {
        Ok(match lock(&self.claims).contains(&session) {
            true => ClaimOwner::ThisLog,
            false => ClaimOwner::Nobody,
        })
    }

    async fn recover(&self, session: SessionId) -> Result<Option<Damage>, StoreError> {
        let is_known = self.lock().contains_key(&session);
        if is_known { Ok(None) } else { Err(StoreError::NoSuchSession(session)) }
    }

    async fn usage(&self) -> Result<LogUsage, StoreError> {
        let sessions = self.lock();
        Ok(LogUsage {
            bytes_on_disk: sessions.values().map(|session| session.record.bytes).sum(),
            n_sessions: sessions.len() as u64,
        })
    }
}

impl MemorySession {
    fn append(&mut self, drafts: Vec<Draft>, bytes: u64, changes: RecordChanges) -> AppendedRange {
        let first = Seq(self.record.head.0 + 1);
        for Draft { at, turn, kind, payload } in drafts {
            self.record.head.0 += 1;
            self.record.updated = at;
            self.events.push(Event { seq: self.record.head, at, turn, kind, payload });
        }
        self.record.bytes += bytes;
        self.change(changes);
        AppendedRange { first, last: self.record.head }
    }

    fn change(&mut self, mut changes: RecordChanges) {
        self.origin = changes.origin.take().or_else(|| self.origin.take());
        changes.apply(&mut self.record);
    }

    fn decisions(&self) -> impl Iterator<Item = LoggedDecision> {
        let decided = self.events.iter().filter(|event| DECISION_KINDS.contains(&event.kind));
        decided.map(|event| LoggedDecision {
            place: DecisionPlace::new(
                event.at,
                (self.number << SEQ_BITS) + event.seq.0.cast_signed(),
            ),
            session: self.record.id,
            seq: event.seq,
            at: event.at,
            event: Some(event.clone()),
        })
    }
}

struct MemoryClaim {
    session: SessionId,
    claims: Arc<Mutex<HashSet<SessionId>>>,
}

impl Drop for MemoryClaim {
    fn drop(&mut self) {
        lock(&self.claims).remove(&self.session);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing panics while one of these is held.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
