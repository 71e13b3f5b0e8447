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

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use store::{Batch, Changes, Durability};
use wire::event::{DecidedBy, Decider, LimitRaised, LimitReached, OptionSet, PermissionRequested};
use wire::{CallId, Category, Draft, Fault, Json, Message, RpcId};

use super::actor::{Actor, Halt, LinkState};
use super::question::{Asks, Pending, Settled};
use crate::budget::{Limit, Limits, Reached, show_with_unit};
use crate::mint;
use crate::permission::{Question, summary};
use crate::yard::draft;
use bus::connection::Outcome;

/// The time that a turn has run is in the record with every batch that changes the record, and
/// at least this often while the agent speaks: a crash forgets no more.
const SAVE_TIME_EVERY: Duration = Duration::from_secs(5);

const CONTINUE: &str = "continue";
const CONTINUE_WITHOUT: &str = "continue_without";
const STOP: &str = "stop";

#[derive(Debug)]
pub(super) struct Paused {
    request: CallId,
    limit: Limit,
    /// What waits for the session to go on, in order. Bounded by the requests that an agent
    /// may have open at once.
    kept: Vec<KeptBack>,
}

#[derive(Debug)]
pub(super) enum KeptBack {
    /// The agent asked after it was to stop.
    Request(Message),
    /// An answer that the agent does not get yet.
    Answer(RpcId, Outcome),
}

/// Measures how long turns run.
#[derive(Debug, Default)]
pub(super) struct Clock {
    running_since: Option<Instant>,
    saved_at: Option<Instant>,
}

impl Actor {
    /// Counts the time since the last call, and pauses a turn that has used enough.
    pub(super) async fn check_limits(&mut self) -> Result<(), Halt> {
        self.count_time();
        let reached = self.details.budget.reached_in_turn();
        match reached.or_else(|| self.silence()) {
            Some(reached) if self.can_be_paused() => self.pause(reached).await,
            _ => Ok(()),
        }
    }

    /// The agent has the prompt, and nobody has stopped it yet.
    fn can_be_paused(&self) -> bool {
        self.turns.running().is_some_and(|running| !running.is_cancelling)
            && self.again.is_none()
            && matches!(self.link, LinkState::Linked { .. })
            && self.paused.is_none()
    }

    /// A turn runs, and does not wait for a person.
    fn is_running(&self) -> bool {
        self.turns.running().is_some() && self.questions.is_empty() && self.paused.is_none()
    }

    pub(super) fn count_time(&mut self) {
        let now = Instant::now();
        if let Some(since) = self.clock.running_since.take() {
            self.details.budget.add_running(now - since);
        }
        self.clock.running_since = self.is_running().then_some(now);
    }

    /// When the running turn will have run, or the agent been silent, for long enough.
    pub(super) fn limit_deadline(&self) -> Option<Instant> {
        if !self.can_be_paused() {
            return None;
        }
        let budget = &self.details.budget;
        let (since, left) = (self.clock.running_since, budget.running_left());
        let has_run = since.zip(left).and_then(|(since, left)| since.checked_add(left));
        let silence = budget.allowed().inactive.filter(|_| self.is_running());
        let is_silent = silence.and_then(|silence| self.heard_at.checked_add(silence));
        has_run.into_iter().chain(is_silent).min()
    }

    fn silence(&self) -> Option<Reached> {
        let silent = self.is_running().then(|| self.heard_at.elapsed())?;
        self.details.budget.silence(silent)
    }

    /// Why a turn ends of which nobody has said whether it may go on being silent.
    pub(super) fn fell_silent(&self) -> Fault {
        let limit = self.details.budget.limits().value(Limit::InactiveSeconds);
        let limit = limit.map_or_else(String::new, |limit| limit.to_string());
        Fault::new(
            Category::Timeout,
            format!("the agent said nothing for {limit} s, and nobody answered whether to wait"),
        )
    }

    /// The record, if the time in it is old.
    pub(super) fn details_if_old(&mut self) -> Option<Json> {
        let now = Instant::now();
        let saved_at = *self.clock.saved_at.get_or_insert(now);
        if now.duration_since(saved_at) < SAVE_TIME_EVERY {
            return None;
        }
        self.clock.saved_at = Some(now);
        self.count_time();
        Some(self.details.to_json())
    }

