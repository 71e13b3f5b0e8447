//! A session's hold on its agent: made, made again, used and let go.

use store::Changes;
use wire::event::{
    ResumeWay, SessionClosed, SessionResumed, StopReason, TurnEnded, TurnStarted, WorkerExited,
    WorkerStarted,
};
use wire::{Fault, Json, RpcError, TurnId};

use super::actor::{Actor, Halt, LinkState};
use super::{Command, Linkage, Offer, Pass, Reply};
use crate::host::Share;
use crate::link::{Known, Linked};
use crate::observer::{self, Step};
use crate::open;
use crate::options::{Choice, offered};
use crate::permission::KnownTools;
use crate::yard::draft;
use bus::connection::CallError;

/// Requests of clients that may wait for an agent that is being started.
const MAX_HELD: usize = 64;

/// An agent's answer is kept for as long as its session is awake, and read by whoever looks at it;
/// none that is of any use is as long as this.
const MAX_ANSWER_BYTES: usize = 1 << 20;
/// Of the name of a mode.
const MAX_MODE_BYTES: usize = 4 << 10;

/// What waits for the agent.
#[derive(Debug, Default)]
pub(super) struct Held {
    links: Vec<Reply<Result<Json, Fault>>>,
    passes: Vec<Pass>,
}

/// `configOptions` of an answer.
fn config_options(answer: &Json) -> Option<Json> {
    #[derive(serde::Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Answer {
        config_options: Option<Json>,
    }
    answer.read::<Answer>().ok()?.config_options
}

/// The agent's answer to session/new, load or resume, while it runs.
#[derive(Debug, Default)]
pub(super) struct KeptAnswer {
    json: Option<Json>,
    /// Of what the sessions of its process may keep.
    share: Share,
}

impl KeptAnswer {
    fn of(answer: Json, share: Share) -> Self {
        let n_bytes = answer.as_str().len();
        let mut kept = Self { json: Some(Json::trusted("{}")), share };
        if !kept.keep(answer) {
            tracing::warn!(
                n_bytes,
                "the agent offers more than is kept; its options are not shown"
            );
        }
        kept
    }

    /// Whether there was room for it; what was kept before stays else.
    fn keep(&mut self, answer: Json) -> bool {
        let n_bytes = answer.as_str().len();
        let is_kept = n_bytes <= MAX_ANSWER_BYTES && self.share.resize(n_bytes);
        if is_kept {
            self.json = Some(answer);
        }
        is_kept
    }
}

impl Actor {
    /// Starts the agent again and gives it the session back, on the side.
    pub(super) fn spawn_link(&self) {
        let Some(commands) = self.commands.upgrade() else { return };
        let (agent_session, forgot) = (self.agent_session.clone(), self.forgot.clone());
        let (slot, yard, id) = (self.slot.clone(), self.yard.clone(), self.id);
        let details = self.details.clone();
        let again = self.again.as_ref().map(|again| again.turn);
        let waiting: Vec<TurnId> = again.into_iter().chain(self.turns.queued()).collect();
        let parent = self.waiting_trace();
        task::spawn(async move {
            let linking = observer::within(parent, async {
                let host = slot.host().await?;
                let made_of = open::made_of(&yard, id).await?;
                let last_prompt = details.last_prompt.clone();
                let known = Known { agent_session, made_of, last_prompt, forgot };
                let opening = yard.settings.observers.step(Step::OpenSession, &slot.command().name);
                opening.ended(open::relink(&yard, &host, id, &known, &details, &waiting).await)
            });
            let linked = linking.await.map_err(|error| Fault::from(&error));
            // A session that ended meanwhile drops the link.
            let _ = commands.send(Command::Linked(linked)).await;
        });
    }

    /// The trace of the turn that the agent is started for.
    fn waiting_trace(&self) -> Option<observer::TraceContext> {
        match self.again {
            Some(_) => self.watch.context(),
            None => self.turns.first_queued()?.watch.context(),
        }
    }

