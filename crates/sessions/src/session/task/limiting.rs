//! A session that has used enough pauses and asks a person.
//!
//! In: what the budget says, and the answer. Out: `limit_reached` and a question like those of
//! agents, so that every client that can answer permissions can answer it; then the session
//! goes on, or stops.
//!
//! Always true while paused: no prompt starts, and what the agent asks stays unanswered. A
//! running agent is stopped with everything it started, unless it serves other sessions too;
//! then it is only held back. No rule, mode or timeout answers the question, and the time of
//! waiting is not counted; but an agent that says nothing, and about which nobody says anything
//! either, is stopped in the end.

use std::time::Instant;

use serde_json::json;
use wire::event::{DecidedBy, Decider, LimitReached, OptionSet, PermissionRequested};
use wire::{CallId, Json};

use super::{LogFailure, SessionTask};
use crate::budget::{BudgetLimits, Limit, ReachedLimit, show_with_unit};
use crate::context::draft;
use crate::mint;
use crate::permission::{PolicyQuestion, summary};
use crate::session::limit_gate::{CONTINUE, CONTINUE_WITHOUT, DeferredMessage, STOP};
use crate::session::questions::{QuestionKind, Settlement, WaitingQuestion};

impl SessionTask {
    /// Counts the time since the last call, and pauses a turn that has used enough.
    pub(super) async fn check_limits(&mut self) -> Result<(), LogFailure> {
        self.count_time();
        let reached = self.details.budget.reached_in_turn();
        match reached.or_else(|| self.silence_reached()) {
            Some(reached) if self.can_be_paused() => self.pause(reached).await,
            _ => Ok(()),
        }
    }

    /// The agent has the prompt, and nobody has stopped it yet.
    fn can_be_paused(&self) -> bool {
        self.turns.running().is_some_and(|running| !running.is_cancelling)
            && self.progress.waiting().is_none()
            && self.link.agent().is_some()
            && !self.gate.is_paused()
    }

    /// A turn runs, and does not wait for a person.
    fn is_running(&self) -> bool {
        self.turns.running().is_some() && self.questions.is_empty() && !self.gate.is_paused()
    }

    pub(super) fn count_time(&mut self) {
        let runs = self.is_running();
        self.gate.count(&mut self.details.budget, Instant::now(), runs);
    }

    /// When the running turn will have run, or the agent been silent, for long enough.
    pub(super) fn limit_deadline(&self) -> Option<Instant> {
        let silent_since = self.is_running().then(|| self.silence.since());
        let deadline = self.gate.deadline(&self.details.budget, silent_since);
        deadline.filter(|_| self.can_be_paused())
    }

    fn silence_reached(&self) -> Option<ReachedLimit> {
        let silent = self.is_running().then(|| self.silence.since().elapsed())?;
        self.details.budget.silence(silent)
    }

    /// Stops what runs, and asks.
    pub(super) async fn pause(&mut self, reached: ReachedLimit) -> Result<(), LogFailure> {
        // First of all: what it does while we write is spent too.
        let is_frozen = self.turns.running().is_some() && self.freeze();
        tracing::info!(session = %self.id, %reached, is_frozen, "paused");
        self.count_time();
        let id = mint::call_id();
        let request = self.limit_request(id, &reached);
        let question = PolicyQuestion::read(
            request.as_str(),
            None,
            &self.judge.agent,
            &self.judge.roots.paths(),
        );
        let ReachedLimit { limit, used, allowed } = reached;
        let told = LimitReached { limit, used, allowed, request_id: id, frozen: is_frozen };
        let asked = PermissionRequested {
            request_id: id,
            ask: true,
            limit: Some(limit),
            request: request.as_raw(),
        };
        // The turn that waits, when none runs.
        let turn = self.turns.next();
        let drafts = vec![draft(turn, told), draft(turn, asked)];
        self.gate.pause(limit, id);
        self.append_durably(drafts, self.record()).await?;
        let summary = summary::of_permission(&question);
        let deadline = Instant::now() + self.context.settings.permission_within;
        let deadline = (limit == Limit::InactiveSeconds).then_some(deadline);
        let pending =
            WaitingQuestion::new(id, None, QuestionKind::Limit(question), summary, deadline);
        // Where too many wait it is not in the list of all, and can be answered all the same.
        let listed = self.context.pending.add(self.listing(&pending, request)).ok();
        self.put_to_people(pending, listed);
        Ok(())
    }

