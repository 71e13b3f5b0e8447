//! The task that owns a session.
//!
//! Always true: everything a client sees was committed before; at most one turn runs; a
//! turn ends once, by the agent's answer, by cancel or by the agent's death. The task
//! never waits for an answer of the agent: it would not hear the agent while waiting.

mod agent_messages;
mod asking;
mod cancelling;
mod deadlines;
mod limiting;
mod linking;
mod prompting;
mod requests;

use std::sync::Arc;
use std::time::Instant;

use roots::Roots;
use serde_json::json;
use store::{Batch, Claim, Durability, RecordChanges, StoreError};
use tokio::sync::{mpsc, watch};
use wire::event::{DropReason, OptionSet};
use wire::{Category, Draft, Fault, Json, Kind, Millis, OwnEvent, Seq, SessionId, TurnId};

use super::cancelling::Cancelling;
use super::clients::Clients;
use super::judge::Judge;
use super::limit_gate::LimitGate;
use super::link_state::LinkState;
use super::questions::Questions;
use super::services::Services;
use super::silence::Silence;
use super::turn_progress::TurnProgress;
use super::turns::Turns;
use super::{ReplySender, SessionError, SessionPhase, SessionTaskCommand, SessionTaskStart};
use crate::context::{SessionContext, WaitingPrompt, draft};
use crate::details::SessionDetails;
use crate::halted::Halt;
use crate::host::HostSlot;
use crate::link::LinkOutcome;
use crate::mint;
use crate::notices::Notice;
use crate::observer::{ObservationGuard, WatchGuards};
use crate::permission::TurnToolCalls;
use crate::terminals::TerminalEvents;
use linking::ListeningAgent;
use prompting::PendingPrompt;

/// A session's task, in parts that each own their state. Parts decide; the task writes the log,
/// talks to the agent and watches the clock.
pub(super) struct SessionTask {
    context: SessionContext,
    id: SessionId,
    public_id: String,
    details: SessionDetails,
    title: Option<String>,
    slot: Arc<HostSlot>,
    judge: Arc<Judge>,
    services: Arc<Services>,
    /// The sender for tasks that report back; weak, so that dropping all handles ends the session.
    commands: mpsc::WeakSender<SessionTaskCommand>,
    phase: watch::Sender<SessionPhase>,
    link: LinkState<ListeningAgent>,
    turns: Turns<PendingPrompt>,
    progress: TurnProgress,
    questions: Questions,
    gate: LimitGate,
    tools: TurnToolCalls,
    clients: Clients,
    cancelling: Cancelling,
    silence: Silence,
    head: Seq,
    /// When it was last worked in, which is its place in lists.
    updated: Millis,
    _observed: WatchGuards<dyn ObservationGuard>,
    /// When the session was last used.
    used_at: Instant,
    finishing: Option<ReplySender<()>>,
    /// It was closed, and its task has nothing left to do.
    is_closed: bool,
    /// The claim on the session, for as long as it lives here.
    _claim: Claim,
}

/// The way in which a session's task ended in good order.
enum SessionTaskEnd {
    Finished,
    PutAside,
}

/// The log failed; the session cannot go on.
pub(super) type LogFailure = StoreError;

impl SessionTask {
    pub(super) fn new(
        context: SessionContext,
        start: SessionTaskStart,
        roots: Arc<Roots>,
        commands: mpsc::WeakSender<SessionTaskCommand>,
        phase: watch::Sender<SessionPhase>,
    ) -> (Self, Option<LinkOutcome>, Vec<WaitingPrompt>) {
        let SessionTaskStart { record, claim, changed, slot, policy, linked, waiting } = start;
        let judge = Arc::new(Judge {
            policy,
            rules: context.rules.clone(),
            agent: record.agent.clone(),
            roots: roots.clone(),
        });
        let own_dirs = context.settings.own_dirs.as_ref();
        let services = Arc::new(Services::new(
            roots,
            own_dirs.map(|dirs| dirs.join(record.id.as_str())),
            context.setup.of_session(record.id),
            &context.settings,
            judge.clone(),
        ));
        let observed = context.settings.observers.watch(|observer| observer.session(&record.agent));
        let now = Instant::now();
        let task = Self {
            details: SessionDetails::read(&record),
            turns: Turns::new(context.settings.limits.queued_prompts),
            context,
            id: record.id,
            public_id: record.id.to_string(),
            title: record.title,
            slot,
            judge,
            services,
            commands,
            phase,
            link: LinkState::new(record.agent_session, changed),
            progress: TurnProgress::default(),
            questions: Questions::default(),
            gate: LimitGate::default(),
            tools: TurnToolCalls::default(),
            clients: Clients::default(),
            cancelling: Cancelling::default(),
            silence: Silence::new(now),
            head: record.head,
            updated: record.updated,
            _observed: observed,
            used_at: now,
            finishing: None,
            is_closed: false,
            _claim: claim,
        };
        (task, linked, waiting)
    }

