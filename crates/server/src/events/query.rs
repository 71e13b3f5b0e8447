//! The request of a reader of events: where to go on, in which vocabulary, and until when.
//!
//! Cursors say how far a reader has come, as it is written into frames and read back. `17-9f3c` is
//! event 17 of the log whose epoch is `9f3c`. Where an event gives several frames, all but the last
//! have a part, `17.2-9f3c`; so an id without one says that the event was sent completely.

use std::fmt;

use axum::http::HeaderMap;
use serde::{Deserialize, Serialize};
use wire::{Seq, SessionId, TurnId};

use crate::daemon::vocabulary_snapshots::{SnapshotFormat, SnapshotKey};
use crate::problem::Problem;

/// The query of a request, not parsed yet.
#[derive(Debug, Default, Deserialize)]
pub(super) struct EventsQuery {
    after: Option<String>,
    format: Option<String>,
    until: Option<String>,
    turn: Option<String>,
}

/// The request of a reader, parsed from query and headers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct EventsRequest {
    pub(super) cursor: Cursor,
    pub(super) format: StreamFormat,
    pub(super) until: StreamUntil,
}

/// When the stream is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StreamUntil {
    Cut,
    /// Nothing runs and everything was told.
    Idle,
    /// That turn has ended.
    Turn(TurnId),
}

impl EventsRequest {
    pub(super) fn read(asked: &EventsQuery, headers: &HeaderMap) -> Result<Self, Problem> {
        let format = match asked.format.as_deref() {
            None | Some("acp") => StreamFormat::Acp,
            Some("ui") => StreamFormat::Ui,
            Some("envelopes") => StreamFormat::Envelopes,
            Some("conversation") => StreamFormat::Conversation,
            Some(_) => {
                let known = "`format` is one of acp, ui, envelopes, conversation";
                return Err(Problem::bad_request(known));
            }
        };
        let until = match (asked.until.as_deref(), asked.turn.as_deref()) {
            (None, None) => StreamUntil::Cut,
            (Some("idle"), None) => StreamUntil::Idle,
            (None, Some(turn)) => {
                let turn = TurnId::parse(turn);
                StreamUntil::Turn(turn.map_err(|_| Problem::bad_request("`turn` is no turn id"))?)
            }
            (Some(_), None) => return Err(Problem::bad_request("`until` can only be idle")),
            (Some(_), Some(_)) => {
                return Err(Problem::bad_request("`until` and `turn` exclude each other"));
            }
        };
        Ok(Self { cursor: cursor(asked, headers)?, format, until })
    }

    /// One turn alone, until it has ended.
    pub(super) fn run(
        turn: TurnId,
        after: Option<String>,
        headers: &HeaderMap,
    ) -> Result<Self, Problem> {
        let cursor = cursor(&EventsQuery { after, ..EventsQuery::default() }, headers)?;
        Ok(Self { cursor, format: StreamFormat::Run(turn), until: StreamUntil::Turn(turn) })
    }
}

/// A browser that reconnects repeats the URL of the first time, so what it adds as a header is
/// newer. It also cannot leave the header out, so there a bad cursor is reported in the stream; in
/// the query it is a mistake of whoever wrote the request.
fn cursor(asked: &EventsQuery, headers: &HeaderMap) -> Result<Cursor, Problem> {
    let after = match asked.after.as_deref() {
        None => Cursor::START,
        Some(after) => Cursor::parse(after),
    };
    if after == Cursor::Unreadable {
        return Err(Problem::bad_request("`after` is neither a number nor the id of a frame"));
    }
    Ok(match headers.get("last-event-id") {
        None => after,
        Some(last) if last.is_empty() => after,
        Some(last) => last.to_str().map_or(Cursor::Unreadable, Cursor::parse),
    })
}

/// Limit of a cursor's length. Longer ones cannot be ours: two numbers of 64 bits, one of 32, and
/// what is between.
const MAX_LEN: usize = 64;

/// Up to where a log was sent: a whole event, or some of its frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LogPosition {
    pub(super) seq: Seq,
    /// The frame, from 1 on; none for the last one of the event.
    pub(super) part: Option<u32>,
}

/// The vocabulary of the frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum StreamFormat {
    /// The events as they are.
    Acp,
    Ui,
    Envelopes,
    Conversation,
    /// One turn alone, as the UI of Open Design reads it.
    Run(TurnId),
}