    /// The question, as an agent would ask it.
    fn limit_request(&self, id: CallId, reached: &ReachedLimit) -> Json {
        let limit = reached.limit;
        let again = self.details.budget.limits().value(limit);
        let again = again.map_or_else(String::new, |again| show_with_unit(limit, &again));
        let option = |id: &str, name: &str, kind: &str| json!({ "optionId": id, "name": name, "kind": kind });
        Json::of(&json!({
            "sessionId": self.public_id,
            "toolCall": {
                "toolCallId": format!("limit-{id}"),
                "title": format!("Go on? {}", sentence(&reached.to_string())),
                "kind": "other",
                "status": "pending",
                "_meta": { "switchyard": { "isQuestion": true, "limit": limit } },
            },
            "options": [
                option(CONTINUE, &format!("Go on, {again} more"), "allow_once"),
                option(CONTINUE_WITHOUT, "Go on without this limit", "allow_always"),
                option(STOP, "Stop", "reject_once"),
            ],
        }))
    }

    /// Carries out what was answered, after it is in the log.
    pub(super) async fn obey_limit_answer(
        &mut self,
        settled: &Settlement,
    ) -> Result<(), LogFailure> {
        if settled.is_rejection { self.cancel("limit", None).await } else { self.unpause().await }
    }

    /// Replaces the limits. A pause that they make needless ends.
    pub(super) async fn set_limits(
        &mut self,
        limits: BudgetLimits,
        by: &str,
    ) -> Result<(), LogFailure> {
        self.count_time();
        self.details.budget.set(limits);
        let params = Json::of(&json!({ "limits": limits }));
        let method = "_switchyard/set_limits".to_owned();
        let set = OptionSet { method, params: params.as_raw(), by: Some(by.to_owned()) };
        let mut drafts = vec![self.event(set)];
        let by = Decider::detailed(DecidedBy::Limits, by);
        let Some(raised) = self.gate.needless(&self.details.budget, &by) else {
            return self.append_durably(drafts, self.record()).await;
        };
        drafts.push(self.event(raised));
        self.append_durably(drafts, self.record()).await?;
        self.withdraw_limit(&by).await?;
        self.unpause().await
    }

    /// Withdraws the question about a limit, if there is one.
    pub(super) async fn withdraw_limit(&mut self, by: &Decider) -> Result<(), LogFailure> {
        let request = self.gate.request();
        if let Some(pending) = request.and_then(|request| self.questions.take_one(request)) {
            let settled = pending.asks.cancel();
            self.settle(pending, &settled, by).await?;
        }
        Ok(())
    }

    /// Lets everything go on that was kept back.
    pub(super) async fn unpause(&mut self) -> Result<(), LogFailure> {
        let Some(kept) = self.gate.open() else { return Ok(()) };
        self.thaw();
        // It could say nothing meanwhile.
        self.silence.begin_anew(Instant::now());
        self.count_time();
        for kept in kept {
            match kept {
                DeferredMessage::Request(message) => self.handle_agent_request(message).await?,
                DeferredMessage::Answer(id, outcome) => self.respond(&id, outcome),
            }
        }
        Ok(())
    }

    /// Stops the agent and the commands that run for it; false if others need the agent.
    fn freeze(&self) -> bool {
        self.services.terminals.pause_all();
        self.link.agent().is_some_and(|agent| agent.host.pause())
    }

    fn thaw(&self) {
        self.services.terminals.resume_all();
        if let Some(agent) = self.link.agent() {
            agent.host.resume();
        }
    }
}

fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars.next().map(|c| c.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}.", chars.as_str())
}