    pub(super) async fn run(
        mut self,
        mut commands: mpsc::Receiver<SessionTaskCommand>,
        linked: Option<LinkOutcome>,
        waiting: Vec<WaitingPrompt>,
    ) {
        let ended = match self.restore(&waiting).await {
            Ok(()) => self.run_until_end(&mut commands, linked).await,
            Err(failure) => Err(failure),
        };
        let over = match ended {
            Ok(SessionTaskEnd::Finished) => SessionPhase::Over(None),
            Ok(SessionTaskEnd::PutAside) => SessionPhase::PutAside,
            Err(failure) => {
                self.halt(&failure).await;
                SessionPhase::Over(Some(failure))
            }
        };
        self.abandon_shared();
        // The agent may outlive the session in its slot; it must not stand still there.
        if self.gate.is_paused() {
            self.release();
        }
        self.services.terminals.end_all().await;
        // A log that failed was reported already.
        let _ = self.log_terminals(None).await;
        let _ = self.phase.send(over);
        // The claim goes before the waiter learns that the session is free.
        let done = self.finishing.take();
        drop(self);
        if let Some(done) = done {
            let _ = done.send(());
        }
    }

    /// Ends a session whose log failed. An agent must not work on where nothing can be logged.
    async fn halt(&mut self, failure: &LogFailure) {
        let (turn, why) = (self.turns.current(), failure.to_string());
        // It is the log as a whole, and not this session.
        let may_pass = failure.is_trouble();
        tracing::warn!(session = %self.id, why, "session halted");
        self.context.notices.add(self.id, Notice::Halted { turn, why: why.clone() });
        // No longer listening comes first: the agent's last messages would wait for us, and we
        // for the agent.
        let agent = self.release();
        let running = self.turns.running().map(|running| running.turn);
        if let Some(turn) = running {
            let fault = Fault::new(Category::Internal, &why);
            // A session that is full has room for this; a full disk has not.
            let _ = self.end_turn_with(turn, fault).await;
        }
        if !may_pass {
            // Those that wait would meet the same.
            let _ = self.drop_waiting(DropReason::Limit).await;
        }
        let waiting = self.turns.waiting(|prompt| prompt.text.clone());
        self.context.halted.add(self.id, Halt::new(why, running, may_pass, waiting));
        // Everybody is told now: an agent may take its time to end.
        self.phase.send_replace(SessionPhase::Over(Some(failure.clone())));
        if let Some(agent) = agent {
            agent.host.stop(|_| {}).await;
        }
    }

    async fn run_until_end(
        &mut self,
        commands: &mut mpsc::Receiver<SessionTaskCommand>,
        linked: Option<LinkOutcome>,
    ) -> Result<SessionTaskEnd, LogFailure> {
        if let Some(linked) = linked {
            self.linked(linked).await?;
        }
        loop {
            if self.is_closed {
                return Ok(SessionTaskEnd::PutAside);
            }
            self.log_terminals(None).await?;
            self.check_limits().await?;
            self.start_next_turn().await?;
            self.count_time();
            self.publish_phase();
            if self.finishing.is_some() {
                self.leave_shared();
            }
            if self.finishing.is_some() && self.link.is_unlinked() {
                return Ok(SessionTaskEnd::Finished);
            }
            // Who comes too late for this task is told so, and wakes the session again.
            if self.is_out_of_use() && commands.is_empty() {
                return Ok(SessionTaskEnd::PutAside);
            }
            let deadline = self.next_deadline();
            let due_at = deadline.unwrap_or_else(Instant::now);
            let is_linked = self.link.agent().is_some();
            tokio::select! {
                biased;
                command = commands.recv() => match command {
                    Some(command) => {
                        // Looking is not using: a list that is drawn again and again must
                        // not keep a worker.
                        if !command.is_look() {
                            self.used_at = Instant::now();
                        }
                        self.execute(command).await?;
                    }
                    None => return Ok(SessionTaskEnd::Finished),
                },
                batch = async { self.link.current_mut()?.messages.recv().await },
                if is_linked => match batch {
                    Some(batch) => self.handle_batch(batch).await?,
                    None => self.agent_is_gone().await?,
                },
                () = self.services.terminals.log.new_output.notified() => {}
                () = tokio::time::sleep_until(due_at.into()), if deadline.is_some() => {
                    self.on_deadline().await?;
                }
            }
        }
    }

