//! A question that a person at this terminal is to answer.
//!
//! Always true: nothing is shown below it until it is answered or nobody waits for an answer any
//! more. Else an agent could write what looks like another question, and the answer to that would
//! be the answer to this one.

use store::EventLog;
use wire::{CallId, Event, Kind, Seq, SessionId, TurnId};

use super::PAGE;
use crate::outcome::Failure;

#[derive(Debug)]
pub(crate) struct OpenQuestion {
    id: CallId,
    turn: Option<TurnId>,
    /// The log is known so far.
    known: Seq,
}

impl OpenQuestion {
    /// The question that an event puts to people, if it does.
    pub(crate) fn of(event: &Event) -> Option<Self> {
        Some(Self { id: event.asked_person()?.id, turn: event.turn, known: event.seq })
    }

    /// Whether somebody has answered it, or its turn has ended, as far as the log goes now.
    pub(crate) async fn is_over(
        &mut self,
        log: &dyn EventLog,
        session: SessionId,
    ) -> Result<bool, Failure> {
        loop {
            let events = log.read(session, self.known, PAGE).await?;
            let Some(last) = events.last() else { return Ok(false) };
            self.known = last.seq;
            if events.iter().any(|event| self.is_ended_by(event)) {
                return Ok(true);
            }
        }
    }

    pub(super) async fn until_over(
        mut self,
        log: &dyn EventLog,
        session: SessionId,
    ) -> Result<(), Failure> {
        while !self.is_over(log, session).await? {
            log.wait(session, self.known).await?;
        }
        Ok(())
    }

    /// How far the log has been looked through.
    pub(crate) fn known(&self) -> Seq {
        self.known
    }

    fn is_ended_by(&self, event: &Event) -> bool {
        match event.kind {
            Kind::PermissionResolved | Kind::ElicitationResolved => {
                event.own().and_then(|own| own.answered()) == Some(self.id)
            }
            Kind::TurnEnded => self.turn.is_none() || event.turn == self.turn,
            _ => false,
        }
    }
}
