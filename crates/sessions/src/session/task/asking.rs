//! Questions of the agent: logged, put to people, answered once.
//!
//! Always true: a question's event is in the log before anybody is asked, and its answer is
//! synced before the agent hears it. The answer's event says what was decided, by whom and
//! about what, so that an audit needs no other.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;
use store::RecordChanges;
use wire::event::{
    Decider, ElicitationRequested, ElicitationResolved, PermissionRequested, PermissionResolved,
    RecordedOutcome,
};
use wire::{CallId, Json, Message, Millis, OwnEvent, RpcError, RpcId};

use super::{LogFailure, SessionTask};
use crate::mint;
use crate::notices::Notice;
use crate::pending::{ExpectedAnswer, MAX_REQUEST_BYTES, PendingQuestion, QuestionListing};
use crate::permission::{
    PermissionOutcome, PolicyQuestion, PolicyVerdict, call_id, miscased_in_question, summary,
};
use crate::session::questions::{QuestionKind, Settlement, WaitingQuestion, permission, too_many};
use crate::session::{SubmittedAnswer, params_for_client};

impl SessionTask {
    pub(super) async fn asked_permission(&mut self, message: &Message) -> Result<(), LogFailure> {
        // What is judged is what people are shown.
        let params = params_for_client(message, &self.public_id).made_readable();
        let question = match self.question(&params) {
            Ok(question) => question,
            Err(refused) => {
                self.respond(&message.id(), Err(refused));
                return Ok(());
            }
        };
        let rules = self.context.rules.current();
        let decided = match self.judge.policy.judge_with(&rules, &question) {
            PolicyVerdict::Allow(by) => PermissionOutcome::allow_once(&question)
                .map(|outcome| (permission(&outcome, false), by)),
            PolicyVerdict::Deny(by) => {
                Some((permission(&PermissionOutcome::reject(&question), true), by))
            }
            PolicyVerdict::Ask => None,
        };
        self.ask(message.id(), QuestionKind::Permission(question), params, decided).await
    }

    /// The agent's question, refused if it may be asking something else as well: of two commands a
    /// rule would allow one, and the agent run the other.
    fn question(&self, params: &Json) -> Result<PolicyQuestion, RpcError> {
        wire::check_unambiguous(params.as_str()).map_err(RpcError::invalid_params)?;
        let read: Value = params.read().unwrap_or_default();
        if let Some(name) = miscased_in_question(&read) {
            let error = format_args!("`{name}` is no member; check its case");
            return Err(RpcError::invalid_params(error));
        }
        let known = self.tools.get(call_id(&read["toolCall"]).as_deref());
        let known = known.map_err(RpcError::invalid_params)?;
        let question = PolicyQuestion::read(
            params.as_str(),
            known,
            &self.judge.agent,
            &self.judge.roots.paths(),
        );
        let edits = self.quirks().map(|quirks| &*quirks.edit_tools).unwrap_or_default();
        let question = question.noting_known_edit(edits, &read["toolCall"]);
        Ok(question.noting_forbidden(self.judge.roots.forbidden()))
    }

    pub(super) async fn asked_elicitation(&mut self, message: &Message) -> Result<(), LogFailure> {
        let params = params_for_client(message, &self.public_id).made_readable();
        // Of two questions one client would show one, and another the other.
        if let Err(why) = wire::check_unambiguous(params.as_str()) {
            self.respond(&message.id(), Err(RpcError::invalid_params(why)));
            return Ok(());
        }
        self.ask(message.id(), QuestionKind::Elicitation, params, None).await
    }

