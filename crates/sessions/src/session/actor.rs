//! The task that owns a session.
//!
//! Always true: everything a client sees was committed before; at most one turn runs; a
//! turn ends once, by the agent's answer, by cancel or by the agent's death. The task
//! never waits for the agent: it would not hear the agent while waiting.

use std::sync::Arc;
use std::time::Instant;

use roots::Roots;
use serde_json::json;
use store::{Batch, Changes, Claim, StoreError};
use tokio::sync::{mpsc, watch};
use wire::event::{DropReason, OptionSet, PromptDropped};
use wire::{Category, Draft, Fault, Json, Kind, Own, Seq, SessionId, TurnId};

use super::judge::Judge;
use super::last_act::LastAct;
use super::prompting::Prompt;
use super::question::Questions;
use super::services::Services;
use super::turns::Turns;
use super::{Client, Command, Linkage, Phase, Reply, SessionError};
use crate::details::Details;
use crate::host::{FromAgents, HostSlot};
use crate::link::Linked;
use crate::mint;
use crate::news::What;
use crate::observer::{Held, TurnWatch, Watched};
use crate::open::{self, Terms};
use crate::permission::KnownTools;
use crate::terminals::Taken;
use crate::yard::{Yard, draft};

pub(super) struct Actor {
    pub(super) yard: Yard,
    pub(super) id: SessionId,
    pub(super) public_id: String,
    pub(super) agent: String,
    pub(super) details: Details,
    pub(super) agent_session: Option<String>,
    pub(super) title: Option<String>,
    pub(super) slot: Arc<HostSlot>,
    pub(super) judge: Arc<Judge>,
    pub(super) roots: Arc<Roots>,
    pub(super) services: Arc<Services>,
    /// For tasks that report back; weak, so that dropping all handles ends the session.
    pub(super) commands: mpsc::WeakSender<Command>,
    phase: watch::Sender<Phase>,
    pub(super) link: LinkState,
    pub(super) turns: Turns<Prompt>,
    /// The agent's request that stands for the running turn.
    pub(super) prompt_tag: Option<u64>,
    pub(super) last_turn: Option<TurnId>,
    pub(super) preamble: Option<String>,
    /// The running turn's prompt, until the agent has said something in it.
    pub(super) unheard: Option<Json>,
    /// A prompt that is sent again when the session is linked anew.
    pub(super) again: Option<super::lost::Again>,
    pub(super) last_words: super::disguise::LastWords,
    /// Why the agent is given the session as a new one.
    pub(super) forgot: Option<String>,
    /// What the next report of a resume has to say besides.
    pub(super) changed: Vec<String>,
    pub(super) questions: Questions,
    /// A limit is reached, and a person is asked.
    pub(super) paused: Option<super::limits::Paused>,
    pub(super) clock: super::limits::Clock,
    pub(super) tools: KnownTools,
    pub(super) clients: Vec<Client>,
    pub(super) cancelling: super::cancel::Cancelling,
    pub(super) heard_at: Instant,
    pub(super) n_quiet_reports: u32,
    pub(super) last_act: LastAct,
    pub(super) n_garbage: u32,
    pub(super) head: Seq,
    /// Of the running turn.
    pub(super) watch: Watched<dyn TurnWatch>,
    _live: Watched<dyn Held>,
    /// The agent's answer to session/new, load or resume, kept up to date.
    pub(super) answer: super::linking::KeptAnswer,
    /// Requests of clients that wait for the agent to be started.
    pub(super) held: super::linking::Held,
    /// When somebody last wanted something of the session.
    pub(super) used_at: Instant,
    finishing: Option<Reply<()>>,
    /// It was closed, and its task has nothing left to do.
    pub(super) is_closed: bool,
    /// Held for as long as the session lives here.
    _claim: Claim,
}

pub(super) enum LinkState {
    Unlinked,
    Linking,
    Linked { linkage: Linkage, messages: FromAgents },
}

/// Why a session's task ended in good order.
enum End {
    Finished,
    PutAside,
}

/// The log failed; the session cannot go on.
#[derive(Debug)]
pub(super) struct Halt(pub(super) String);

impl From<StoreError> for Halt {
    fn from(error: StoreError) -> Self {
        Self(error.to_string())
    }
}

