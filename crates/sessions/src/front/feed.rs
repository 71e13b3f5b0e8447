//! Sends one session's log to the client as it grows.
//!
//! In: events after a cursor, and requests of the agent that the client is to answer. Out:
//! notifications, requests and the answers to prompts, in the log's order: a request goes
//! out after the updates that came before it, an answer after all of its turn.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;
use store::{BudgetedRead, EventLog, ReadBudget, ReadPermit, StoreError};
use tokio::task::AbortHandle;
use wire::event::{AgentNotification, AskedQuestion, StopReason, TurnEnded};
use wire::{CallId, Event, Json, Kind, OwnEvent, RawJson, RpcError, RpcId, Seq, TurnId};

use super::introduction::ClientCapabilities;
use super::refusal;
use crate::halted::HaltedSessions;
use crate::link;
use crate::lock::lock;
use crate::pending::PendingQuestions;
use crate::permission::Decider;
use crate::session::{ClientAttachment, ClientCall, SessionHandle, SessionPhase, SubmittedAnswer};
use bus::connection::{CallError, Connection, RpcResult};
use projection::{AcpReplay, OutputPace, TerminalsAsText};

/// Events read at once.
const PAGE: usize = 256;
/// The pause before a log that could not be read is read again.
const READ_AGAIN_AFTER: Duration = Duration::from_secs(1);

/// The client's prompts that wait for their turn to end.
pub(super) type WaitingPrompts = Arc<Mutex<HashMap<TurnId, RpcId>>>;

pub(super) struct Feed {
    pub(super) client: Connection,
    pub(super) log: Arc<dyn EventLog>,
    pub(super) budget: ReadBudget,
    pub(super) handle: SessionHandle,
    /// `None` for a client that only watches.
    pub(super) attachment: Option<ClientAttachment>,
    /// The decider that is logged when the client answers.
    pub(super) decider: Decider,
    pub(super) abilities: ClientCapabilities,
    /// The id by which the client calls the session, if that is not ours.
    pub(super) alias: Option<String>,
    pub(super) cursor: Seq,
    pub(super) prompts: WaitingPrompts,
    /// Prompts of other clients whose turn has not started.
    pub(super) prompts_of_others: HashMap<TurnId, Seq>,
    pub(super) asking: HashMap<CallId, AbortHandle>,
    pub(super) calls: Vec<ClientCall>,
    pub(super) pending: Arc<PendingQuestions>,
    pub(super) halted: Arc<HaltedSessions>,
    /// Switchyard's own terminals, which the client cannot look into, as text.
    pub(super) terminals: TerminalsAsText,
}

impl Feed {
    pub(super) async fn run(mut self) {
        let mut phase = self.handle.phase();
        let log = self.log.clone();
        self.ask_again().await;
        loop {
            // Looked at before the log is read: what was logged by then is sent first.
            let over = match &*phase.borrow_and_update() {
                SessionPhase::Over(why) => Some(why.as_ref().map(ToString::to_string)),
                SessionPhase::PutAside => Some(None),
                _ => None,
            };
            let reading = self.budget.read(&*log, self.handle.id(), self.cursor, PAGE).await;
            let BudgetedRead { events, taken } = match reading {
                Ok(read) => read,
                Err(StoreError::NoSuchSession(_) | StoreError::Closed) => break,
                Err(error) => {
                    // How they end cannot be told any more. What comes later may be read again.
                    self.fail_prompts(Some(error.to_string())).await;
                    if over.is_some() {
                        break;
                    }
                    tokio::time::sleep(READ_AGAIN_AFTER).await;
                    continue;
                }
            };
            for event in &events {
                self.send_event(event).await;
                self.cursor = event.seq;
            }
            self.make_calls();
            if !events.is_empty() {
                drop(events);
                until_sent(taken, &self.client).await;
                continue;
            }
            if let Some(why) = over {
                self.fail_prompts(why).await;
                break;
            }
            tokio::select! {
                waited = log.wait(self.handle.id(), self.cursor) => {
                    if waited.is_err() {
                        break;
                    }
                }
                Some(call) = async { self.attachment.as_mut()?.calls.recv().await } => self.calls.push(call),
                changed = phase.changed() => {
                    if changed.is_err() {
                        break;
                    }
                }
            }
        }
        for (_, task) in self.asking.drain() {
            task.abort();
        }
    }