    /// Logs a question and answers it at once, or leaves it to the attached clients.
    pub(super) async fn ask(
        &mut self,
        rpc_id: RpcId,
        asks: QuestionKind,
        params: Json,
        decided: Option<(Settlement, Decider)>,
    ) -> Result<(), LogFailure> {
        let id = mint::call_id();
        let is_cancelling = self.turns.running().is_some_and(|running| running.is_cancelling);
        let is_unattended = self.clients.is_empty() && !self.context.settings.questions_wait;
        let decided = self.questions.decide(&asks, decided, is_cancelling, is_unattended);
        let (request_id, ask, request) = (id, decided.is_none(), params.as_raw());
        let (asked, summary) = match &asks {
            QuestionKind::Permission(question) | QuestionKind::Limit(question) => {
                let asked = PermissionRequested { request_id, ask, limit: None, request };
                (self.event(asked), summary::of_permission(question))
            }
            QuestionKind::Elicitation => {
                let asked = ElicitationRequested { request_id, ask, request };
                (self.event(asked), summary::of_form(&params))
            }
        };
        let asks = asks.judged();
        self.append(vec![asked], RecordChanges::default()).await?;
        let deadline = Instant::now() + self.context.settings.permission_within;
        let pending = WaitingQuestion::new(id, Some(rpc_id), asks, summary, Some(deadline));
        let (settled, by) = match decided {
            Some(decided) => decided,
            None => match self.context.pending.add(self.listing(&pending, params)) {
                Ok(listed) => {
                    self.put_to_people(pending, Some(listed));
                    return Ok(());
                }
                Err(_) => (pending.asks.reject(), too_many()),
            },
        };
        self.settle(pending, &settled, &by).await
    }

    /// Leaves a question to people, who see it in the list of all if it is `listed`.
    pub(super) fn put_to_people(
        &mut self,
        mut pending: WaitingQuestion,
        listed: Option<QuestionListing>,
    ) {
        pending.listed = listed;
        let observers = &self.context.settings.observers;
        pending.watch = observers.watch(|observer| observer.question(&self.judge.agent));
        self.questions.add(pending);
    }

    /// The question as others see it.
    pub(super) fn listing(&self, pending: &WaitingQuestion, params: Json) -> PendingQuestion {
        let (wants, options) = match &pending.asks {
            QuestionKind::Permission(question) | QuestionKind::Limit(question) => {
                (ExpectedAnswer::Permission, question.options.clone())
            }
            QuestionKind::Elicitation => (ExpectedAnswer::Elicitation, Vec::new()),
        };
        let since = mint::now();
        let within = self.context.settings.permission_within.as_millis();
        let until = since.0.saturating_add(i64::try_from(within).unwrap_or(i64::MAX));
        PendingQuestion {
            session: self.id,
            made_by: self.details.made_by.clone(),
            agent: self.judge.agent.clone(),
            request_id: pending.id,
            wants,
            title: pending.summary.title.clone(),
            kind: pending.summary.kind.clone(),
            options,
            request: (params.as_str().len() <= MAX_REQUEST_BYTES).then(|| Arc::new(params)),
            seq: self.head,
            turn: self.turns.current(),
            since,
            until: pending.deadline.map(|_| Millis(until)),
            deadline: pending.deadline,
        }
    }

    pub(super) async fn answer(
        &mut self,
        request: CallId,
        answer: &SubmittedAnswer,
        by: Decider,
    ) -> Result<bool, LogFailure> {
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
        pending: WaitingQuestion,
        settled: &Settlement,
        by: &Decider,
    ) -> Result<(), LogFailure> {
        if matches!(pending.asks, QuestionKind::Permission(_)) {
            let is_allowed = !settled.is_rejection;
            let (observers, who) = (&self.context.settings.observers, by.who.as_str());
            observers.for_each(|observer| observer.decided(&self.judge.agent, who, is_allowed));
        }
        let mut drafts = vec![self.event(decision(&pending, settled, by))];
        let mut changes = RecordChanges::default();
        if pending.asks.is_limit() {
            let raised = self.gate.answered(&mut self.details.budget, &settled.response, by);
            drafts.extend(raised.map(|raised| self.event(raised)));
            changes = self.record();
        }
        self.append_durably(drafts, changes).await?;
        if let Some(id) = &pending.rpc_id {
            self.respond(id, Ok(settled.response.clone()));
        }
        // The agent could say nothing while it waited.
        self.silence.begin_anew(Instant::now());
        // Whoever hears of the answer must not find the question in the list any more.
        let WaitingQuestion { listed, .. } = pending;
        if listed.map(drop).is_some() {
            self.context.notices.add(self.id, Notice::Answered(self.head));
        }
        Ok(())
    }
}

/// The event of an answer.
fn decision<'a>(pending: &WaitingQuestion, settled: &'a Settlement, by: &Decider) -> OwnEvent<'a> {
    let (request_id, by, question) = (pending.id, by.clone(), pending.summary.clone());
    let waited_ms = pending.waited().map(millis);
    let options = match &pending.asks {
        QuestionKind::Permission(question) | QuestionKind::Limit(question) => &question.options,
        QuestionKind::Elicitation => {
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

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
