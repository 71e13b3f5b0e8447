//! What a process that died left open in a session's log: turns and questions.
//!
//! In: the session's events. Out: the events that end what was begun, so that nobody waits
//! for a turn that will not end, and the audit says of every question what became of it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::{Value, json};
use store::{EventLog, SessionRecord, StoreError};
use wire::{CallId, Draft, Event, Json, Kind, Seq, TurnId};

use super::draft;
use crate::permission::{Brief, Decider, Question};

/// Events read at once.
const PAGE: usize = 512;
/// A session has far fewer questions at a time; beyond this a log is not one of ours.
const MAX_QUESTIONS: usize = 4096;

#[derive(Default)]
pub(super) struct LeftOpen {
    /// Received and never ended, in order, and whether they started.
    turns: Vec<(TurnId, bool)>,
    questions: BTreeMap<CallId, OpenQuestion>,
}

struct OpenQuestion {
    turn: Option<TurnId>,
    kind: Kind,
    request: Json,
    was_asked: bool,
}

impl LeftOpen {
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
            (Kind::PermissionRequested | Kind::ElicitationRequested, turn) => {
                self.asked(event, turn);
            }
            (Kind::PermissionResolved | Kind::ElicitationResolved, _) => {
                let payload: Value = event.payload.read().unwrap_or_default();
                let id = payload["requestId"].as_str().and_then(|id| CallId::parse(id).ok());
                id.and_then(|id| self.questions.remove(&id));
            }
            _ => {}
        }
    }

    fn asked(&mut self, event: &Event, turn: Option<TurnId>) {
        #[derive(serde::Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Asked {
            request_id: CallId,
            #[serde(default)]
            ask: bool,
            request: Json,
        }
        let Ok(asked) = event.payload.read::<Asked>() else { return };
        if self.questions.len() < MAX_QUESTIONS {
            let Asked { request_id, ask: was_asked, request } = asked;
            let kind = event.kind.clone();
            self.questions.insert(request_id, OpenQuestion { turn, kind, request, was_asked });
        }
    }

    /// What closes it all: questions first, then the turns that they were asked in. The
    /// flag says whether somebody had been asked.
    pub(super) fn close(self, record: &SessionRecord) -> Vec<(Draft, bool)> {
        let questions = self.questions.into_iter();
        let mut drafts: Vec<_> = questions
            .map(|(id, question)| (question.withdrawn(id, record), question.was_asked))
            .collect();
        drafts.extend(self.turns.into_iter().map(|(turn, has_started)| {
            let draft = match has_started {
                true => draft(Kind::TurnEnded, Some(turn), &interrupted()),
                false => {
                    draft(Kind::PromptDropped, Some(turn), &json!({ "reason": "interrupted" }))
                }
            };
            (draft, true)
        }));
        drafts
    }
}

impl OpenQuestion {
    fn withdrawn(&self, id: CallId, record: &SessionRecord) -> Draft {
        let by = Decider::new("interrupted");
        if self.kind == Kind::ElicitationRequested {
            let (question, response) = (Brief::of_form(&self.request), json!({"action": "cancel"}));
            let payload =
                json!({"requestId": id, "by": by, "response": response, "question": question});
            return draft(Kind::ElicitationResolved, self.turn, &payload);
        }
        let roots = [PathBuf::from(&record.cwd)];
        let question = Question::read(self.request.as_str(), None, &record.agent, &roots);
        let payload = json!({
            "requestId": id,
            "by": by,
            "allowed": false,
            "outcome": { "outcome": "cancelled" },
            "question": Brief::of_permission(&question),
        });
        draft(Kind::PermissionResolved, self.turn, &payload)
    }
}

fn interrupted() -> Value {
    json!({
        "stopReason": "error",
        "error": {
            "category": "interrupted",
            "message": "Switchyard ended while this turn was running",
            "remedy": "send the prompt again",
        },
    })
}
