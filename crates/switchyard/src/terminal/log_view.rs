//! A session's log at the terminal, shown as it grows.
//!
//! In: a session of a daemon. Out: its events in words on stdout, and the events themselves for
//! whoever shows them.
//!
//! Always true: nothing is shown below a question that a person at this terminal is to answer,
//! until it is answered or nobody waits for an answer any more. Else an agent could write what
//! looks like another question, and the answer to that would be the answer to this one.

use std::time::Duration;

use client::{Follower, FollowerMessage, SessionClient};
use wire::{CallId, Event, Kind, Seq, TurnId};

use crate::outcome::{ERROR, Failure};
use crate::terminal::format::Formatter;

/// Text that has come in part is shown as it is when nothing follows for so long: the rest of it
/// comes within a fraction of that, or not before something has been done.
const SETTLED_AFTER: Duration = Duration::from_millis(700);

/// The one who answers the questions that are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum QuestionHandling {
    /// A person at this terminal.
    Here,
    Elsewhere,
}

/// The view of a session's log, and how far it is shown.
pub(crate) struct LogView {
    follower: Follower,
    pub(crate) formatter: Formatter,
    questions: QuestionHandling,
    shown: Seq,
    /// The last event that was received, which is further on while a question is open.
    pub(crate) received: Seq,
    /// Events up to here are received but not shown: a projection has to see all.
    pub(crate) shows_after: Seq,
    open_question: Option<OpenQuestion>,
    /// Received, and not acted on yet.
    next: Option<FollowerMessage>,
    /// Why the session could not go on, until somebody takes note of it.
    pub(crate) halted: Option<String>,
}

/// A question that waits for its answer; nothing is shown below it.
#[derive(Debug, Clone, Copy)]
struct OpenQuestion {
    id: CallId,
    turn: Option<TurnId>,
    at: Seq,
}

impl LogView {
    /// A view of the events after `after`.
    pub(crate) fn new(
        session: &SessionClient,
        after: Seq,
        formatter: Formatter,
        questions: QuestionHandling,
    ) -> Self {
        let follower = session.follow(after);
        Self {
            follower,
            formatter,
            questions,
            shown: after,
            received: after,
            shows_after: after,
            open_question: None,
            next: None,
            halted: None,
        }
    }

    /// Waits for the next events, shows them, and returns them, which may be none; nothing when
    /// nobody reads our output any more. Dropping the future loses nothing.
    pub(crate) async fn next(&mut self) -> Result<Option<Vec<Event>>, Failure> {
        let waiting = tokio::time::timeout(SETTLED_AFTER, self.next_event()).await;
        let heard = match waiting {
            Ok(heard) => heard?,
            Err(_) => {
                self.formatter.settle();
                if !self.formatter.show()? {
                    return Ok(None);
                }
                self.next_event().await?
            }
        };
        let events = heard.map(|first| self.add(first)).unwrap_or_default();
        Ok(self.formatter.show()?.then_some(events))
    }

    /// Shows what has been logged up to `until`, questions or not; false when nobody reads it.
    pub(crate) async fn show_rest(
        &mut self,
        until: Seq,
        mut look: impl FnMut(&Event),
    ) -> Result<bool, Failure> {
        self.questions = QuestionHandling::Elsewhere;
        if self.open_question.take().is_some() {
            self.follower.rewind(self.shown);
        }
        while self.shown < until {
            let Some(first) = self.next_event().await? else { continue };
            for event in self.add(first) {
                look(&event);
            }
            if !self.formatter.show()? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Adds an event and those that have come with it to what is shown, up to a question.
    fn add(&mut self, first: Event) -> Vec<Event> {
        let mut events = Vec::new();
        let mut next = Some(first);
        while let Some(event) = next {
            if event.seq > self.shown {
                (self.shown, self.received) = (event.seq, event.seq);
                self.formatter.add(&event);
                if event.seq <= self.shows_after {
                    self.formatter.take();
                }
                self.open_question = OpenQuestion::of(&event);
                self.open_question.take_if(|_| self.questions == QuestionHandling::Elsewhere);
                events.push(event);
            }
            next = match self.open_question {
                Some(_) => None,
                None => match self.follower.try_next() {
                    Some(FollowerMessage::Event(event)) => Some(*event),
                    other => {
                        self.next = other;
                        None
                    }
                },
            };
        }
        events
    }

    /// The next event that may be shown; none if something else came, or an open question holds it
    /// back.
    async fn next_event(&mut self) -> Result<Option<Event>, Failure> {
        let heard = match self.next.take() {
            Some(heard) => heard,
            None => self.follower.next().await,
        };
        let event = match heard {
            FollowerMessage::Event(event) => event,
            FollowerMessage::Halted(why) => {
                self.halted = Some(why);
                return Ok(None);
            }
            FollowerMessage::Over(error) => return Err(error.into()),
            // A stream that was cut off is resumed where it was.
            FollowerMessage::Live | FollowerMessage::Lost(_) | FollowerMessage::Restarted => {
                return Ok(None);
            }
        };
        match self.open_question {
            None => Ok(Some(*event)),
            Some(question) => {
                self.received = event.seq;
                if question.is_ended_by(&event) {
                    // The events in between are received again, and shown now.
                    self.follower.rewind(question.at);
                    (self.received, self.open_question) = (question.at, None);
                }
                Ok(None)
            }
        }
    }
}

impl OpenQuestion {
    /// The question that an event puts to people, if it does.
    fn of(event: &Event) -> Option<Self> {
        Some(Self { id: event.question_for_person()?.id, turn: event.turn, at: event.seq })
    }

    fn is_ended_by(&self, event: &Event) -> bool {
        match event.kind {
            Kind::PermissionResolved | Kind::ElicitationResolved => {
                event.own().and_then(|own| own.answered_question()) == Some(self.id)
            }
            Kind::TurnEnded => self.turn.is_none() || event.turn == self.turn,
            _ => false,
        }
    }
}

/// Hands every event up to `until` to `take`, in order.
pub(crate) async fn read_all(
    session: &SessionClient,
    until: Seq,
    mut take: impl FnMut(&Event) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut follower = session.follow(Seq(0));
    let mut read = Seq(0);
    while read < until {
        match follower.next().await {
            FollowerMessage::Event(event) => {
                read = event.seq;
                if read <= until {
                    take(&event)?;
                }
            }
            FollowerMessage::Over(error) => return Err(error.into()),
            FollowerMessage::Lost(why) => return Err(Failure::new(ERROR, why)),
            FollowerMessage::Live | FollowerMessage::Restarted | FollowerMessage::Halted(_) => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