    /// Puts the questions to the client that were asked before it came, and still wait.
    async fn ask_again(&mut self) {
        for question in self.pending.of(self.handle.id()) {
            let before = Seq(question.seq.0.saturating_sub(1));
            if question.seq > self.cursor {
                continue;
            }
            let Ok(events) = self.log.read(self.handle.id(), before, 1).await else { return };
            for asked in events.iter().filter_map(Event::question_for_person) {
                self.ask(asked);
            }
        }
    }

    async fn send_event(&mut self, event: &Event) {
        let Some(event) = self.abilities.adapted(event) else { return };
        let event = &*event;
        match &event.kind {
            Kind::Update(_) => {
                let told = self.terminals.project(event, OutputPace::AsItComes);
                self.update(told.as_ref().unwrap_or(&event.payload)).await;
            }
            Kind::TerminalOutput | Kind::TerminalExited => {
                if let Some(told) = self.terminals.project(event, OutputPace::AsItComes) {
                    self.update(&told).await;
                }
            }
            Kind::PromptReceived => self.note_prompt(event),
            _ => self.send_own_event(event).await,
        }
    }

    async fn send_own_event(&mut self, event: &Event) {
        match event.own() {
            Some(OwnEvent::AgentNotification(told)) => self.send_notification(&told).await,
            Some(OwnEvent::TurnStarted(_)) => self.send_prompt_of_other(event).await,
            Some(OwnEvent::TurnEnded(ended)) => {
                self.answer_prompt(event.turn, turn_outcome(&ended)).await;
            }
            Some(OwnEvent::PromptDropped(_)) => {
                event.turn.map(|turn| self.prompts_of_others.remove(&turn));
                let ended = TurnEnded::of(StopReason::Cancelled);
                self.answer_prompt(event.turn, turn_outcome(&ended)).await;
            }
            Some(own) => {
                if let Some(asked) = own.question() {
                    self.ask(asked);
                }
                if let Some(request) = own.answered_question() {
                    self.resolved(event, request).await;
                }
            }
            None => {}
        }
    }

    async fn update(&self, params: &Json) {
        let params = self.with_client_id(params);
        let _ = self.client.notify_in_turn("session/update", &params).await;
    }

    async fn send_notification(&self, told: &AgentNotification<'_>) {
        if !super::sessionless::is_kept_from_clients(&told.method) {
            let params = self.with_client_id(&told.params.to_json());
            let _ = self.client.notify_in_turn(&told.method, &params).await;
        }
    }

    fn note_prompt(&mut self, event: &Event) {
        /// Prompts of others that are noted: as many as can wait in a session, and more.
        const MAX_WAITING: usize = 256;
        let Some(turn) = event.turn.filter(|turn| !lock(&self.prompts).contains_key(turn)) else {
            return;
        };
        if self.prompts_of_others.len() < MAX_WAITING {
            self.prompts_of_others.insert(turn, event.seq);
        }
    }

    /// Sends the prompt of another client, at the start of its turn.
    async fn send_prompt_of_other(&mut self, event: &Event) {
        let Some(seq) = event.turn.and_then(|turn| self.prompts_of_others.remove(&turn)) else {
            return;
        };
        let before = Seq(seq.0.saturating_sub(1));
        let read = self.log.read(self.handle.id(), before, 1).await.unwrap_or_default();
        let Some(OwnEvent::PromptReceived(said)) = read.first().and_then(Event::own) else {
            return;
        };
        let session = self.alias.clone().unwrap_or_else(|| self.handle.id().to_string());
        for params in AcpReplay::new(session).prompt(event, &said) {
            let _ = self.client.notify_in_turn("session/update", &params).await;
        }
    }

    /// Stops asking the client a question that is settled, and notifies it of the answer.
    async fn resolved(&mut self, event: &Event, request: CallId) {
        if let Some(task) = self.asking.remove(&request) {
            task.abort();
        }
        let name = self.alias.clone().unwrap_or_else(|| self.handle.id().to_string());
        let params = wire::set_member(&event.payload, &["sessionId"], &Json::of(&name));
        if let Ok(params) = params {
            let method = format!("_switchyard/{}", event.kind);
            let _ = self.client.notify_in_turn(&method, &params).await;
        }
    }