    async fn execute(&mut self, command: SessionTaskCommand) -> Result<(), LogFailure> {
        match command {
            SessionTaskCommand::Prompt(prompt, reply) => {
                let received = self.receive(prompt).await;
                let _ = match received {
                    Ok(received) => reply.send(received),
                    Err(failure) => {
                        let _ = reply.send(Err(SessionError::Halted(failure.clone())));
                        return Err(failure);
                    }
                };
            }
            SessionTaskCommand::Cancel { by, done } => self.cancel(&by, Some(done)).await?,
            SessionTaskCommand::StopTurn { by, done } => self.stop_turn(&by, Some(done)).await?,
            SessionTaskCommand::Hold => self.turns.hold(),
            SessionTaskCommand::Drop { turn, reply } => {
                let is_dropped = self.turns.drop_queued(turn);
                if is_dropped {
                    self.log_dropped(&[turn], DropReason::Dropped).await?;
                }
                tell(reply, is_dropped);
            }
            SessionTaskCommand::Answer { request, answer, by, reply } => {
                tell(reply, self.answer(request, &answer, by).await?);
            }
            SessionTaskCommand::Attach { client, done } => {
                self.clients.attach(client);
                tell(done, ());
            }
            SessionTaskCommand::Detach(id) => self.clients.detach(id),
            SessionTaskCommand::NoteSetting { method, params } => {
                self.details.note_setting(&method, &params);
                self.offer_follows(&method, &params);
                let set = OptionSet { method, params: params.as_raw(), by: None };
                let drafts = vec![self.event(set)];
                self.append(drafts, self.record()).await?;
            }
            SessionTaskCommand::SetLimits { limits, by, done } => {
                tell(done, self.set_limits(limits, &by).await?);
            }
            SessionTaskCommand::Linked(Ok(linked)) => self.linked(linked).await?,
            SessionTaskCommand::Linked(Err(fault)) => self.not_linked(&fault).await?,
            SessionTaskCommand::Stopping(step) => self.note_stop_step(step).await?,
            SessionTaskCommand::Pass(pass) => self.pass(pass),
            SessionTaskCommand::Link { reply } => {
                self.link.await_offer(reply);
                self.start_agent();
            }
            SessionTaskCommand::OptionsChanged(options) => {
                self.offer_has(&["configOptions"], &options);
            }
            SessionTaskCommand::Waiting { reply } => {
                tell(reply, self.turns.waiting(|prompt| prompt.text.clone()));
            }
            SessionTaskCommand::Peek { reply } => tell(reply, self.offer()),
            SessionTaskCommand::Rename { title, by, done } => {
                tell(done, self.rename(title, &by).await?);
            }
            SessionTaskCommand::Notify { method, params } => {
                if let Some(agent) = self.link.agent() {
                    agent.notify(&method, &params);
                }
            }
            SessionTaskCommand::Close { done } => tell(done, self.close().await?),
            SessionTaskCommand::Finish { done } => self.finishing = Some(done),
            SessionTaskCommand::PutAsideIfUnused => self.put_aside_if_unlinked(),
        }
        Ok(())
    }

    async fn append(
        &mut self,
        drafts: Vec<Draft>,
        changes: RecordChanges,
    ) -> Result<(), LogFailure> {
        self.commit(Batch::new(self.id, drafts).with(changes)).await
    }

    /// Appends so that it is safe against a power cut.
    async fn append_durably(
        &mut self,
        drafts: Vec<Draft>,
        changes: RecordChanges,
    ) -> Result<(), LogFailure> {
        self.commit(Batch::new(self.id, drafts).durable(Durability::Power).with(changes)).await
    }

