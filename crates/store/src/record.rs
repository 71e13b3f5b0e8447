//! The values that go into the log and come out of it, besides the events themselves.
//!
//! Plain values with public fields. A [`SessionRecord`] is a copy of what the log knew at
//! one moment; it never updates itself.

use wire::{Draft, Json, Kind, Millis, Seq, SessionId, TurnId};

/// What an acknowledged batch survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Durability {
    /// Survives the death of every process, by `kill -9` too. Costs microseconds.
    #[default]
    Process,
    /// Survives a power cut as well. Costs a sync of the disk, shared with whoever waits
    /// at the same time.
    Power,
}

/// Drafts for one session and changes to its record: all of it is committed, or nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch {
    pub session: SessionId,
    pub drafts: Vec<Draft>,
    pub durability: Durability,
    pub changes: RecordChanges,
}

impl Batch {
    /// Drafts alone, with process durability.
    pub fn new(session: SessionId, drafts: Vec<Draft>) -> Self {
        Self { session, drafts, durability: Durability::Process, changes: RecordChanges::default() }
    }

    #[must_use]
    pub fn durable(mut self, durability: Durability) -> Self {
        self.durability = durability;
        self
    }

    #[must_use]
    pub fn with(mut self, changes: RecordChanges) -> Self {
        self.changes = changes;
        self
    }

    /// The size of its drafts as it counts against the limits; the same in every store.
    pub fn weight(&self) -> u64 {
        self.drafts.iter().map(|draft| event_weight(&draft.kind, &draft.payload)).sum()
    }

    /// How far beyond the limit it may go.
    pub fn reserve(&self) -> u64 {
        match self.durability {
            Durability::Process => 0,
            Durability::Power => CLOSING_RESERVE,
        }
    }
}

/// The places that a batch was given. Without drafts, `last` is the head and `first` the
/// place after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AppendedRange {
    pub first: Seq,
    pub last: Seq,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewSession {
    pub id: SessionId,
    pub agent: String,
    pub cwd: String,
    pub created: Millis,
    /// For the caller; the log only keeps it. Every list reads it.
    pub details: Json,
    pub origin: Option<SessionOrigin>,
}

impl NewSession {
    /// Its record while its log is empty.
    pub fn into_record(self, epoch: u64) -> SessionRecord {
        SessionRecord {
            id: self.id,
            epoch,
            agent: self.agent,
            cwd: self.cwd,
            title: None,
            created: self.created,
            updated: self.created,
            head: Seq(0),
            bytes: 0,
            active_turn: None,
            agent_session: None,
            is_closed: false,
            details: self.details,
            damage: None,
        }
    }
}

/// The origin of a session. Kept apart from its record, which every list, read and append reads:
/// this may be large, and is wanted when the agent is started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionOrigin {
    /// Its maker; sessions are counted by this.
    pub made_by: Option<String>,
    /// What it was made from. For the caller; the log only keeps it.
    pub made_of: Json,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionRecord {
    pub id: SessionId,
    /// Random; changes when events were lost, so that a cursor from before the loss is
    /// not mistaken for a cursor into what was written since.
    pub epoch: u64,
    pub agent: String,
    pub cwd: String,
    pub title: Option<String>,
    pub created: Millis,
    /// Time of the last event, or of the creation, unless changes say otherwise.
    pub updated: Millis,
    /// The last event's place; 0 while there is none.
    pub head: Seq,
    /// The size of the events, as counted against the limits.
    pub bytes: u64,
    pub active_turn: Option<TurnId>,
    pub agent_session: Option<String>,
    pub is_closed: bool,
    pub details: Json,
    pub damage: Option<Damage>,
}

/// Acknowledged events that the log no longer has, or that are behind a damaged one, which was read.
///
/// `lost_to` before `lost_from` means that no event is missing, only later changes to the
/// record (title, active turn …).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Damage {
    pub lost_from: Seq,
    pub lost_to: Seq,
}

/// Changes to a session's record. `None` leaves a field as it is; the default changes
/// nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RecordChanges {
    pub title: Option<Option<String>>,
    pub active_turn: Option<Option<TurnId>>,
    pub agent_session: Option<Option<String>>,
    pub is_closed: Option<bool>,
    pub details: Option<Json>,
    /// For a session whose events are older than itself.
    pub updated: Option<Millis>,
    pub origin: Option<SessionOrigin>,
}

