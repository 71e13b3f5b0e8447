//! The task that owns a session.
//!
//! Always true: everything a client sees was committed before; at most one turn runs; a
//! turn ends once, by the agent's answer, by cancel or by the agent's death. The task
//! never waits for the agent: it would not hear the agent while waiting.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use store::{Batch, Changes, Claim, Durability, StoreError};
use tokio::sync::{mpsc, watch};
use wire::{Draft, Json, Kind, RpcError, Seq, SessionId, TurnId};

use super::SessionSetup;
use super::question::Questions;
use super::services::Services;
use super::turns::Turns;
use super::{ClientCall, Command, Linkage, Linked, Phase, Reply, ServedBy, SessionError};
use crate::connection::{CallError, Outcome};
use crate::details::{Details, prompt_text};
use crate::files::Roots;
use crate::host::{FromAgents, HostSlot};
use crate::link::Known;
use crate::permission::Policy;
use crate::trouble::Trouble;
use crate::yard::{Yard, draft};
use crate::{link, mint, open};

/// A prompt is made safe against a power cut a moment after it was sent: the disk would
/// otherwise be busy with it just when the first words of the answer are to be logged.
const SYNC_AFTER: Duration = Duration::from_millis(50);

pub(super) struct Actor {
    pub(super) yard: Yard,
    pub(super) id: SessionId,
    pub(super) public_id: String,
    pub(super) agent: String,
    pub(super) details: Details,
    agent_session: Option<String>,
    title: Option<String>,
    slot: Arc<HostSlot>,
    pub(super) policy: Policy,
    pub(super) roots: Arc<Roots>,
    /// `None` where the client serves files and terminals.
    pub(super) services: Option<Arc<Services>>,
    /// For tasks that report back; weak, so that dropping all handles ends the session.
    pub(super) commands: mpsc::WeakSender<Command>,
    phase: watch::Sender<Phase>,
    pub(super) link: LinkState,
    pub(super) turns: Turns<Prompt>,
    /// The agent's request that stands for the running turn.
    pub(super) prompt_tag: Option<u64>,
    pub(super) last_turn: Option<TurnId>,
    preamble: Option<String>,
    pub(super) questions: Questions,
    pub(super) tools: BTreeMap<String, Value>,
    pub(super) clients: Vec<(u64, mpsc::Sender<ClientCall>)>,
    pub(super) cancelling: super::cancel::Cancelling,
    pub(super) heard_at: Instant,
    pub(super) n_quiet_reports: u32,
    pub(super) n_garbage: u32,
    pub(super) head: Seq,
    finishing: Option<Reply<()>>,
    /// Held for as long as the session lives here.
    _claim: Claim,
}

pub(super) enum LinkState {
    Unlinked,
    Linking,
    Linked { linkage: Linkage, messages: FromAgents },
}

#[derive(Debug)]
pub(super) struct Prompt {
    params: Json,
    text: String,
}

/// The log failed; the session cannot go on.
#[derive(Debug)]
pub(super) struct Halt(pub(super) String);

impl From<StoreError> for Halt {
    fn from(error: StoreError) -> Self {
        Self(error.to_string())
    }
}

/// Why an agent could not be given the session.
#[derive(Debug)]
pub(super) struct LinkFailure(Trouble);

impl Actor {
    pub(super) fn new(
        yard: Yard,
        setup: SessionSetup,
        roots: Arc<Roots>,
        commands: mpsc::WeakSender<Command>,
        phase: watch::Sender<Phase>,
    ) -> Self {
        let SessionSetup { record, claim, slot, policy, services, .. } = setup;
        let services = (services == ServedBy::Switchyard).then(|| {
            let agent = record.agent.clone();
            let policy = policy.clone();
            Arc::new(Services::new(
                roots.clone(),
                yard.setup.clone(),
                &yard.settings,
                policy,
                agent,
            ))
        });
        Self {
            details: Details::read(&record),
            turns: Turns::new(yard.settings.max_queued_prompts),
            yard,
            id: record.id,
            public_id: record.id.to_string(),
            agent: record.agent,
            agent_session: record.agent_session,
            title: record.title,
            slot,
            policy,
            roots,
            services,
            commands,
            phase,
            link: LinkState::Unlinked,
            prompt_tag: None,
            last_turn: None,
            preamble: None,
            questions: Questions::default(),
            tools: BTreeMap::new(),
            clients: Vec::new(),
            cancelling: super::cancel::Cancelling::default(),
            heard_at: Instant::now(),
            n_quiet_reports: 0,
            n_garbage: 0,
            head: record.head,
            finishing: None,
            _claim: claim,
        }
    }