    async fn commit(&mut self, mut batch: Batch) -> Result<(), LogFailure> {
        let work = batch.drafts.iter().rfind(|draft| !is_upkeep(draft));
        self.updated = work.map_or(self.updated, |draft| draft.at);
        batch.changes.updated = work.is_none().then_some(self.updated);
        let (n_events, since) = (batch.drafts.len(), Instant::now());
        self.head = self.context.log.append(batch).await?.last;
        let took = since.elapsed();
        self.context.settings.observers.for_each(|observer| observer.appended(n_events, took));
        Ok(())
    }

    /// The session's record as it is now.
    fn record(&self) -> RecordChanges {
        RecordChanges { details: Some(self.details.to_json()), ..RecordChanges::default() }
    }

    /// Gives the session a title. Clients get it as if the agent had set it: all of them know that.
    async fn rename(&mut self, title: Option<String>, by: &str) -> Result<(), LogFailure> {
        self.title.clone_from(&title);
        // Without one, the agent's are welcome again.
        self.details.is_titled = title.is_some();
        let payload = json!({
            "sessionId": self.public_id,
            "update": {
                "sessionUpdate": "session_info_update",
                "title": title,
                "_meta": { "switchyard": { "by": by } },
            },
        });
        let told = Draft {
            at: mint::now(),
            turn: self.turns.current(),
            kind: Kind::update("session_info_update"),
            payload: Json::of(&payload),
        };
        let details = Some(self.details.to_json());
        let changes = RecordChanges { title: Some(title), details, ..RecordChanges::default() };
        self.append(vec![told], changes).await
    }

    /// Logs what commands have printed and how they ended, as far as it is time; of those of a
    /// turn that ends, all that is there.
    async fn log_terminals(&mut self, ending: Option<TurnId>) -> Result<(), LogFailure> {
        let terminal_log = &self.services.terminals.log;
        let TerminalEvents { drafts, waited_for } = terminal_log.take(Instant::now(), ending);
        let is_noted = self.note_open_commands();
        if drafts.is_empty() && !is_noted {
            return Ok(());
        }
        let changes = if is_noted { self.record() } else { RecordChanges::default() };
        if drafts.is_empty() {
            return self.context.log.update(self.id, changes).await;
        }
        self.silence.begin_anew(Instant::now());
        self.append(drafts, changes).await?;
        drop(waited_for);
        Ok(())
    }

    /// Notes in the details which commands run, for whoever comes after a crash; whether that is new.
    /// One that prints nothing is nowhere else.
    fn note_open_commands(&mut self) -> bool {
        let open = self.services.terminals.log.open();
        let is_new = open != self.details.open_commands;
        self.details.open_commands = open;
        is_new
    }

    /// An event of the running turn, now.
    fn event<'a>(&self, own: impl Into<OwnEvent<'a>>) -> Draft {
        draft(self.turns.current(), own)
    }

    /// Logs one event of the running turn.
    async fn append_event(&mut self, own: impl Into<OwnEvent<'_>>) -> Result<(), LogFailure> {
        let drafts = vec![self.event(own)];
        self.append(drafts, RecordChanges::default()).await
    }

    fn publish_phase(&self) {
        let phase = match self.turns.running() {
            _ if self.gate.is_paused() => SessionPhase::RequiresAction,
            None if self.turns.has_next() => SessionPhase::Running,
            None => SessionPhase::Idle,
            Some(_) if self.questions.is_empty() => SessionPhase::Running,
            Some(_) => SessionPhase::RequiresAction,
        };
        self.phase.send_if_modified(|current| std::mem::replace(current, phase.clone()) != phase);
    }
}

/// Whether the event says only what became of a process, or of the session's name: neither is
/// work, and lists of sessions are in the order of work.
fn is_upkeep(draft: &Draft) -> bool {
    match &draft.kind {
        Kind::WorkerStarted
        | Kind::WorkerExited
        | Kind::AgentStderr
        | Kind::AgentQuiet
        | Kind::TerminalExited => true,
        kind => kind.as_str() == "session_info_update",
    }
}

/// Replies to a command. Whoever gave it may have gone away; what was done stands.
fn tell<T>(reply: ReplySender<T>, value: T) {
    let _ = reply.send(value);
}