    pub(super) async fn linked(&mut self, linked: Linked) -> Result<(), Halt> {
        let Linked { link, mut resumed, preamble, preface } = linked;
        if let Some(report) = &mut resumed {
            report.changed.append(&mut self.changed);
        }
        let host = link.host.clone();
        let answer = link.answer.read().unwrap_or_default();
        let started = WorkerStarted {
            pid: host.pid(),
            command: self.slot.command().argv(),
            containment: format!("{:?}", host.containment()).to_lowercase(),
            model: offered(&answer, Choice::Model).and_then(|model| model.current),
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
        self.preamble = match (preface, preamble) {
            // It has forgotten what it was told first, too.
            (Some(preface), Some(preamble)) => Some(format!("{preface}\n{preamble}")),
            (preface, None) => preface.filter(|_| !is_told),
            (None, preamble) => preamble,
        };
        self.details.note_offer(&link.answer);
        self.usage_begins_anew(host.manners.usage_of);
        self.answer = KeptAnswer::of(link.answer, host.share());
        self.tools = KnownTools::of(host.share());
        self.agent_session = Some(link.agent_session.clone());
        let agent_session = Some(self.agent_session.clone());
        let details = Some(self.details.to_json());
        self.append(drafts, Changes { agent_session, details, ..Changes::default() }).await?;
        let linkage = Linkage { host, agent_session: link.agent_session };
        self.link = LinkState::Linked { linkage, messages: link.messages };
        self.forgot = None;
        self.used_at = std::time::Instant::now();
        self.hear(link.early.into_messages()).await?;
        self.serve_held();
        self.send_again().await
    }

    /// Keeps the agent's answer true after a client has set something.
    pub(super) fn answer_follows(&mut self, method: &str, params: &Json) {
        let (path, member) = match method {
            "session/set_mode" => (["modes", "currentModeId"], "modeId"),
            "session/set_model" => (["models", "currentModelId"], "modelId"),
            _ => return,
        };
        let params: serde_json::Value = params.read().unwrap_or_default();
        self.answer_names(&path, &params[member]);
    }

    /// As [`answer_has`](Self::answer_has), if `value` is the name of something.
    pub(super) fn answer_names(&mut self, path: &[&str], value: &serde_json::Value) {
        if value.as_str().is_some_and(|name| name.len() <= MAX_MODE_BYTES) {
            self.answer_has(path, &Json::of(value));
        }
    }

    pub(super) fn answer_has(&mut self, path: &[&str], value: &Json) {
        if let Some(answer) = &self.answer.json
            && value.as_str().len() <= MAX_ANSWER_BYTES
            && let Ok(answer) = wire::set_member(answer, path, value)
            && self.answer.keep(answer.clone())
        {
            self.details.note_offer(&answer);
        }
    }

    /// Forgets what the agent said that is of use only while it runs.
    pub(super) fn forget_words(&mut self) {
        self.answer = KeptAnswer::default();
        self.tools = KnownTools::default();
    }

    /// Whether the worker has waited long enough for something to do.
    pub(super) fn worker_deadline(&self) -> Option<std::time::Instant> {
        let is_linked = matches!(self.link, LinkState::Linked { .. });
        let idle = self.yard.settings.worker_idle.filter(|_| is_linked && self.is_idle())?;
        Some(self.used_at.max(self.heard_at) + idle)
    }

    /// Whether nobody would miss this task.
    pub(super) fn is_out_of_use(&self) -> bool {
        self.aside_deadline().is_some_and(|deadline| deadline <= std::time::Instant::now())
    }

    pub(super) fn aside_deadline(&self) -> Option<std::time::Instant> {
        let is_unlinked = matches!(self.link, LinkState::Unlinked);
        let is_unused = is_unlinked && self.clients.is_empty() && self.is_idle();
        Some(self.used_at + self.yard.settings.put_aside_after.filter(|_| is_unused)?)
    }

    /// As if it had not been used for long.
    pub(super) fn rest_soon(&mut self) {
        if !matches!(self.link, LinkState::Unlinked) {
            return;
        }
        let long_ago = |after| self.used_at.checked_sub(after);
        self.used_at =
            self.yard.settings.put_aside_after.and_then(long_ago).unwrap_or(self.used_at);
    }

    fn is_idle(&self) -> bool {
        self.turns.running().is_none()
            && self.turns.queued().next().is_none()
            && self.held.passes.is_empty()
    }

    /// Ends a worker that has had nothing to do for long; the session stays.
    pub(super) async fn let_worker_go(&mut self) -> Result<(), Halt> {
        let Some(linkage) = self.release() else { return Ok(()) };
        tracing::info!(session = %self.id, pid = linkage.host.pid(), "idle worker let go");
        linkage.close_soon();
        self.slot.rest();
        let reason = Some("idle".to_owned());
        let exited = WorkerExited { stopped: true, reason, ..WorkerExited::default() };
        self.append(vec![draft(None, exited)], Changes::default()).await
    }

    /// Every prompt that waits fails for the same reason: asking again would not help.
    pub(super) async fn not_linked(&mut self, fault: Fault) -> Result<(), Halt> {
        self.link = LinkState::Unlinked;
        self.refuse_held(&fault);
        if let Some(again) = self.again.take() {
            self.end_turn_with(again.turn, fault.clone()).await?;
        }
        while let Some((turn, prompt)) = self.turns.start_next() {
            self.watch = prompt.watch;
            let changes = Changes { active_turn: Some(Some(turn)), ..Changes::default() };
            self.append(vec![draft(Some(turn), TurnStarted {})], changes).await?;
            self.end_turn_with(turn, fault.clone()).await?;
        }
        Ok(())
    }

    /// Starts the agent, unless that is under way.
    pub(super) fn start_linking(&mut self) {
        if matches!(self.link, LinkState::Unlinked) {
            self.link = LinkState::Linking;
            self.spawn_link();
        }
    }

    /// Gives the agent's answer, once there is one.
    pub(super) fn link_for(&mut self, reply: Reply<Result<Json, Fault>>) {
        match (&self.link, &self.answer.json) {
            (LinkState::Linked { .. }, Some(answer)) => {
                let _ = reply.send(Ok(answer.clone()));
            }
            _ => {
                self.held.links.retain(|waiting| !waiting.is_closed());
                self.held.links.push(reply);
                self.start_linking();
            }
        }
    }

    /// What the agent offers, while it runs.
    pub(super) fn offer(&self) -> Option<Offer> {
        let LinkState::Linked { linkage, .. } = &self.link else { return None };
        let capabilities = linkage.host.capabilities.clone();
        Some(Offer { answer: self.answer.json.clone()?, capabilities })
    }

    /// Does what waited for the agent.
    fn serve_held(&mut self) {
        let Held { links, passes } = std::mem::take(&mut self.held);
        let answer = self.answer.json.clone().unwrap_or_else(|| Json::trusted("{}"));
        for reply in links {
            let _ = reply.send(Ok(answer.clone()));
        }
        for pass in passes {
            self.pass(pass);
        }
    }

    fn refuse_held(&mut self, fault: &Fault) {
        let Held { links, passes } = std::mem::take(&mut self.held);
        for reply in links {
            let _ = reply.send(Err(fault.clone()));
        }
        for pass in passes {
            let error = RpcError::internal(&fault.message).with_data(fault);
            let _ = pass.reply.send(Err(error));
        }
    }

    /// Asks the agent something on a client's behalf, without waiting for it here.
    pub(super) fn pass(&mut self, pass: Pass) {
        let LinkState::Linked { linkage, .. } = &self.link else {
            self.held.passes.retain(|waiting| !waiting.reply.is_closed());
            if self.held.passes.len() >= MAX_HELD {
                let error = RpcError::internal("too much waits for the agent to start");
                let _ = pass.reply.send(Err(error));
                return;
            }
            self.held.passes.push(pass);
            return self.start_linking();
        };
        let Pass { method, params, mut reply } = pass;
        let (params, host) = (linkage.params_for_agent(&params), linkage.host.clone());
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
                let _ = commands.send(Command::OptionsAre(options)).await;
            }
            let _ = reply.send(outcome.map_err(|error| match error {
                CallError::Refused(error) => error,
                error => RpcError::internal(error),
            }));
        });
    }

    /// Lets go of the agent; called when no turn runs.
    pub(super) fn release(&mut self) -> Option<Linkage> {
        match std::mem::replace(&mut self.link, LinkState::Unlinked) {
            LinkState::Linked { linkage, .. } => {
                linkage.host.routes.remove(&linkage.agent_session);
                // Nobody here could make it go on any more.
                linkage.host.resume();
                self.forget_words();
                Some(linkage)
            }
            LinkState::Linking | LinkState::Unlinked => None,
        }
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
        let Some(linkage) = self.release() else { return };
        if self.turns.running().is_some() {
            let params = linkage.params_for_agent(&Json::trusted("{}"));
            let _ = linkage.host.connection.notify("session/cancel", &params);
        }
        linkage.close_soon();
    }

    /// Frees the agent's side, marks the session as closed and ends its task. Whoever prompted
    /// since it was cancelled is told like the others; whoever prompts from now on wakes it.
    pub(super) async fn close(&mut self) -> Result<(), Halt> {
        self.cancel("close", None).await?;
        if let Some(running) = self.turns.running() {
            self.end_turn(running.turn, TurnEnded::of(StopReason::Cancelled)).await?;
        }
        self.cancel_questions().await?;
        self.is_closed = true;
        if let Some(linkage) = self.release() {
            linkage.close_soon();
        }
        let closed = vec![draft(None, SessionClosed {})];
        self.append(closed, Changes { is_closed: Some(true), ..Changes::default() }).await
    }
}