impl RecordChanges {
    /// Applies them to the record; the origin is kept beside it.
    pub fn apply(self, record: &mut SessionRecord) {
        let Self { title, active_turn, agent_session, is_closed, details, updated, origin: _ } =
            self;
        record.title = title.unwrap_or_else(|| record.title.take());
        record.active_turn = active_turn.unwrap_or(record.active_turn);
        record.agent_session = agent_session.unwrap_or_else(|| record.agent_session.take());
        record.is_closed = is_closed.unwrap_or(record.is_closed);
        record.updated = updated.unwrap_or(record.updated);
        if let Some(details) = details {
            record.details = details;
        }
    }
}

/// Which sessions to list. The default is the newest [`SessionFilter::DEFAULT_LIMIT`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionFilter {
    pub agent: Option<String>,
    pub cwd: Option<String>,
    pub agent_session: Option<String>,
    pub has_active_turn: Option<bool>,
    /// Only sessions that this maker has made since then, by their origins.
    pub made_by: Option<(String, Millis)>,
    /// At most [`SessionFilter::MAX_LIMIT`] are returned, whatever is asked for.
    pub limit: usize,
    /// Only sessions that come after this one in the listing.
    pub before: Option<PageStart>,
}

impl SessionFilter {
    pub const DEFAULT_LIMIT: usize = 100;
    /// Keeps one listing below a few megabytes.
    pub const MAX_LIMIT: usize = 1000;

    /// Whether the session is one of these; who made it is read from its origin alone.
    pub fn admits(&self, record: &SessionRecord, origin: Option<&SessionOrigin>) -> bool {
        let same = |wanted: &Option<String>, have: Option<&str>| {
            wanted.as_deref().is_none_or(|wanted| have == Some(wanted))
        };
        same(&self.agent, Some(&record.agent))
            && same(&self.cwd, Some(&record.cwd))
            && same(&self.agent_session, record.agent_session.as_deref())
            && self.has_active_turn.is_none_or(|active| active == record.active_turn.is_some())
            && self.before.is_none_or(|before| PageStart::of(record) < before)
            && self.made_by.as_ref().is_none_or(|(name, since)| {
                let made_by = origin.and_then(|origin| origin.made_by.as_ref());
                made_by == Some(name) && record.created >= *since
            })
    }

    pub fn capped_limit(&self) -> usize {
        self.limit.min(Self::MAX_LIMIT)
    }
}

impl Default for SessionFilter {
    fn default() -> Self {
        Self {
            agent: None,
            cwd: None,
            agent_session: None,
            has_active_turn: None,
            made_by: None,
            limit: Self::DEFAULT_LIMIT,
            before: None,
        }
    }
}

/// A place in the listing, newest activity first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct PageStart {
    pub updated: Millis,
    pub id: SessionId,
}

impl PageStart {
    /// The page after the one that ends with `record`.
    pub fn of(record: &SessionRecord) -> Self {
        Self { updated: record.updated, id: record.id }
    }

    /// Reads a cursor that was written before, for a client that brings it back.
    pub fn parse(cursor: &str) -> Option<Self> {
        let (updated, id) = cursor.split_once('.')?;
        Some(Self { updated: Millis(updated.parse().ok()?), id: SessionId::parse(id).ok()? })
    }
}

impl std::fmt::Display for PageStart {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.updated.0, self.id)
    }
}

/// Which sessions to remove. Claimed sessions and those with an active turn always stay.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PruneRule {
    /// Remove what was last used before this.
    pub before: Option<Millis>,
    /// Remove the oldest until the events of all sessions weigh no more than this.
    pub max_total_bytes: Option<u64>,
    /// Number of the newest that stay, whatever the other two say.
    pub keep: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogUsage {
    /// Size of the log's files. Space of deleted sessions is used again, not returned.
    pub bytes_on_disk: u64,
    pub n_sessions: u64,
}

/// The size of one event as it counts against the limits.
pub(crate) fn event_weight(kind: &Kind, payload: &Json) -> u64 {
    (payload.as_str().len() + kind.as_str().len()) as u64 + EVENT_OVERHEAD
}

/// Bytes that an event takes beside its payload and kind: its key, time, turn and checksum.
const EVENT_OVERHEAD: u64 = 48;

/// A session that is full still has room for this much of what asks for power durability:
/// decisions and ends of turns are few and small, and a session without them is unusable.
const CLOSING_RESERVE: u64 = 1024 * 1024;

/// A read stops after this much payload, so that a reader's memory does not depend on how
/// large the events are. One event is always returned, however large.
pub const MAX_READ_BYTES: usize = 1024 * 1024;

/// Matches by prefix beyond this say only "be more precise".
pub const MAX_FOUND: usize = 10;

/// A session may grow to this before appends are refused.
pub const DEFAULT_MAX_SESSION_BYTES: u64 = 4 * 1024 * 1024 * 1024;

#[cfg(test)]
mod tests;
