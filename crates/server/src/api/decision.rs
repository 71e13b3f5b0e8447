//! The outcome of an agent's question: every decision is in the log.

use serde::Serialize;
use serde_json::Value;
use serde_with::skip_serializing_none;
use utoipa::ToSchema;
use wire::event::{Decider, RecordedOutcome};
use wire::{CallId, Event, OwnEvent, Seq, SessionId};

use crate::daemon::Daemon;
use crate::principal::Principal;
use crate::problem::Problem;

/// Events read at once.
const PAGE: usize = 512;
/// How far back a decision is looked for.
const MAX_LOOKED_AT: u64 = 1 << 16;

/// A decision about an agent's question.
#[skip_serializing_none]
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct QuestionDecision {
    request_id: String,
    by: Decider,
    /// The chosen option, where a permission was asked for.
    outcome: Option<RecordedOutcome>,
    /// The answer to an elicitation.
    #[schema(value_type = Option<Object>)]
    response: Option<Value>,
}

/// The outcome of one question, as the session's log has it.
#[derive(Debug)]
pub(super) enum QuestionOutcome {
    /// The log has nothing: there was no such question, or it is long ago.
    Unknown,
    /// It was asked, and is over without an answer.
    Over,
    Decided(Box<QuestionDecision>),
}

/// The outcome of a question; the log is read backwards from its end.
pub(super) async fn question_outcome(
    daemon: &Daemon,
    principal: &Principal,
    session: SessionId,
    request: CallId,
) -> Result<QuestionOutcome, Problem> {
    let budget = daemon.load.budget(&principal.name);
    let head = daemon.registry.record(session).await?.head.0;
    let least = head.saturating_sub(MAX_LOOKED_AT);
    let mut end = head;
    while end > least {
        let start = end.saturating_sub(PAGE as u64).max(least);
        let mut after = Seq(start);
        let mut fate = QuestionOutcome::Unknown;
        while after.0 < end {
            let read = budget.read(&**daemon.registry.log(), session, after, PAGE).await?;
            let Some(last) = read.events.last() else { break };
            after = last.seq;
            for event in &read.events {
                fate = later(fate, event, request);
            }
        }
        if !matches!(fate, QuestionOutcome::Unknown) {
            return Ok(fate);
        }
        end = start;
    }
    Ok(QuestionOutcome::Unknown)
}

fn later(before: QuestionOutcome, event: &Event, request: CallId) -> QuestionOutcome {
    let Some(own) = event.own() else { return before };
    let asked = own.question().map(|asked| asked.id);
    if asked.or_else(|| own.answered_question()) != Some(request) {
        return before;
    }
    QuestionDecision::of(own)
        .map_or(QuestionOutcome::Over, |decision| QuestionOutcome::Decided(Box::new(decision)))
}

impl QuestionDecision {
    /// The decision that an event records.
    fn of(own: OwnEvent<'_>) -> Option<Self> {
        let (request_id, by, outcome, response) = match own {
            OwnEvent::PermissionResolved(told) => {
                (told.request_id, told.by, Some(told.outcome), None)
            }
            OwnEvent::ElicitationResolved(told) => {
                (told.request_id, told.by, None, told.response.read().ok())
            }
            _ => return None,
        };
        Some(Self { request_id: request_id.to_string(), by, outcome, response })
    }

    pub(super) fn in_words(&self) -> String {
        let detail =
            self.by.detail.as_ref().map_or_else(String::new, |detail| format!(" {detail}"));
        let outcome = self.outcome.as_ref();
        let what =
            outcome.map(|outcome| outcome.name.as_ref().unwrap_or(&outcome.outcome).as_str());
        let action = || self.response.as_ref()?["action"].as_str();
        let what = what.or_else(action).unwrap_or("answered");
        format!("{}{detail} decided: {what}", self.by.who.as_str())
    }
}