impl Actor {
    pub(super) fn new(
        yard: Yard,
        terms: &Terms,
        taken: open::Taken,
        roots: Arc<Roots>,
        commands: mpsc::WeakSender<Command>,
        phase: watch::Sender<Phase>,
    ) -> Self {
        let open::Taken { record, claim, changed, .. } = taken;
        let judge = Arc::new(Judge {
            policy: terms.policy.clone(),
            rules: yard.rules.clone(),
            agent: record.agent.clone(),
            roots: roots.clone(),
        });
        let own_dirs = yard.settings.own_dirs.as_ref();
        let services = Arc::new(Services::new(
            roots.clone(),
            own_dirs.map(|dirs| dirs.join(record.id.as_str())),
            yard.setup.clone(),
            &yard.settings,
            judge.clone(),
        ));
        let live = yard.settings.observers.watch(|observer| observer.session(&record.agent));
        Self {
            details: Details::read(&record),
            turns: Turns::new(yard.settings.max_queued_prompts),
            yard,
            id: record.id,
            public_id: record.id.to_string(),
            agent: record.agent,
            agent_session: record.agent_session,
            title: record.title,
            slot: terms.slot.clone(),
            judge,
            roots,
            services,
            commands,
            phase,
            link: LinkState::Unlinked,
            prompt_tag: None,
            last_turn: None,
            preamble: None,
            unheard: None,
            again: None,
            last_words: super::disguise::LastWords::default(),
            forgot: None,
            changed,
            questions: Questions::default(),
            paused: None,
            clock: super::limits::Clock::default(),
            tools: KnownTools::default(),
            clients: Vec::new(),
            cancelling: super::cancel::Cancelling::default(),
            heard_at: Instant::now(),
            n_quiet_reports: 0,
            last_act: LastAct::default(),
            n_garbage: 0,
            head: record.head,
            watch: Watched::default(),
            _live: live,
            answer: super::linking::KeptAnswer::default(),
            held: super::linking::Held::default(),
            used_at: Instant::now(),
            finishing: None,
            is_closed: false,
            _claim: claim,
        }
    }

    pub(super) async fn run(
        mut self,
        mut commands: mpsc::Receiver<Command>,
        linked: Option<Linked>,
    ) {
        let lived = self.live(&mut commands, linked).await;
        let over = match lived {
            Ok(End::Finished) => Phase::Over(None),
            Ok(End::PutAside) => Phase::PutAside,
            Err(halt) => {
                self.halt(&halt).await;
                Phase::Over(Some(halt.0))
            }
        };
        self.abandon_shared();
        // The agent may outlive the session in its slot; it must not stand still there.
        if self.paused.is_some() {
            self.release();
        }
        self.services.terminals.end_all().await;
        // A log that takes no more has said so already.
        let _ = self.tell_terminals(None).await;
        let _ = self.phase.send(over);
        // The claim goes before the waiter learns that the session is free.
        let done = self.finishing.take();
        drop(self);
        if let Some(done) = done {
            let _ = done.send(());
        }
    }

    /// The log takes no more. An agent must not go on working where nothing can be logged.
    async fn halt(&mut self, halt: &Halt) {
        tracing::warn!(session = %self.id, why = halt.0, "session halted");
        let (turn, why) = (self.current_turn(), halt.0.clone());
        self.yard.news.add(self.id, What::Halted { turn, why });
        // No longer listening comes first: the agent's last words would wait for us, and we
        // for the agent.
        let linkage = self.release();
        if let Some(running) = self.turns.running() {
            let fault = Fault::new(Category::Internal, &halt.0);
            // A session that is full has room for this; a full disk has not.
            let _ = self.end_turn_with(running.turn, fault).await;
        }
        if let Some(linkage) = linkage {
            linkage.host.stop(|_| {}).await;
        }
    }

    async fn live(
        &mut self,
        commands: &mut mpsc::Receiver<Command>,
        linked: Option<Linked>,
    ) -> Result<End, Halt> {
        if let Some(linked) = linked {
            self.linked(linked).await?;
        }
        loop {
            if self.is_closed {
                return Ok(End::PutAside);
            }
            self.tell_terminals(None).await?;
            self.check_limits().await?;
            self.start_next_turn().await?;
            self.count_time();
            self.publish_phase();
            if self.finishing.is_some() {
                self.leave_shared();
            }
            if self.finishing.is_some() && matches!(self.link, LinkState::Unlinked) {
                return Ok(End::Finished);
            }
            // Who comes too late for this task is told so, and wakes the session again.
            if self.is_out_of_use() && commands.is_empty() {
                return Ok(End::PutAside);
            }
            let deadline = self.next_deadline();
            tokio::select! {
                biased;
                command = commands.recv() => match command {
                    Some(command) => {
                        // Looking is not using: a list that is drawn again and again must
                        // not keep a worker.
                        if !command.is_look() {
                            self.used_at = Instant::now();
                        }
                        self.obey(command).await?;
                    }
                    None => return Ok(End::Finished),
                },
                batch = next_batch(&mut self.link) => match batch {
                    Some(batch) => self.hear(batch).await?,
                    None => self.agent_is_gone().await?,
                },
                () = self.services.terminals.telling.news() => {}
                () = until(deadline) => self.on_time().await?,
            }
        }
    }

