//! One entry of a session's log.
//!
//! An event is either a `session/update` of the agent, kept as the raw `params` it came in, or
//! something that Switchyard itself records about the session: an [`OwnEvent`], a type for each
//! kind, which is written and read here and nowhere else. The two never share a name: an update
//! that calls itself `turn_ended` is logged as `agent:turn_ended`.

mod agent;
mod kind;
mod question;
mod session;
mod turn;

pub use agent::{
    AgentNotification, AgentQuiet, AgentStderr, TerminalExited, TerminalOutput, WorkerExited,
    WorkerStarted,
};
pub use kind::{Kind, OwnEvent};
pub use question::{
    AskedQuestion, DecidedBy, Decider, ElicitationRequested, ElicitationResolved, Limit,
    LimitRaised, LimitReached, PermissionRequested, PermissionResolved, QuestionSummary,
    RecordedOutcome, RulePlace,
};
pub use session::{
    LogRecovered, OptionSet, ResumeProof, ResumeWay, SessionClosed, SessionCreated, SessionResumed,
};
pub use turn::{
    CancelRequested, CancelRung, CancelStep, DropReason, PromptDropped, PromptReceived, StopReason,
    TurnEnded, TurnOutcome, TurnStarted, UsageScope,
};

use serde::{Deserialize, Serialize};

use crate::{Category, Fault, Json, TurnId};

/// Position in one session's log: starts at 1, has no gaps.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
pub struct Seq(pub u64);

/// Milliseconds since the Unix epoch, as the wall clock showed them. Order comes from
/// [`Seq`]; clocks jump.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
pub struct Millis(pub i64);

/// An event before the log has given it a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Draft {
    pub at: Millis,
    pub turn: Option<TurnId>,
    pub kind: Kind,
    pub payload: Json,
}

/// An event in the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    pub seq: Seq,
    pub at: Millis,
    pub turn: Option<TurnId>,
    pub kind: Kind,
    pub payload: Json,
}

impl Draft {
    /// A draft of one of Switchyard's own events.
    pub fn own<'a>(at: Millis, turn: Option<TurnId>, own: impl Into<OwnEvent<'a>>) -> Self {
        let own = own.into();
        Self { at, turn, kind: own.kind(), payload: own.to_payload() }
    }
}

impl Event {
    /// The payload as one of Switchyard's own events. `None` for an update of the agent, and for
    /// what a newer version wrote in a way that this one cannot read; but a turn has an end however
    /// it is written, because somebody waits for it.
    pub fn own(&self) -> Option<OwnEvent<'_>> {
        let own = OwnEvent::read(&self.kind, &self.payload);
        let is_end = self.kind == Kind::TurnEnded;
        own.or_else(|| {
            let why = "the log does not say in a readable way how this turn ended";
            is_end.then(|| TurnEnded::failed(Fault::new(Category::Internal, why)).into())
        })
    }

    /// The question that it puts to a person.
    pub fn question_for_person(&self) -> Option<AskedQuestion<'_>> {
        self.own()?.question().filter(|asked| asked.is_for_person)
    }

    /// The event as one line of JSON, the payload's bytes untouched.
    pub fn to_json_line(&self) -> String {
        let mut line = String::with_capacity(self.payload.as_str().len() + 128);
        self.write_json(&mut line);
        line
    }

    pub fn write_json(&self, out: &mut String) {
        use std::fmt::Write;
        // Writing to a String cannot fail. Kinds and ids need no escaping.
        let _ = write!(out, r#"{{"seq":{},"time":{}"#, self.seq.0, self.at.0);
        if let Some(turn) = self.turn {
            let _ = write!(out, r#","turn":"{turn}""#);
        }
        let _ = write!(out, r#","kind":"{}","payload":"#, self.kind);
        out.push_str(self.payload.as_str());
        out.push('}');
    }
}

#[cfg(test)]
mod tests;
