//! A session's link to its agent: made, made again, used, and let go of.

use std::sync::Arc;
use std::time::Instant;

use bus::connection::CallError;
use serde_json::Value;
use store::RecordChanges;
use wire::event::{ResumeWay, SessionResumed, TurnStarted, WorkerStarted};
use wire::{Fault, Json, RpcError, TokenScope, TurnId};

use super::{LogFailure, SessionTask};
use crate::context::draft;
use crate::host::{AgentMessages, Host};
use crate::link::{self, EarlierSession, LinkOutcome};
use crate::observer::{self, StartupStep};
use crate::options::{OptionChoice, offered_values};
use crate::permission::TurnToolCalls;
use crate::relink::{made_of, relink};
use crate::session::link_state::{CurrentOffer, LinkState, LinkWaiters};
use crate::session::{AgentOffer, ForwardedRequest, SessionTaskCommand};

/// An agent that has the session, and is listened to.
#[derive(Debug)]
pub(super) struct ListeningAgent {
    agent: LinkedAgent,
    pub(super) messages: AgentMessages,
}

#[derive(Debug)]
pub(super) struct LinkedAgent {
    pub(super) host: Arc<Host>,
    /// The id by which it knows the session.
    pub(super) agent_session: String,
}

impl LinkState<ListeningAgent> {
    pub(super) fn agent(&self) -> Option<&LinkedAgent> {
        self.current().map(|listening| &listening.agent)
    }

    /// Lets go of the agent, and listens no more: it would wait with its last messages for us, and
    /// we for it.
    pub(super) fn take_agent(&mut self) -> Option<LinkedAgent> {
        self.release().map(|listening| listening.agent)
    }
}

impl LinkedAgent {
    /// Raw params with the session's id as the agent knows it.
    pub(super) fn params(&self, params: &Json) -> Json {
        link::params_for(&self.agent_session, params)
    }

    /// Sends a notification. An agent that does not read is found stalled by its connection.
    pub(super) fn notify(&self, method: &str, params: &Json) {
        let _ = self.host.connection.notify(method, &self.params(params));
    }

    /// Tells the agent to close the session, if it can. A courtesy: it may take its time over it.
    pub(super) fn close_soon(self) {
        if self.host.capabilities.close {
            let (params, host) = (self.params(&Json::trusted("{}")), self.host);
            task::spawn(async move { link::call(&host, "session/close", &params).await });
        }
    }
}

/// `configOptions` of an answer.
fn config_options(answer: &Json) -> Option<Json> {
    #[derive(serde::Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct ConfigOptionsAnswer {
        config_options: Option<Json>,
    }
    answer.read::<ConfigOptionsAnswer>().ok()?.config_options
}

impl SessionTask {
    /// Starts the agent, unless it runs or that is under way.
    pub(super) fn start_agent(&mut self) {
        if self.link.begin() {
            self.spawn_link();
        }
    }

    /// Starts the agent again and gives it the session back, on the side.
    fn spawn_link(&self) {
        let Some(commands) = self.commands.upgrade() else { return };
        let agent_session = self.link.agent_session().cloned();
        let forgot = self.link.forgot().cloned();
        let (slot, context, id) = (self.slot.clone(), self.context.clone(), self.id);
        let details = self.details.clone();
        let running = self.turns.running().map(|running| running.turn);
        let waiting: Vec<TurnId> = running.into_iter().chain(self.turns.queued()).collect();
        let parent = self.waiting_trace();
        task::spawn(async move {
            let linking = observer::with_parent(parent, async {
                let host = slot.host().await?;
                let made_of = made_of(&context, id).await?;
                let last_prompt = details.last_prompt.clone();
                let known = EarlierSession { agent_session, made_of, last_prompt, forgot };
                let opening =
                    context.settings.observers.step(StartupStep::OpenSession, &slot.command().name);
                opening.ended(relink(&context, &host, id, &known, &details, &waiting).await)
            });
            let linked = linking.await.map_err(|error| Fault::from(&error));
            // A session that ended meanwhile drops the link.
            let _ = commands.send(SessionTaskCommand::Linked(linked)).await;
        });
    }

    /// The trace of the turn that the agent is started for.
    fn waiting_trace(&self) -> Option<observer::TraceContext> {
        match self.progress.waiting() {
            Some(_) => self.progress.watch.context(),
            None => self.turns.first_queued()?.watch.context(),
        }
    }

    pub(super) async fn linked(&mut self, linked: LinkOutcome) -> Result<(), LogFailure> {
        let LinkOutcome { link, mut resumed, recap, preface } = linked;
        if let Some(report) = &mut resumed {
            self.link.complete(report);
        }
        let host = link.host.clone();
        let answer: Value = link.answer.read().unwrap_or_default();
        let started = WorkerStarted {
            pid: host.pid(),
            command: self.slot.command().argv(),
            containment: format!("{:?}", host.worker.containment()).to_lowercase(),
            model: offered_values(&answer, OptionChoice::Model).and_then(|model| model.current),
        };
        let mut drafts = vec![draft(None, started)];
        // A session that no agent had before is not resumed.
        let is_news =
            |resumed: &SessionResumed| resumed.how != ResumeWay::New || !resumed.tried.is_empty();
        drafts.extend(resumed.filter(is_news).map(|resumed| draft(None, resumed)));
        tracing::info!(
            session = %self.id, pid = host.pid(), how = ?link.how, "the agent has the session"
        );
        let is_told = std::mem::replace(&mut self.details.is_prefaced, true);
        self.link.set_text_before_prompt(preface, recap, is_told);
        self.details.note_offer(&link.answer);
        // Another process has the session from now on.
        if host.quirks.token_scope == TokenScope::Process {
            self.details.usage_told.clear();
        }
        let offer = CurrentOffer::new(link.answer, host.memory_budget.share());
        self.tools = TurnToolCalls::of(host.memory_budget.share());
        let agent_session = link.agent_session;
        let changes =
            RecordChanges { agent_session: Some(Some(agent_session.clone())), ..self.record() };
        let agent = LinkedAgent { host, agent_session: agent_session.clone() };
        let listening = ListeningAgent { agent, messages: link.messages };
        let waiting = self.link.linked(listening, agent_session, offer);
        self.append(drafts, changes).await?;
        self.used_at = Instant::now();
        self.handle_batch(link.early.into_messages()).await?;
        self.serve_waiting(waiting);
        // What was sent to an agent that had forgotten the session is sent again.
        match (self.turns.running(), self.progress.waiting().cloned()) {
            (Some(running), Some(params)) => self.send_prompt(running.turn, params).await,
            _ => Ok(()),
        }
    }