    pub(super) async fn run(mut self, mut commands: mpsc::Receiver<Command>, linked: Linked) {
        let lived = self.live(&mut commands, linked).await;
        let why = match lived {
            Ok(()) => None,
            Err(halt) => {
                self.halt(&halt).await;
                Some(halt.0)
            }
        };
        if let Some(services) = &self.services {
            services.end().await;
        }
        let _ = self.phase.send(Phase::Over(why));
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
        // No longer listening comes first: the agent's last words would wait for us, and we
        // for the agent.
        let linkage = self.release();
        if let Some(running) = self.turns.running() {
            let trouble = Trouble::new("internal", &halt.0);
            // A session that is full has room for this; a full disk has not.
            let _ = self.end_turn_with(running.turn, trouble).await;
        }
        if let Some(linkage) = linkage {
            linkage.host.stop(|_| {}).await;
        }
    }

    async fn live(
        &mut self,
        commands: &mut mpsc::Receiver<Command>,
        linked: Linked,
    ) -> Result<(), Halt> {
        self.linked(linked).await?;
        loop {
            self.start_next_turn().await?;
            self.publish_phase();
            if self.finishing.is_some() && matches!(self.link, LinkState::Unlinked) {
                return Ok(());
            }
            let deadline = self.next_deadline();
            tokio::select! {
                biased;
                command = commands.recv() => match command {
                    Some(command) => self.obey(command).await?,
                    None => return Ok(()),
                },
                batch = next_batch(&mut self.link) => match batch {
                    Some(batch) => self.hear(batch).await?,
                    None => self.agent_is_gone().await?,
                },
                () = until(deadline) => self.on_time().await?,
            }
        }
    }

