//! Decisions of all sessions in the order of time: the filter to read them by, and the result.
//!
//! A log is read by place; an audit asks by time and over all sessions. Events of the kinds
//! in [`DECISION_KINDS`] are therefore found by their time as well. The order is that of the wall
//! clock, so an event that is appended late, or after the clock was set back, may stand
//! before one that was read already.

use std::fmt;

use wire::{Event, Kind, Millis, Seq, SessionId};

use crate::SessionFilter;

/// The kinds of events that are found by time.
pub const DECISION_KINDS: [Kind; 2] = [Kind::PermissionResolved, Kind::ElicitationResolved];

/// A session's number and a place in its log share one integer, as in the database.
pub(crate) const SEQ_BITS: u32 = 40;

/// Which decisions to read. The default is the oldest [`SessionFilter::DEFAULT_LIMIT`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecisionFilter {
    /// The earliest time.
    pub since: Option<Millis>,
    /// The end: only earlier times.
    pub until: Option<Millis>,
    pub session: Option<SessionId>,
    /// Only what comes after this place.
    pub after: Option<DecisionPlace>,
    /// At most [`SessionFilter::MAX_LIMIT`] are returned, whatever is asked for, and no more than
    /// about 1 MiB of payload.
    pub limit: usize,
}

impl Default for DecisionFilter {
    fn default() -> Self {
        Self {
            since: None,
            until: None,
            session: None,
            after: None,
            limit: SessionFilter::DEFAULT_LIMIT,
        }
    }
}

impl DecisionFilter {
    pub fn capped_limit(&self) -> usize {
        self.limit.min(SessionFilter::MAX_LIMIT)
    }
}

/// A place in the order of decisions: where the next page begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct DecisionPlace {
    pub(crate) at: Millis,
    pub(crate) key: i64,
}

impl DecisionPlace {
    pub fn new(at: Millis, key: i64) -> Self {
        Self { at, key }
    }

    /// Reads what `to_string` wrote.
    pub fn parse(text: &str) -> Option<Self> {
        let (at, key) = text.split_once('.')?;
        Some(Self { at: Millis(at.parse().ok()?), key: key.parse().ok()? })
    }
}

impl fmt::Display for DecisionPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.at.0, self.key)
    }
}

/// One decision in the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoggedDecision {
    pub place: DecisionPlace,
    pub session: SessionId,
    pub seq: Seq,
    pub at: Millis,
    /// `None` when what is stored does not match its checksum.
    pub event: Option<Event>,
}