    async fn obey(&mut self, command: Command) -> Result<(), Halt> {
        match command {
            Command::Prompt(prompt, reply) => {
                let received = self.receive(prompt).await;
                let _ = match received {
                    Ok(received) => reply.send(received),
                    Err(halt) => {
                        let _ = reply.send(Err(SessionError::Over(halt.0.clone())));
                        return Err(halt);
                    }
                };
            }
            Command::Cancel { by, done } => self.cancel(&by, Some(done)).await?,
            Command::Drop { turn, reply } => {
                let is_dropped = self.turns.drop_queued(turn);
                if is_dropped {
                    let reason = DropReason::Dropped;
                    let drafts = vec![draft(Some(turn), PromptDropped { reason })];
                    let changes = self.next_turn_is_active();
                    self.append(drafts, changes).await?;
                }
                let _ = reply.send(is_dropped);
            }
            Command::Answer { request, answer, by, reply } => {
                let is_taken = self.answer(request, &answer, by).await?;
                let _ = reply.send(is_taken);
            }
            Command::Attach { client, done } => {
                self.clients.push(client);
                let _ = done.send(());
            }
            Command::Detach(id) => self.clients.retain(|client| client.id != id),
            Command::NoteSetting { method, params } => {
                self.details.note_setting(&method, &params);
                self.answer_follows(&method, &params);
                let set = OptionSet { method, params: params.as_raw(), by: None };
                let drafts = vec![self.event(set)];
                let details = Some(self.details.to_json());
                self.append(drafts, Changes { details, ..Changes::default() }).await?;
            }
            Command::SetLimits { limits, by, done } => {
                self.set_limits(limits, &by).await?;
                let _ = done.send(());
            }
            Command::Linked(Ok(linked)) => self.linked(linked).await?,
            Command::Linked(Err(fault)) => self.not_linked(fault).await?,
            Command::Stopping(step) => self.note_stop_step(step).await?,
            Command::Pass(pass) => self.pass(pass),
            Command::Link { reply } => self.link_for(reply),
            Command::OptionsAre(options) => self.answer_has(&["configOptions"], &options),
            Command::Waiting { reply } => {
                let _ = reply.send(self.turns.waiting(|prompt| prompt.text.clone()));
            }
            Command::Peek { reply } => {
                let _ = reply.send(self.offer());
            }
            Command::Rename { title, by, done } => {
                self.rename(title, &by).await?;
                let _ = done.send(());
            }
            Command::Tell { method, params } => {
                if let LinkState::Linked { linkage, .. } = &self.link {
                    let params = linkage.params_for_agent(&params);
                    // An agent that does not read will be found stalled by its connection.
                    let _ = linkage.host.connection.notify(&method, &params);
                }
            }
            Command::Close { done } => {
                self.close().await?;
                let _ = done.send(());
            }
            Command::Finish { done } => self.finishing = Some(done),
            Command::Rest => self.rest_soon(),
        }
        Ok(())
    }

    pub(super) async fn append(
        &mut self,
        drafts: Vec<Draft>,
        changes: Changes,
    ) -> Result<(), Halt> {
        let batch = Batch::new(self.id, drafts).with(changes);
        self.head = self.yard.append(batch).await?.last;
        Ok(())
    }

    /// Clients learn of it as if the agent had named the session: all of them know that.
    async fn rename(&mut self, title: Option<String>, by: &str) -> Result<(), Halt> {
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
            turn: self.current_turn(),
            kind: Kind::update("session_info_update"),
            payload: Json::of(&payload),
        };
        let details = Some(self.details.to_json());
        // A name is no work: the session keeps its place among those that were used last.
        let record = self.yard.log.session(self.id).await?;
        let updated = record.map(|record| record.updated);
        let changes = Changes { title: Some(title), details, updated, ..Changes::default() };
        self.append(vec![told], changes).await
    }

    /// Logs what commands have printed and how they ended, as far as it is time; of those of a
    /// turn that ends, all that is there.
    pub(super) async fn tell_terminals(&mut self, ending: Option<TurnId>) -> Result<(), Halt> {
        let telling = &self.services.terminals.telling;
        let Taken { drafts, waited_for } = telling.take(Instant::now(), ending);
        if drafts.is_empty() {
            return Ok(());
        }
        self.still_at_work();
        self.append(drafts, Changes::default()).await?;
        drop(waited_for);
        Ok(())
    }

    /// An event of the running turn, now.
    pub(super) fn event<'a>(&self, own: impl Into<Own<'a>>) -> Draft {
        draft(self.current_turn(), own)
    }

    /// The turn that what happens now belongs to; late updates count for the last one.
    pub(super) fn current_turn(&self) -> Option<TurnId> {
        self.turns.running().map(|running| running.turn).or(self.last_turn)
    }

    fn publish_phase(&self) {
        let phase = match self.turns.running() {
            _ if self.paused.is_some() => Phase::RequiresAction,
            None if self.turns.queued().next().is_some() => Phase::Running,
            None => Phase::Idle,
            Some(_) if self.questions.is_empty() => Phase::Running,
            Some(_) => Phase::RequiresAction,
        };
        self.phase.send_if_modified(|current| std::mem::replace(current, phase.clone()) != phase);
    }
}

/// Cancel-safe; never ready while there is no agent.
async fn next_batch(link: &mut LinkState) -> Option<Vec<crate::host::FromAgent>> {
    match link {
        LinkState::Linked { messages, .. } => messages.recv().await,
        LinkState::Unlinked | LinkState::Linking => std::future::pending().await,
    }
}

async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline.into()).await,
        None => std::future::pending().await,
    }
}