    async fn obey(&mut self, command: Command) -> Result<(), Halt> {
        match command {
            Command::Prompt { turn, params, by, reply } => {
                let accepted = self.receive(turn, params, by).await;
                let _ = match accepted {
                    Ok(refused) => reply.send(refused),
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
                    let payload = json!({ "reason": "dropped" });
                    let drafts = vec![draft(Kind::PromptDropped, Some(turn), &payload)];
                    let changes = self.next_turn_is_active();
                    self.append(drafts, changes).await?;
                }
                let _ = reply.send(is_dropped);
            }
            Command::Answer { request, answer, by, reply } => {
                let is_taken = self.answer(request, &answer, by).await?;
                let _ = reply.send(is_taken);
            }
            Command::Attach { id, calls, done } => {
                self.clients.push((id, calls));
                let _ = done.send(());
            }
            Command::Detach(id) => self.clients.retain(|(client, _)| *client != id),
            Command::NoteSetting { method, params } => {
                self.details.note_setting(&method, &params);
                let payload = format!(r#"{{"method":"{method}","params":{}}}"#, params.as_str());
                let drafts = vec![self.raw_draft(Kind::OptionSet, Json::trusted(payload))];
                let details = Some(self.details.to_json());
                self.append(drafts, Changes { details, ..Changes::default() }).await?;
            }
            Command::Linked(Ok(linked)) => self.linked(linked).await?,
            Command::Linked(Err(LinkFailure(trouble))) => self.not_linked(trouble).await?,
            Command::Stopping(step) => self.note_stop_step(step).await?,
            Command::Pass { method, params, reply } => self.pass(method, params, reply),
            Command::Close { done } => {
                self.close().await?;
                let _ = done.send(());
            }
            Command::Release { done } => {
                self.release();
                let _ = done.send(());
            }
            Command::Finish { done } => self.finishing = Some(done),
        }
        Ok(())
    }

    /// Logs a prompt and starts or queues it.
    async fn receive(
        &mut self,
        turn: TurnId,
        params: Json,
        by: String,
    ) -> Result<Result<(), SessionError>, Halt> {
        if let Err(full) = self.turns.check_room(turn) {
            return Ok(Err(full.into()));
        }
        let text = prompt_text(&params);
        // From here on a crash leaves something to put right.
        let first = self.turns.running().map(|running| running.turn);
        let first = first.or(self.turns.queued().next()).or(Some(turn));
        let mut changes =
            Changes { is_closed: Some(false), active_turn: Some(first), ..Changes::default() };
        if self.title.is_none() {
            self.title = title_from(&text);
            changes.title = self.title.clone().map(Some);
        }
        let payload = prompt_payload(&params, &by);
        let received =
            Draft { at: mint::now(), turn: Some(turn), kind: Kind::PromptReceived, payload };
        // There is room; it was checked before anything was logged.
        let _ = self.turns.enqueue(turn, Prompt { params, text });
        let is_linked = matches!(self.link, LinkState::Linked { .. });
        let is_next = self.turns.queued().next() == Some(turn);
        match (is_linked && is_next).then(|| self.turns.start_next()).flatten() {
            // One commit for both, because the agent waits for it.
            Some((turn, prompt)) => self.begin(turn, prompt, vec![received], changes).await?,
            None => self.append(vec![received], changes).await?,
        }
        Ok(Ok(()))
    }

    async fn start_next_turn(&mut self) -> Result<(), Halt> {
        if self.turns.running().is_some() || self.turns.queued().next().is_none() {
            return Ok(());
        }
        match &self.link {
            LinkState::Linking => return Ok(()),
            LinkState::Unlinked => {
                self.link = LinkState::Linking;
                self.spawn_link();
                return Ok(());
            }
            LinkState::Linked { .. } => {}
        }
        let Some((turn, prompt)) = self.turns.start_next() else { return Ok(()) };
        self.begin(turn, prompt, Vec::new(), Changes::default()).await
    }

    /// Sends a prompt to the agent, once its start is logged behind `drafts`.
    async fn begin(
        &mut self,
        turn: TurnId,
        prompt: Prompt,
        mut drafts: Vec<Draft>,
        changes: Changes,
    ) -> Result<(), Halt> {
        self.details.note_prompt(&prompt.text);
        self.last_turn = Some(turn);
        self.heard_at = Instant::now();
        (self.n_quiet_reports, self.n_garbage) = (0, 0);
        self.tools.clear();
        let changes = Changes {
            active_turn: Some(Some(turn)),
            details: Some(self.details.to_json()),
            ..changes
        };
        drafts.push(draft(Kind::TurnStarted, Some(turn), &json!({})));
        self.append(drafts, changes).await?;
        let sent = match &self.link {
            LinkState::Linked { linkage, .. } => {
                let tag = linkage.host.routes().tag(&linkage.agent_session);
                self.prompt_tag = Some(tag);
                let params = with_preamble(prompt.params, self.preamble.take());
                let params = linkage.params_for_agent(&params);
                linkage.host.connection().call_tagged(tag, "session/prompt", &params)
            }
            _ => Ok(()),
        };
        if let Err(error) = sent {
            let trouble = Trouble::new("process_exit", format!("the prompt was not sent: {error}"));
            return self.end_turn_with(turn, trouble).await;
        }
        let log = self.yard.log.clone();
        tokio::spawn(async move {
            tokio::time::sleep(SYNC_AFTER).await;
            log.sync().await
        });
        Ok(())
    }

    /// Starts the agent again and gives it the session back, on the side.
    fn spawn_link(&self) {
        let Some(commands) = self.commands.upgrade() else { return };
        let known = Known::of(self.agent_session.clone(), &self.details);
        let (slot, yard, id) = (self.slot.clone(), self.yard.clone(), self.id);
        let details = self.details.clone();
        let waiting: Vec<TurnId> = self.turns.queued().collect();
        tokio::spawn(async move {
            let linking = async {
                let host = slot.host().await?;
                open::relink(&yard, &host, id, &known, &details, &waiting).await
            };
            let linked = linking.await.map_err(|error| LinkFailure(Trouble::from(&error)));
            // A session that ended meanwhile drops the link.
            let _ = commands.send(Command::Linked(linked)).await;
        });
    }

    async fn linked(&mut self, linked: Linked) -> Result<(), Halt> {
        let Linked { link, resumed, preamble } = linked;
        let host = link.host.clone();
        let mut drafts = vec![draft(
            Kind::WorkerStarted,
            None,
            &json!({
                "pid": host.pid(),
                "command": self.slot.command().argv(),
                "containment": format!("{:?}", host.containment()).to_lowercase(),
            }),
        )];
        if let Some(report) = resumed {
            drafts.push(draft(Kind::SessionResumed, None, &report));
        }
        self.preamble = preamble;
        self.agent_session = Some(link.agent_session.clone());
        let agent_session = Some(self.agent_session.clone());
        self.append(drafts, Changes { agent_session, ..Changes::default() }).await?;
        let linkage = Linkage { host, agent_session: link.agent_session };
        self.link = LinkState::Linked { linkage, messages: link.messages };
        self.hear(link.early).await
    }

    /// Every prompt that waits fails for the same reason: asking again would not help.
    async fn not_linked(&mut self, trouble: Trouble) -> Result<(), Halt> {
        self.link = LinkState::Unlinked;
        while let Some((turn, _)) = self.turns.start_next() {
            let changes = Changes { active_turn: Some(Some(turn)), ..Changes::default() };
            self.append(vec![draft(Kind::TurnStarted, Some(turn), &json!({}))], changes).await?;
            self.end_turn_with(turn, trouble.clone()).await?;
        }
        Ok(())
    }

    /// Ends `turn` with an error.
    pub(super) async fn end_turn_with(
        &mut self,
        turn: TurnId,
        trouble: Trouble,
    ) -> Result<(), Halt> {
        self.end_turn(turn, &json!({ "stopReason": "error", "error": trouble })).await
    }

    /// Ends `turn` if it runs; questions that are still open are withdrawn first.
    pub(super) async fn end_turn(
        &mut self,
        turn: TurnId,
        payload: &impl serde::Serialize,
    ) -> Result<(), Halt> {
        self.cancel_questions().await?;
        if !self.turns.end(turn) {
            return Ok(());
        }
        self.prompt_tag = None;
        let batch = Batch::new(self.id, vec![draft(Kind::TurnEnded, Some(turn), payload)])
            .durable(Durability::Power)
            .with(self.next_turn_is_active());
        self.head = self.yard.log.append(batch).await?.last;
        self.cancelling.finish();
        Ok(())
    }

    /// The record's note of what a crash would leave undone.
    pub(super) fn next_turn_is_active(&self) -> Changes {
        let running = self.turns.running().map(|running| running.turn);
        let active_turn = Some(running.or(self.turns.queued().next()));
        Changes { active_turn, ..Changes::default() }
    }

    /// Asks the agent something on a client's behalf, without waiting for it here.
    fn pass(&self, method: String, params: Json, mut reply: Reply<Outcome>) {
        let LinkState::Linked { linkage, .. } = &self.link else {
            let error = RpcError::internal("the agent is not running; the next prompt starts it");
            let _ = reply.send(Err(error));
            return;
        };
        let (params, host) = (linkage.params_for_agent(&params), linkage.host.clone());
        tokio::spawn(async move {
            let outcome = tokio::select! {
                outcome = host.connection().call(&method, &params) => outcome,
                // Giving up here withdraws the request from the agent too.
                () = reply.closed() => return,
            };
            let _ = reply.send(outcome.map_err(|error| match error {
                CallError::Refused(error) => error,
                error => RpcError::internal(error),
            }));
        });
    }

    /// Lets go of the agent; called when no turn runs.
    fn release(&mut self) -> Option<Linkage> {
        match std::mem::replace(&mut self.link, LinkState::Unlinked) {
            LinkState::Linked { linkage, .. } => {
                linkage.host.routes().remove(&linkage.agent_session);
                Some(linkage)
            }
            LinkState::Linking | LinkState::Unlinked => None,
        }
    }

    async fn close(&mut self) -> Result<(), Halt> {
        if let Some(linkage) = self.release()
            && linkage.host.capabilities().close
        {
            let params = linkage.params_for_agent(&Json::trusted("{}"));
            // A courtesy; the agent may take its time over it.
            tokio::spawn(async move { link::call(&linkage.host, "session/close", &params).await });
        }
        let closed = vec![draft(Kind::SessionClosed, None, &json!({}))];
        self.append(closed, Changes { is_closed: Some(true), ..Changes::default() }).await
    }

    pub(super) async fn append(
        &mut self,
        drafts: Vec<Draft>,
        changes: Changes,
    ) -> Result<(), Halt> {
        let batch = Batch::new(self.id, drafts).with(changes);
        self.head = self.yard.log.append(batch).await?.last;
        Ok(())
    }

    /// An event of the running turn, now.
    pub(super) fn raw_draft(&self, kind: Kind, payload: Json) -> Draft {
        Draft { at: mint::now(), turn: self.current_turn(), kind, payload }
    }

    /// The turn that what happens now belongs to; late updates count for the last one.
    pub(super) fn current_turn(&self) -> Option<TurnId> {
        self.turns.running().map(|running| running.turn).or(self.last_turn)
    }

    fn publish_phase(&self) {
        let phase = match self.turns.running() {
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

fn prompt_payload(params: &Json, by: &str) -> Json {
    #[derive(serde::Deserialize)]
    struct Params<'a> {
        #[serde(borrow)]
        prompt: &'a serde_json::value::RawValue,
    }
    let prompt = params.read::<Params>().map_or("[]", |params| params.prompt.get());
    Json::trusted(format!(r#"{{"by":{},"prompt":{prompt}}}"#, Json::of(&by).as_str()))
}

/// Puts a text block before the others.
fn with_preamble(params: Json, preamble: Option<String>) -> Json {
    let Some(preamble) = preamble else { return params };
    let payload = prompt_payload(&params, "");
    let prompt: Value = payload.read().unwrap_or_default();
    let mut blocks = vec![json!({ "type": "text", "text": preamble })];
    blocks.extend(prompt["prompt"].as_array().cloned().unwrap_or_default());
    wire::set_member(&params, &["prompt"], &Json::of(&blocks)).unwrap_or(params)
}

/// A name for lists: the first line of the first prompt, not too long.
fn title_from(text: &str) -> Option<String> {
    const MAX_CHARS: usize = 80;
    let line = text.lines().find(|line| !line.trim().is_empty())?.trim();
    let mut title: String = line.chars().take(MAX_CHARS).collect();
    if line.chars().count() > MAX_CHARS {
        title.push('…');
    }
    Some(title)
}
