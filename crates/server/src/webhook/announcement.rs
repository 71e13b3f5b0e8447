//! The content of announcements, read at the moment they are sent.
//!
//! In: what it is about. Out: its body, or nothing if it no longer is so. The id depends on
//! what it is about alone, so that a receiver that gets it twice can tell.

use std::sync::Arc;

use serde_json::{Value, json};
use sessions::context::SessionContext;
use sessions::pending::PendingQuestion;
use store::{SessionRecord, StoreError};
use wire::event::{
    Decider, ElicitationResolved, PermissionResolved, QuestionSummary, RecordedOutcome, StopReason,
};
use wire::{CallId, Event, Id36, Json, Millis, OwnEvent, Seq, SessionId, TurnId};

use super::WebhookTopic;

/// The subject of an announcement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct AnnouncementSubject {
    pub(super) session: SessionId,
    pub(super) topic: WebhookTopic,
    pub(super) cause: AnnouncementCause,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum AnnouncementCause {
    Question(CallId),
    Event(Seq),
    Halted { at: Millis, turn: Option<TurnId>, why: String },
}

#[derive(Debug)]
pub(super) struct Announcement {
    pub(super) id: String,
    pub(super) body: Json,
}

#[derive(Debug)]
pub(super) struct AnnouncementWriter {
    context: SessionContext,
    link_base: String,
}

impl AnnouncementWriter {
    pub(super) fn new(context: SessionContext, link_base: &str) -> Self {
        Self { context, link_base: link_base.trim_end_matches('/').to_owned() }
    }

    /// `None` if there is nothing to announce any more.
    pub(super) async fn write(
        &self,
        subject: &AnnouncementSubject,
    ) -> Result<Option<Announcement>, StoreError> {
        let session = subject.session;
        let Some(record) = self.context.log.session(session).await? else { return Ok(None) };
        let body = match &subject.cause {
            AnnouncementCause::Question(request_id) => {
                // Looked up last: it may have been answered while the record was read.
                let question = self.context.pending.get(session, *request_id);
                question.map(|question| question_body(&question))
            }
            AnnouncementCause::Event(seq) => {
                let event = self.event(session, *seq).await?;
                event.and_then(|event| event_body(subject.topic, &event))
            }
            AnnouncementCause::Halted { at, turn, why } => {
                let error = json!({ "category": "internal", "message": why });
                Some(json!({ "time": at.0, "turn": turn, "error": error }))
            }
        };
        Ok(body.map(|body| self.finish(subject, &record, body)))
    }

    async fn event(&self, session: SessionId, seq: Seq) -> Result<Option<Event>, StoreError> {
        let before = Seq(seq.0.saturating_sub(1));
        match self.context.log.read(session, before, 1).await {
            Ok(events) => Ok(events.into_iter().next()),
            Err(StoreError::NoSuchSession(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn finish(
        &self,
        subject: &AnnouncementSubject,
        record: &SessionRecord,
        body: Value,
    ) -> Announcement {
        let id = subject.id();
        // A person opens the page, which also shows the question; a program asks the API.
        let link = format!("{}/sessions/{}", self.link_base, record.id);
        let session = format!("{}/v1/sessions/{}", self.link_base, record.id);
        let api = match &subject.cause {
            AnnouncementCause::Question(request_id) => {
                format!("{session}/permissions/{request_id}")
            }
            AnnouncementCause::Event(_) | AnnouncementCause::Halted { .. } => session,
        };
        let mut all = json!({
            "id": id,
            "type": subject.topic.name(),
            "session": record.id,
            "agent": record.agent,
            "cwd": record.cwd,
            "title": record.title,
        });
        if let (Value::Object(all), Value::Object(body)) = (&mut all, body) {
            all.extend(body);
        }
        all["link"] = json!(link);
        all["api"] = json!(api);
        Announcement { id, body: Json::of(&all) }
    }
}

impl AnnouncementSubject {
    fn id(&self) -> String {
        let about = match &self.cause {
            AnnouncementCause::Question(request_id) => request_id.as_str().as_bytes().to_vec(),
            AnnouncementCause::Event(seq) => seq.0.to_be_bytes().to_vec(),
            AnnouncementCause::Halted { at, .. } => at.0.to_be_bytes().to_vec(),
        };
        let (session, topic) = (self.session.as_str().as_bytes(), self.topic.name().as_bytes());
        let parts: [&[u8]; 4] = [b"webhook", topic, session, &about];
        Id36::<24>::derived(&parts).to_string()
    }
}

fn question_body(question: &Arc<PendingQuestion>) -> Value {
    let options: Vec<Value> = question
        .options
        .iter()
        .map(|option| json!({ "id": option.id, "name": option.name, "kind": option.kind }))
        .collect();
    json!({
        "time": question.since.0,
        "turn": question.turn,
        "requestId": question.request_id,
        "question": {
            "wants": question.wants,
            "title": question.title,
            "kind": question.kind,
            "options": options,
            "until": question.until.map(|until| until.0),
        },
    })
}

/// An event of the log; `None` if it is not what the topic is about.
fn event_body(topic: WebhookTopic, event: &Event) -> Option<Value> {
    let mut body = match (topic, event.own()?) {
        (WebhookTopic::PermissionResolved, OwnEvent::PermissionResolved(resolved)) => {
            let PermissionResolved { request_id, by, question, waited_ms, .. } = &resolved;
            let allowed = Some(resolved.allowed);
            decision_body(*request_id, question, by, *waited_ms, allowed, &resolved.outcome)
        }
        (WebhookTopic::PermissionResolved, OwnEvent::ElicitationResolved(resolved)) => {
            let ElicitationResolved { request_id, by, question, waited_ms, response } = &resolved;
            let response: Value = response.read().unwrap_or_default();
            let outcome = response["action"].as_str().unwrap_or_default().to_owned();
            let outcome = RecordedOutcome { outcome, ..RecordedOutcome::default() };
            decision_body(*request_id, question, by, *waited_ms, None, &outcome)
        }
        (WebhookTopic::TurnEnded, OwnEvent::TurnEnded(ended)) => {
            json!({ "stopReason": ended.stop_reason, "error": ended.error })
        }
        (WebhookTopic::SessionFailed, OwnEvent::TurnEnded(ended))
            if ended.stop_reason == StopReason::Error =>
        {
            json!({ "error": ended.error })
        }
        _ => return None,
    };
    body["time"] = json!(event.at.0);
    body["turn"] = json!(event.turn);
    Some(body)
}

fn decision_body(
    request: CallId,
    question: &QuestionSummary,
    by: &Decider,
    waited_ms: Option<u64>,
    allowed: Option<bool>,
    outcome: &RecordedOutcome,
) -> Value {
    json!({
        "requestId": request,
        "question": { "title": question.title, "kind": question.kind },
        "decision": {
            "allowed": allowed,
            "outcome": outcome.outcome,
            "optionId": outcome.option_id,
            "optionKind": outcome.kind,
            "by": by,
            "waitedMs": waited_ms,
        },
    })
}