    /// Stops what runs, and asks.
    pub(super) async fn pause(&mut self, reached: Reached) -> Result<(), Halt> {
        // First of all: what it does while we write is spent too.
        let is_frozen = self.turns.running().is_some() && self.freeze();
        tracing::info!(session = %self.id, %reached, is_frozen, "paused");
        self.count_time();
        let id = mint::call_id();
        let request = self.limit_request(id, &reached);
        let question = Question::read(request.as_str(), None, &self.agent, &self.roots.paths());
        let Reached { limit, used, allowed } = reached;
        let told = LimitReached { limit, used, allowed, request_id: id, frozen: is_frozen };
        let asked = PermissionRequested {
            request_id: id,
            ask: true,
            limit: Some(limit),
            request: request.as_raw(),
        };
        // The turn that waits, when none runs.
        let turn = self.turns.running().map(|running| running.turn);
        let turn = turn.or_else(|| self.turns.queued().next());
        let drafts = vec![draft(turn, told), draft(turn, asked)];
        self.paused = Some(Paused { request: id, limit, kept: Vec::new() });
        let summary = summary::of_permission(&question);
        let within = self.yard.settings.permission_within;
        let within = (limit == Limit::InactiveSeconds).then_some(within);
        let mut pending = Pending::new(id, None, Asks::Limit(question), summary, within);
        self.append_safely(drafts).await?;
        // Where too many wait it is not in the list of all, and can be answered all the same.
        pending.listed = self.yard.pending.add(self.listing(&pending, request)).ok();
        let observers = &self.yard.settings.observers;
        pending.watch = observers.watch(|observer| observer.question(&self.agent));
        self.questions.add(pending);
        Ok(())
    }

    /// The question, as an agent would ask it.
    fn limit_request(&self, id: CallId, reached: &Reached) -> Json {
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

    /// Puts an answer into the budget; what is to be logged about it.
    pub(super) fn note_limit_answer(&mut self, settled: &Settled, by: &Decider) -> Option<Draft> {
        let limit = self.paused.as_ref()?.limit;
        let request = self.paused.as_ref()?.request;
        let response: Value = settled.response.read().unwrap_or_default();
        let budget = &mut self.details.budget;
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
        let allowed = budget.allowed().value(limit);
        Some(self.event(LimitRaised { limit, allowed, request_id: request, by: by.clone() }))
    }

    /// Carries out what was answered, after it is in the log.
    pub(super) async fn obey_limit_answer(&mut self, settled: &Settled) -> Result<(), Halt> {
        if settled.is_rejection { self.cancel("limit", None).await } else { self.unpause().await }
    }

    /// Other limits. A pause that they make needless ends.
    pub(super) async fn set_limits(&mut self, limits: Limits, by: &str) -> Result<(), Halt> {
        self.count_time();
        self.details.budget.set(limits);
        let params = Json::of(&json!({ "limits": limits }));
        let method = "_switchyard/set_limits".to_owned();
        let set = OptionSet { method, params: params.as_raw(), by: Some(by.to_owned()) };
        let mut drafts = vec![self.event(set)];
        let ended = self
            .paused
            .as_ref()
            .filter(|paused| self.details.budget.reached(paused.limit).is_none());
        let Some((limit, request)) = ended.map(|paused| (paused.limit, paused.request)) else {
            return self.append_safely(drafts).await;
        };
        let by = Decider::detailed(DecidedBy::Limits, by);
        let allowed = self.details.budget.allowed().value(limit);
        let raised = LimitRaised { limit, allowed, request_id: request, by: by.clone() };
        drafts.push(self.event(raised));
        self.append_safely(drafts).await?;
        self.withdraw_limit(&by).await?;
        self.unpause().await
    }

    /// Nothing is left that the question is about.
    pub(super) async fn withdraw_limit(&mut self, by: &Decider) -> Result<(), Halt> {
        let Some(request) = self.paused.as_ref().map(|paused| paused.request) else {
            return Ok(());
        };
        if let Some(pending) = self.questions.take_one(request) {
            let settled = pending.asks.cancel();
            self.settle(pending, &settled, by).await?;
        }
        Ok(())
    }

    /// Lets everything go on that was kept back.
    pub(super) async fn unpause(&mut self) -> Result<(), Halt> {
        let Some(paused) = self.paused.take() else { return Ok(()) };
        self.thaw();
        // It could say nothing meanwhile.
        self.still_at_work();
        self.count_time();
        for kept in paused.kept {
            match kept {
                KeptBack::Request(message) => self.requested(message).await?,
                KeptBack::Answer(id, outcome) => self.respond(&id, outcome),
            }
        }
        Ok(())
    }

    /// Keeps something back while paused; gives it back when it need not wait.
    pub(super) fn keep_back(&mut self, what: KeptBack) -> Option<KeptBack> {
        match &mut self.paused {
            Some(paused) => {
                paused.kept.push(what);
                None
            }
            None => Some(what),
        }
    }

    /// Stops the agent and the commands that run for it; false if others need the agent.
    fn freeze(&self) -> bool {
        self.services.terminals.pause_all();
        match &self.link {
            LinkState::Linked { linkage, .. } => linkage.host.pause(),
            LinkState::Unlinked | LinkState::Linking => false,
        }
    }

    fn thaw(&self) {
        self.services.terminals.resume_all();
        if let LinkState::Linked { linkage, .. } = &self.link {
            linkage.host.resume();
        }
    }

    /// Appends with the record, safe against a power cut.
    async fn append_safely(&mut self, drafts: Vec<Draft>) -> Result<(), Halt> {
        let changes = Changes { details: Some(self.details.to_json()), ..Changes::default() };
        let batch = Batch::new(self.id, drafts).durable(Durability::Power).with(changes);
        self.head = self.yard.append(batch).await?.last;
        Ok(())
    }
}

fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars.next().map(|c| c.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}.", chars.as_str())
}