    /// Keeps the agent's offer true after a client has set something.
    pub(super) fn offer_follows(&mut self, method: &str, params: &Json) {
        let (path, member) = match method {
            "session/set_mode" => (["modes", "currentModeId"], "modeId"),
            "session/set_model" => (["models", "currentModelId"], "modelId"),
            _ => return,
        };
        let params: Value = params.read().unwrap_or_default();
        self.offer_names(&path, &params[member]);
    }

    pub(super) fn offer_names(&mut self, path: &[&str], value: &Value) {
        if let Some(offer) = self.link.set_offer_name(path, value) {
            self.details.note_offer(offer);
        }
    }

    pub(super) fn offer_has(&mut self, path: &[&str], value: &Json) {
        if let Some(offer) = self.link.set_offer_part(path, value) {
            self.details.note_offer(offer);
        }
    }

    /// Every prompt that waits fails for the same reason: asking again would not help.
    pub(super) async fn not_linked(&mut self, fault: &Fault) -> Result<(), LogFailure> {
        let LinkWaiters { links, passes } = self.link.failed();
        for reply in links {
            let _ = reply.send(Err(fault.clone()));
        }
        for pass in passes {
            let _ = pass.reply.send(Err(RpcError::from(fault)));
        }
        if let Some(running) = self.turns.running() {
            self.end_turn_with(running.turn, fault.clone()).await?;
        }
        while let Some((turn, prompt)) = self.turns.start_next() {
            self.progress.watch = prompt.watch;
            let changes =
                RecordChanges { active_turn: Some(Some(turn)), ..RecordChanges::default() };
            self.append(vec![draft(Some(turn), TurnStarted {})], changes).await?;
            self.end_turn_with(turn, fault.clone()).await?;
        }
        Ok(())
    }

    /// The agent's options and capabilities, while it runs.
    pub(super) fn offer(&self) -> Option<AgentOffer> {
        let capabilities = self.link.agent()?.host.capabilities.clone();
        Some(AgentOffer { answer: self.link.offer()?.clone(), capabilities })
    }

    /// Serves the requests that waited for the agent.
    fn serve_waiting(&mut self, waiting: LinkWaiters) {
        let offer = self.link.offer().cloned().unwrap_or_else(|| Json::trusted("{}"));
        for reply in waiting.links {
            let _ = reply.send(Ok(offer.clone()));
        }
        for pass in waiting.passes {
            self.pass(pass);
        }
    }

    /// Asks the agent something on a client's behalf, without waiting for it here.
    pub(super) fn pass(&mut self, pass: ForwardedRequest) {
        let Some(agent) = self.link.agent() else {
            if let Err(pass) = self.link.await_agent(pass) {
                let error = RpcError::internal("too many requests wait for the agent to start");
                let _ = pass.reply.send(Err(error));
            }
            return self.start_agent();
        };
        let ForwardedRequest { method, params, mut reply } = pass;
        let (params, host) = (agent.params(&params), agent.host.clone());
        let commands = self.commands.clone();
        task::spawn(async move {
            let outcome = tokio::select! {
                outcome = host.connection.call(&method, &params) => outcome,
                // Giving up here withdraws the request from the agent too.
                () = reply.closed() => return,
            };
            if let (Ok(answer), Some(commands)) = (&outcome, commands.upgrade())
                && let Some(options) = config_options(answer)
            {
                let _ = commands.send(SessionTaskCommand::OptionsChanged(options)).await;
            }
            let _ = reply.send(outcome.map_err(|error| match error {
                CallError::Refused(error) => error,
                error => RpcError::internal(error),
            }));
        });
    }

    /// Lets go of the agent.
    pub(super) fn release(&mut self) -> Option<LinkedAgent> {
        let agent = self.link.take_agent()?;
        agent.host.routes.remove(&agent.agent_session);
        // Nobody here could make it go on any more.
        agent.host.resume();
        // What it said is of use only while it runs.
        self.tools = TurnToolCalls::default();
        Some(agent)
    }

    /// A worker that others use goes on when this session is done with it.
    pub(super) fn leave_shared(&mut self) {
        if self.slot.is_shared() && self.turns.running().is_none() {
            self.abandon_shared();
        }
    }

    /// As [`leave_shared`](Self::leave_shared), also in the middle of a turn: nobody is left
    /// who could hear of it.
    pub(super) fn abandon_shared(&mut self) {
        if !self.slot.is_shared() {
            return;
        }
        let Some(agent) = self.release() else { return };
        if self.turns.running().is_some() {
            agent.notify("session/cancel", &Json::trusted("{}"));
        }
        agent.close_soon();
    }
}