    /// Asks the client on the side; the session takes the first valid answer.
    fn ask(&mut self, asked: AskedQuestion<'_>) {
        if !asked.is_for_person || self.attachment.is_none() {
            return;
        }
        let (request_id, is_about_limit) = (asked.id, asked.limit.is_some());
        let params = self.with_client_id(&asked.request.to_json());
        let method = match asked.wants_form {
            true => "elicitation/create",
            false => "session/request_permission",
        };
        let (client, handle, by) = (self.client.clone(), self.handle.clone(), self.decider.clone());
        let task = task::spawn(async move {
            let answer = match client.call(method, &params).await {
                Ok(response) => read_answer(method, response),
                // The client has left.
                Err(CallError::Closed | CallError::Full) => return,
                // Only a person ends a turn for a limit, not a client that cannot ask.
                Err(_) if is_about_limit => return,
                Err(_) => SubmittedAnswer::Reject,
            };
            if handle.answer(request_id, answer, by.clone()).await.is_ok_and(|taken| !taken) {
                // Not one of the options, or too late; in the first case it means no.
                let _ = handle.answer(request_id, SubmittedAnswer::Reject, by).await;
            }
        });
        self.asking.insert(request_id, task.abort_handle());
    }

    /// Makes the agent's calls whose place in the log the client has reached.
    fn make_calls(&mut self) {
        let cursor = self.cursor;
        let due = self.calls.extract_if(.., |call| call.after <= cursor);
        for call in due.collect::<Vec<_>>() {
            let (client, params) = (self.client.clone(), self.with_client_id(&call.params));
            task::spawn(async move {
                let outcome = client.call(&call.method, &params).await;
                call.respond(outcome.map_err(refusal)).await;
            });
        }
    }

    async fn answer_prompt(&self, turn: Option<TurnId>, outcome: RpcResult) {
        if let Some(id) = turn.and_then(|turn| lock(&self.prompts).remove(&turn)) {
            let _ = self.client.respond(&id, outcome).await;
        }
    }

    async fn fail_prompts(&self, why: Option<String>) {
        let why = why.unwrap_or_else(|| "the session has ended".into());
        let waiting = std::mem::take(&mut *lock(&self.prompts));
        // Whoever was told that a prompt has failed sends it again.
        self.halted.drop_turns(self.handle.id(), waiting.keys().copied());
        for id in waiting.into_values() {
            let _ = self.client.respond(&id, Err(RpcError::internal(&why))).await;
        }
    }

    fn with_client_id(&self, params: &Json) -> Json {
        with_session_id(params, self.alias.as_deref())
    }
}

/// Holds the read budget of large events until the client has taken them.
pub(super) async fn until_sent(taken: Option<ReadPermit>, client: &Connection) {
    if taken.is_some() {
        client.drained().await;
    }
}

/// Params with the session's id as the client knows it.
pub(super) fn with_session_id(params: &Json, alias: Option<&str>) -> Json {
    alias.map_or_else(|| params.clone(), |alias| link::params_for(alias, params))
}

fn read_answer(method: &str, response: Json) -> SubmittedAnswer {
    if method == "elicitation/create" {
        return SubmittedAnswer::Elicitation(response);
    }
    let value: Value = response.read().unwrap_or_default();
    let outcome = &value["outcome"];
    match (outcome["outcome"].as_str(), outcome["optionId"].as_str()) {
        (Some("selected"), Some(option)) => SubmittedAnswer::Permission(Some(option.to_owned())),
        (Some("cancelled"), _) => SubmittedAnswer::Permission(None),
        _ => SubmittedAnswer::Reject,
    }
}

/// The answer to `session/prompt`, from the end of its turn.
fn turn_outcome(ended: &TurnEnded<'_>) -> RpcResult {
    if let Some(result) = ended.result.filter(|result| reports_error(*result)) {
        return Ok(result.to_json());
    }
    if let Some(fault) = &ended.error {
        // The agent's own error is passed on as it is.
        let told = ended.agent_error.and_then(|error| error.read().ok());
        return Err(told.unwrap_or_else(|| RpcError::from(fault)));
    }
    let result = ended.result.map_or_else(|| Json::trusted("{}"), RawJson::to_json);
    let said: Value = result.read().unwrap_or_default();
    let reason = ended.stop_reason.as_str();
    if said["stopReason"] == reason {
        return Ok(result);
    }
    wire::set_member(&result, &["stopReason"], &Json::of(&reason)).map_err(RpcError::internal)
}

/// Whether the agent has said in words what went wrong, and in its result that it did: a client
/// that got an error besides would show the same twice.
fn reports_error(result: RawJson<'_>) -> bool {
    let result: Value = result.read().unwrap_or_default();
    result["_meta"]["switchyard"]["error"]["message"].is_string()
}