/// A log as a stream tells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LogView {
    pub(super) session: SessionId,
    pub(super) epoch: u64,
    pub(super) format: StreamFormat,
}

impl LogView {
    /// The key of its snapshots, if there are any.
    pub(super) fn snapshots(self) -> Option<SnapshotKey> {
        let Self { session, epoch, format } = self;
        Some(SnapshotKey { session, epoch, format: format.snapshots()? })
    }
}

impl StreamFormat {
    /// That of its snapshots, if its frames depend on the events before.
    pub(super) fn snapshots(self) -> Option<SnapshotFormat> {
        match self {
            Self::Ui => Some(SnapshotFormat::Ui),
            Self::Envelopes => Some(SnapshotFormat::Envelopes),
            Self::Conversation => Some(SnapshotFormat::Conversation),
            Self::Acp | Self::Run(_) => None,
        }
    }
}

impl LogPosition {
    pub(super) const START: Self = Self { seq: Seq(0), part: None };

    /// Whether a reader that has come to this place has seen `frame`.
    pub(super) fn covers(self, frame: Self) -> bool {
        if frame.seq != self.seq {
            return frame.seq < self.seq;
        }
        match (self.part, frame.part) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(last), Some(part)) => part <= last,
        }
    }

    /// The last event that was sent completely.
    pub(super) fn complete(self) -> Seq {
        match self.part {
            None => self.seq,
            Some(_) => Seq(self.seq.0.saturating_sub(1)),
        }
    }
}

/// The id of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FrameId {
    pub(super) place: LogPosition,
    pub(super) epoch: u64,
}

impl fmt::Display for FrameId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { place: LogPosition { seq, part }, epoch } = self;
        match part {
            None => write!(f, "{}-{epoch:x}", seq.0),
            Some(part) => write!(f, "{}.{part}-{epoch:x}", seq.0),
        }
    }
}

/// The cursor of a client: where it wants to go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cursor {
    /// A place in the log, of this epoch if the cursor names one.
    At { place: LogPosition, epoch: Option<u64> },
    /// A text that is no cursor of the daemon.
    Unreadable,
}

/// The start of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StreamStart {
    After(LogPosition),
    /// The cursor is of no use; the client has to begin anew.
    Resync(ResyncReason),
}

/// Why a client has to begin anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ResyncReason {
    /// The cursor is of another log, or of this one before events were lost.
    OtherEpoch,
    /// There is no such event yet.
    BeyondHead,
    Unreadable,
}

impl Cursor {
    pub(super) const START: Self = Self::At { place: LogPosition::START, epoch: None };

    /// A number, or the id of a frame.
    pub(super) fn parse(text: &str) -> Self {
        Self::read(text).unwrap_or(Self::Unreadable)
    }

    fn read(text: &str) -> Option<Self> {
        if text.len() > MAX_LEN {
            return None;
        }
        let (place, epoch) = match text.split_once('-') {
            Some((place, epoch)) => (place, Some(number(epoch, 16)?)),
            None => (text, None),
        };
        let (seq, part) = match place.split_once('.') {
            Some((seq, part)) => (seq, Some(u32::try_from(number(part, 10)?).ok()?)),
            None => (place, None),
        };
        let place = LogPosition { seq: Seq(number(seq, 10)?), part };
        // Nothing comes before the first frame of the first event.
        let is_ours = part != Some(0) && (part.is_none() || place.seq.0 > 0);
        is_ours.then_some(Self::At { place, epoch })
    }

    pub(super) fn start(self, current: u64, head: Seq) -> StreamStart {
        match self {
            Self::Unreadable => StreamStart::Resync(ResyncReason::Unreadable),
            Self::At { epoch: Some(epoch), .. } if epoch != current => {
                StreamStart::Resync(ResyncReason::OtherEpoch)
            }
            Self::At { place, .. } if place.seq > head => {
                StreamStart::Resync(ResyncReason::BeyondHead)
            }
            Self::At { place, .. } => StreamStart::After(place),
        }
    }
}

/// Digits alone: the library's own reading would also take a sign, and letters in upper case.
fn number(text: &str, radix: u32) -> Option<u64> {
    let is_digit = |c: char| c.is_digit(radix) && !c.is_ascii_uppercase();
    text.chars().all(is_digit).then(|| u64::from_str_radix(text, radix).ok()).flatten()
}

#[cfg(test)]
mod tests;
