//! Questions that wait for a person: the agent's, and our own about a limit.
//!
//! In: questions, answers, time. Out: which answer counts, and what is answered for want of one. No
//! I/O, and no clock beside the time at which a question was asked.
//!
//! Always true: a question is answered once. The first valid answer wins; later ones are
//! told so. A question of the agent that nobody answers in time is rejected, never allowed.

use std::time::{Duration, Instant};

use serde_json::json;
use wire::event::{DecidedBy, Decider, QuestionSummary};
use wire::{CallId, Json, RpcId};

use super::SubmittedAnswer;
use crate::observer::{ObservationGuard, WatchGuards};
use crate::pending::QuestionListing;
use crate::permission::{PermissionOutcome, PolicyQuestion};

/// Questions that wait at a time: no agent that means well asks more.
const MAX_PENDING: usize = 64;

#[derive(Debug, Default)]
pub(super) struct Questions {
    pending: Vec<WaitingQuestion>,
}

#[derive(Debug)]
pub(super) struct WaitingQuestion {
    pub(super) id: CallId,
    /// The agent's request; none if we ask.
    pub(super) rpc_id: Option<RpcId>,
    pub(super) asks: QuestionKind,
    pub(super) summary: QuestionSummary,
    pub(super) asked_at: Instant,
    /// Without one it waits for as long as it takes.
    pub(super) deadline: Option<Instant>,
    /// Its entry in the list of all questions, while people are asked.
    pub(super) listed: Option<QuestionListing>,
    pub(super) watch: WatchGuards<dyn ObservationGuard>,
}

impl WaitingQuestion {
    /// A question that is not listed and not watched yet.
    pub(super) fn new(
        id: CallId,
        rpc_id: Option<RpcId>,
        asks: QuestionKind,
        summary: QuestionSummary,
        deadline: Option<Instant>,
    ) -> Self {
        let (asked_at, watch) = (Instant::now(), WatchGuards::default());
        Self { id, rpc_id, asks, summary, asked_at, deadline, listed: None, watch }
    }

    /// How long people have been asked; `None` if they were not.
    pub(super) fn waited(&self) -> Option<Duration> {
        self.listed.as_ref().map(|_| self.asked_at.elapsed())
    }
}

#[derive(Debug)]
pub(super) enum QuestionKind {
    Permission(PolicyQuestion),
    /// Whether to go on beyond a limit; asked like a permission.
    Limit(PolicyQuestion),
    Elicitation,
}

/// A valid answer, as the agent and the log get it.
#[derive(Debug)]
pub(super) struct Settlement {
    pub(super) response: Json,
    pub(super) is_rejection: bool,
}

impl Questions {
    pub(super) fn add(&mut self, pending: WaitingQuestion) {
        self.pending.push(pending);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }

    /// The answer at once, if people are not asked: because the turn `is_cancelling`, as it was
    /// `decided` without them, or because nobody is there.
    pub(super) fn decide(
        &self,
        asks: &QuestionKind,
        decided: Option<(Settlement, Decider)>,
        is_cancelling: bool,
        is_unattended: bool,
    ) -> Option<(Settlement, Decider)> {
        match decided {
            _ if is_cancelling => Some((asks.cancel(), Decider::new(DecidedBy::Cancel))),
            None if is_unattended => Some((asks.reject(), Decider::new(DecidedBy::Unattended))),
            None if self.pending.len() >= MAX_PENDING => Some((asks.reject(), too_many())),
            decided => decided,
        }
    }

    pub(super) fn next_deadline(&self) -> Option<Instant> {
        self.pending.iter().filter_map(|pending| pending.deadline).min()
    }

    /// Takes the question out if `answer` fits it.
    pub(super) fn take(
        &mut self,
        id: CallId,
        answer: &SubmittedAnswer,
    ) -> Option<(WaitingQuestion, Settlement)> {
        let index = self.pending.iter().position(|pending| pending.id == id)?;
        let settled = self.pending.get(index)?.asks.settle(answer)?;
        Some((self.pending.remove(index), settled))
    }

    pub(super) fn take_one(&mut self, id: CallId) -> Option<WaitingQuestion> {
        let index = self.pending.iter().position(|pending| pending.id == id)?;
        Some(self.pending.remove(index))
    }

    pub(super) fn take_all(&mut self) -> Vec<WaitingQuestion> {
        std::mem::take(&mut self.pending)
    }

    pub(super) fn take_overdue(&mut self, now: Instant) -> Vec<WaitingQuestion> {
        let is_overdue = |deadline: Instant| deadline <= now;
        self.pending.extract_if(.., |pending| pending.deadline.is_some_and(is_overdue)).collect()
    }
}

impl QuestionKind {
    pub(super) fn is_limit(&self) -> bool {
        matches!(self, Self::Limit(_))
    }

    /// The same without facts that were for its judgement alone; it may wait for long.
    pub(super) fn judged(self) -> Self {
        match self {
            Self::Permission(question) => Self::Permission(question.options_alone()),
            Self::Limit(question) => Self::Limit(question.options_alone()),
            Self::Elicitation => Self::Elicitation,
        }
    }

    fn settle(&self, answer: &SubmittedAnswer) -> Option<Settlement> {
        match (self, answer) {
            (Self::Permission(_), SubmittedAnswer::Permission(None)) => {
                Some(permission(&PermissionOutcome::Cancelled, true))
            }
            // A dialog that was closed is no leave to go on.
            (Self::Limit(_), SubmittedAnswer::Permission(None)) => Some(self.reject()),
            (
                Self::Permission(question) | Self::Limit(question),
                SubmittedAnswer::Permission(Some(option_id)),
            ) => {
                let option = question.options.iter().find(|option| option.id == *option_id)?;
                let outcome = PermissionOutcome::Selected { option_id: option_id.clone() };
                Some(permission(&outcome, !option.kind.starts_with("allow")))
            }
            (Self::Elicitation, SubmittedAnswer::Elicitation(response)) => {
                Some(Settlement { response: response.clone(), is_rejection: false })
            }
            (asks, SubmittedAnswer::Reject) => Some(asks.reject()),
            _ => None,
        }
    }

    /// The answer when nobody gives one.
    pub(super) fn reject(&self) -> Settlement {
        match self {
            Self::Permission(question) | Self::Limit(question) => {
                permission(&PermissionOutcome::reject(question), true)
            }
            Self::Elicitation => Self::cancelled_elicitation(),
        }
    }

    /// The answer when the turn is cancelled.
    pub(super) fn cancel(&self) -> Settlement {
        match self {
            Self::Permission(_) | Self::Limit(_) => permission(&PermissionOutcome::Cancelled, true),
            Self::Elicitation => Self::cancelled_elicitation(),
        }
    }

    fn cancelled_elicitation() -> Settlement {
        Settlement { response: Json::of(&json!({ "action": "cancel" })), is_rejection: true }
    }
}

pub(super) fn permission(outcome: &PermissionOutcome, is_rejection: bool) -> Settlement {
    Settlement { response: Json::of(&json!({ "outcome": outcome })), is_rejection }
}

pub(super) fn too_many() -> Decider {
    Decider::detailed(DecidedBy::Overflow, "too many questions wait already")
}

#[cfg(test)]
mod tests;
