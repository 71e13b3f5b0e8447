//! Questions on their way: logged, put to people, answered once.
//!
//! Always true: a question's event is in the log before anybody is asked, and its answer is
//! synced before the agent hears it. The answer's event says what was decided, by whom and
//! about what, so that an audit needs no other.

use std::sync::Arc;
use std::time::Duration;

use store::{Batch, Changes, Durability};
use wire::event::{
    DecidedBy, Decider, ElicitationRequested, ElicitationResolved, PermissionRequested,
    PermissionResolved, RecordedOutcome,
};
use wire::{CallId, Json, Kind, Millis, Own, RpcId};

use super::Answer;
use super::actor::{Actor, Halt};
use super::question::{Asks, Pending, Settled};
use crate::mint;
use crate::pending::{MAX_REQUEST_BYTES, PendingQuestion, Wants};
use crate::permission::summary;

impl Actor {
    /// Logs a question and answers it at once, or leaves it to the attached clients.
    pub(super) async fn put(
        &mut self,
        rpc_id: RpcId,
        asks: Asks,
        params: Json,
        decided: Option<(Settled, Decider)>,
    ) -> Result<(), Halt> {
        let id = mint::call_id();
        let is_cancelling = self.turns.running().is_some_and(|running| running.is_cancelling);
        let decided = match decided {
            _ if is_cancelling => Some((asks.cancel(), Decider::new(DecidedBy::Cancel))),
            None if self.clients.is_empty() && !self.yard.settings.questions_wait => {
                Some((asks.reject(), Decider::new(DecidedBy::Unattended)))
            }
            None if self.questions.is_full() => Some((asks.reject(), too_many())),
            decided => decided,
        };
        let (request_id, ask, request) = (id, decided.is_none(), params.as_raw());
        let (asked, summary) = match &asks {
            Asks::Permission(question) | Asks::Limit(question) => {
                let asked = PermissionRequested { request_id, ask, limit: None, request };
                (self.event(asked), summary::of_permission(question))
            }
            Asks::Elicitation => {
                let asked = ElicitationRequested { request_id, ask, request };
                (self.event(asked), summary::of_form(&params))
            }
        };
        let asks = asks.judged();
        let drafts = vec![asked];
        self.append(drafts, Changes::default()).await?;
        let within = Some(self.yard.settings.permission_within);
        let mut pending = Pending::new(id, Some(rpc_id), asks, summary, within);
        if let Some((settled, by)) = decided {
            return self.settle(pending, &settled, &by).await;
        }
        match self.yard.pending.add(self.listing(&pending, params)) {
            Ok(listed) => {
                pending.listed = Some(listed);
                let observers = &self.yard.settings.observers;
                pending.watch = observers.watch(|observer| observer.question(&self.agent));
                self.questions.add(pending);
                Ok(())
            }
            Err(_) => {
                let settled = pending.asks.reject();
                self.settle(pending, &settled, &too_many()).await
            }
        }
    }

    /// The question as others see it.
    pub(super) fn listing(&self, pending: &Pending, params: Json) -> PendingQuestion {
        let (wants, options) = match &pending.asks {
            Asks::Permission(question) | Asks::Limit(question) => {
                (Wants::Permission, question.options.clone())
            }
            Asks::Elicitation => (Wants::Elicitation, Vec::new()),
        };
        let since = mint::now();
        let within = self.yard.settings.permission_within.as_millis();
        let until = since.0.saturating_add(i64::try_from(within).unwrap_or(i64::MAX));
        PendingQuestion {
            session: self.id,
            made_by: self.details.made_by.clone(),
            agent: self.agent.clone(),
            request_id: pending.id,
            wants,
            title: pending.summary.title.clone(),
            kind: pending.summary.kind.clone(),
            options,
            request: (params.as_str().len() <= MAX_REQUEST_BYTES).then(|| Arc::new(params)),
            seq: self.head,
            turn: self.current_turn(),
            since,
            until: pending.deadline.map(|_| Millis(until)),
            deadline: pending.deadline,
        }
    }

    pub(super) async fn answer(
        &mut self,
        request: CallId,
        answer: &Answer,
        by: Decider,
    ) -> Result<bool, Halt> {
        let Some((pending, settled)) = self.questions.take(request, answer) else {
            return Ok(false);
        };
        let is_limit = pending.asks.is_limit();
        self.settle(pending, &settled, &by).await?;
        if is_limit {
            self.obey_limit_answer(&settled).await?;
        }
        Ok(true)
    }

    /// Logs who decided what, durably, and then tells the agent.
    pub(super) async fn settle(
        &mut self,
        pending: Pending,
        settled: &Settled,
        by: &Decider,
    ) -> Result<(), Halt> {
        if matches!(pending.asks, Asks::Permission(_)) {
            let is_allowed = !settled.is_rejection;
            let (observers, who) = (&self.yard.settings.observers, by.who.as_str());
            observers.tell(|observer| observer.decided(&self.agent, who, is_allowed));
        }
        let mut drafts = vec![self.event(decision(&pending, settled, by))];
        let mut changes = Changes::default();
        if pending.asks.is_limit() {
            drafts.extend(self.note_limit_answer(settled, by));
            changes.details = Some(self.details.to_json());
        }
        let batch = Batch::new(self.id, drafts).durable(Durability::Power).with(changes);
        self.head = self.yard.append(batch).await?.last;
        if let Some(id) = &pending.rpc_id {
            self.respond(id, Ok(settled.response.clone()));
        }
        // The agent could say nothing while it waited.
        self.still_at_work();
        // Whoever hears of the answer must not find the question in the list any more.
        let Pending { listed, .. } = pending;
        if listed.map(drop).is_some() {
            self.yard.tell(self.id, &Kind::PermissionResolved, self.head);
        }
        Ok(())
    }
}

/// The event of an answer.
fn decision<'a>(pending: &Pending, settled: &'a Settled, by: &Decider) -> Own<'a> {
    let (request_id, by, question) = (pending.id, by.clone(), pending.summary.clone());
    let waited_ms = pending.waited().map(millis);
    let options = match &pending.asks {
        Asks::Permission(question) | Asks::Limit(question) => &question.options,
        Asks::Elicitation => {
            let response = settled.response.as_raw();
            return ElicitationResolved { request_id, by, response, question, waited_ms }.into();
        }
    };
    #[derive(serde::Deserialize, Default)]
    struct Response {
        outcome: RecordedOutcome,
    }
    let Response { mut outcome } = settled.response.read().unwrap_or_default();
    if let Some(chosen) = options.iter().find(|o| Some(&o.id) == outcome.option_id.as_ref()) {
        outcome.kind = Some(chosen.kind.clone());
        outcome.name = Some(chosen.name.clone());
    }
    let allowed = !settled.is_rejection;
    PermissionResolved { request_id, by, allowed, outcome, question, waited_ms }.into()
}

fn too_many() -> Decider {
    Decider::detailed(DecidedBy::Overflow, "too many questions wait already")
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
