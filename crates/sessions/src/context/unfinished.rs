//! Turns and questions that a process which died left open in a session's log.
//!
//! In: the session's events. Out: the events that end what was begun, so that nobody waits
//! for a turn that will not end, and the audit says of every question what became of it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::json;
use store::{EventLog, SessionRecord, StoreError};
use wire::event::{
    DecidedBy, Decider, DropReason, ElicitationResolved, PermissionResolved, PromptDropped,
    RecordedOutcome, TurnEnded,
};
use wire::{CallId, Category, Draft, Event, Fault, Json, Kind, Seq, TurnId};

use super::draft;
use crate::permission::{PolicyQuestion, summary};

/// Events read at once.
const PAGE: usize = 512;
/// A session has far fewer questions at a time; beyond this a log is not one of ours.
const MAX_QUESTIONS: usize = 4096;

#[derive(Default)]
pub(super) struct UnfinishedTurns {
    /// Received and never ended, in order, and whether they started.
    turns: Vec<(TurnId, bool)>,
    questions: BTreeMap<CallId, OpenQuestion>,
}

struct OpenQuestion {
    turn: Option<TurnId>,
    is_form: bool,
    request: Json,
    was_asked: bool,
}

impl UnfinishedTurns {
    pub(super) async fn find(
        log: &dyn EventLog,
        record: &SessionRecord,
    ) -> Result<Self, StoreError> {
        let mut open = Self::default();
        let mut after = Seq(0);
        loop {
            let events = match log.read(record.id, after, PAGE).await {
                Ok(events) => events,
                // Behind damage nothing can be read; what is open before it can be closed.
                Err(StoreError::Corrupt { .. }) => return Ok(open),
                Err(error) => return Err(error),
            };
            let Some(last) = events.last() else { return Ok(open) };
            after = last.seq;
            for event in &events {
                open.see(event);
            }
        }
    }

    fn see(&mut self, event: &Event) {
        match (&event.kind, event.turn) {
            (Kind::PromptReceived, Some(turn)) => self.turns.push((turn, false)),
            (Kind::TurnStarted, Some(turn)) => {
                self.turns.iter_mut().filter(|(t, _)| *t == turn).for_each(|(_, s)| *s = true);
            }
            (Kind::TurnEnded | Kind::PromptDropped, Some(turn)) => {
                self.turns.retain(|(t, _)| *t != turn);
            }
            _ => self.see_question(event),
        }
    }

    fn see_question(&mut self, event: &Event) {
        let Some(own) = event.own() else { return };
        if let Some(id) = own.answered_question() {
            self.questions.remove(&id);
        }
        if let Some(asked) = own.question().filter(|_| self.questions.len() < MAX_QUESTIONS) {
            let question = OpenQuestion {
                turn: event.turn,
                is_form: asked.wants_form,
                request: asked.request.to_json(),
                was_asked: asked.is_for_person,
            };
            self.questions.insert(asked.id, question);
        }
    }

    /// The events that close it all: questions first, then the turns that they were asked in. The
    /// flag says whether somebody had been asked.
    pub(super) fn close(self, record: &SessionRecord) -> Vec<(Draft, bool)> {
        let questions = self.questions.into_iter();
        let mut drafts: Vec<_> = questions
            .map(|(id, question)| (question.withdrawn(id, record), question.was_asked))
            .collect();
        drafts.extend(self.turns.into_iter().map(|(turn, has_started)| {
            let draft = match has_started {
                true => draft(Some(turn), interrupted()),
                false => draft(Some(turn), PromptDropped { reason: DropReason::Interrupted }),
            };
            (draft, true)
        }));
        drafts
    }
}

impl OpenQuestion {
    fn withdrawn(&self, request_id: CallId, record: &SessionRecord) -> Draft {
        let (by, waited_ms) = (Decider::new(DecidedBy::Interrupted), None);
        if self.is_form {
            let (question, response) =
                (summary::of_form(&self.request), Json::of(&json!({ "action": "cancel" })));
            let response = response.as_raw();
            let form = ElicitationResolved { request_id, by, response, question, waited_ms };
            return draft(self.turn, form);
        }
        let roots = [PathBuf::from(&record.cwd)];
        let question = PolicyQuestion::read(self.request.as_str(), None, &record.agent, &roots);
        let outcome = "cancelled".to_owned();
        let resolved = PermissionResolved {
            request_id,
            by,
            allowed: false,
            outcome: RecordedOutcome { outcome, ..RecordedOutcome::default() },
            question: summary::of_permission(&question),
            waited_ms,
        };
        draft(self.turn, resolved)
    }
}

/// The end of a turn whose process died.
pub(super) fn interrupted() -> TurnEnded<'static> {
    let message = "Switchyard ended while this turn was running";
    let fault = Fault::new(Category::Interrupted, message).remedy("send the prompt again");
    TurnEnded::failed(fault)
}
