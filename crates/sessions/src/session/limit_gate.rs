//! The gate at which a session stops that has used enough, until a person lets it go on.
//!
//! In: what the [`Budget`] says, time, and answers. Out: how long turns have run, when they will
//! have run enough, and what was kept back meanwhile. No I/O and no clock.
//!
//! Always true while paused: what the agent asks, and what it is to be answered, is kept back in
//! its order; and no time is counted.

use std::time::{Duration, Instant};

use serde_json::Value;
use wire::event::{DecidedBy, Decider, LimitRaised};
use wire::{CallId, Json, Message, RpcId};

use crate::budget::{Budget, Limit};
use bus::connection::RpcResult;

/// The time that a turn has run is in the record with every batch that changes the record, and
/// at least this often while the agent speaks: a crash forgets no more.
const SAVE_TIME_EVERY: Duration = Duration::from_secs(5);

pub(super) const CONTINUE: &str = "continue";
pub(super) const CONTINUE_WITHOUT: &str = "continue_without";
pub(super) const STOP: &str = "stop";

#[derive(Debug, Default)]
pub(super) struct LimitGate {
    paused: Option<LimitPause>,
    running_since: Option<Instant>,
    saved_at: Option<Instant>,
}

#[derive(Debug)]
struct LimitPause {
    request: CallId,
    limit: Limit,
    /// Messages that wait for the session to go on, in order. Bounded by the requests that an agent
    /// may have open at once.
    kept: Vec<DeferredMessage>,
}

#[derive(Debug)]
pub(super) enum DeferredMessage {
    /// The agent asked after it was to stop.
    Request(Message),
    /// An answer that the agent does not get yet.
    Answer(RpcId, RpcResult),
}

impl LimitGate {
    pub(super) fn is_paused(&self) -> bool {
        self.paused.is_some()
    }

    /// The question that the session is paused for.
    pub(super) fn request(&self) -> Option<CallId> {
        self.paused.as_ref().map(|paused| paused.request)
    }

    /// Counts the time since the last call. From now on it is counted if a turn `runs`.
    pub(super) fn count(&mut self, budget: &mut Budget, now: Instant, runs: bool) {
        if let Some(since) = self.running_since.take() {
            budget.add_running(now.duration_since(since));
        }
        self.running_since = (runs && !self.is_paused()).then_some(now);
    }

    /// When the running turn will have run, or the agent been silent, for long enough.
    pub(super) fn deadline(
        &self,
        budget: &Budget,
        silent_since: Option<Instant>,
    ) -> Option<Instant> {
        let (since, left) = (self.running_since, budget.running_left());
        let has_run = since.zip(left).and_then(|(since, left)| since.checked_add(left));
        let silence = silent_since.zip(budget.allowed().inactive);
        let is_silent = silence.and_then(|(since, silence)| since.checked_add(silence));
        has_run.into_iter().chain(is_silent).min()
    }

    /// Whether the time in the record is old; the next record has it.
    pub(super) fn is_record_old(&mut self, now: Instant) -> bool {
        let saved_at = *self.saved_at.get_or_insert(now);
        let is_old = now.duration_since(saved_at) >= SAVE_TIME_EVERY;
        if is_old {
            self.saved_at = Some(now);
        }
        is_old
    }

    /// Closes the gate. `request` is the question to a person.
    pub(super) fn pause(&mut self, limit: Limit, request: CallId) {
        self.running_since = None;
        self.paused = Some(LimitPause { request, limit, kept: Vec::new() });
    }

    /// Keeps a message back while paused; gives it back when it need not wait.
    pub(super) fn keep_back(&mut self, what: DeferredMessage) -> Option<DeferredMessage> {
        let Some(paused) = &mut self.paused else { return Some(what) };
        paused.kept.push(what);
        None
    }

    /// Applies an answer to the budget; returns the event to log about it.
    pub(super) fn answered(
        &self,
        budget: &mut Budget,
        response: &Json,
        by: &Decider,
    ) -> Option<LimitRaised> {
        let limit = self.paused.as_ref()?.limit;
        let response: Value = response.read().unwrap_or_default();
        match response["outcome"]["optionId"].as_str() {
            Some(CONTINUE) => budget.grant(limit),
            Some(CONTINUE_WITHOUT) => budget.lift(limit),
            // Where nobody was asked, whoever comes next may be.
            Some(STOP) if by.who != DecidedBy::Unattended => {
                budget.stop(limit);
                return None;
            }
            // Or withdrawn: the turn is over, or the limit was raised in another way.
            _ => return None,
        }
        self.raised(budget, by)
    }

    /// The event to log if `budget` makes the pause needless.
    pub(super) fn needless(&self, budget: &Budget, by: &Decider) -> Option<LimitRaised> {
        let limit = self.paused.as_ref()?.limit;
        self.raised(budget, by).filter(|_| budget.reached(limit).is_none())
    }

    fn raised(&self, budget: &Budget, by: &Decider) -> Option<LimitRaised> {
        let LimitPause { limit, request, .. } = *self.paused.as_ref()?;
        let allowed = budget.allowed().value(limit);
        Some(LimitRaised { limit, allowed, request_id: request, by: by.clone() })
    }

    /// Opens the gate; returns what was kept back, if it was closed.
    pub(super) fn open(&mut self) -> Option<Vec<DeferredMessage>> {
        self.paused.take().map(|paused| paused.kept)
    }
}

#[cfg(test)]
mod tests;
