//! A durable conversation.
//!
//! In: prompts, cancels and answers from clients; messages from the agent. Out: events in
//! the log, which is where every client reads. One task owns a session ([`task`]); a
//! [`SessionHandle`] is how everybody else talks to it.

mod cancelling;
mod clients;
pub(crate) mod error;
mod judge;
mod limit_gate;
mod link_state;
mod masked_failure;
mod questions;
mod services;
mod silence;
mod task;
mod turn_progress;
mod turns;
mod usage;

use std::sync::Arc;

use roots::Roots;
use store::{Claim, SessionRecord, StoreError};
use tokio::sync::{mpsc, oneshot, watch};
use wire::{CallId, Fault, Json, Message, RpcError, RpcId, Seq, SessionId, TurnId};

use crate::budget::BudgetLimits;
use crate::context::{SessionContext, WaitingPrompt};
use crate::details::ClientRequest;
use crate::host::{AgentCapabilities, HostSlot};
use crate::link::LinkOutcome;
use crate::options::{OptionChoice, request_for};
use crate::permission::{Decider, PermissionPolicy};
use bus::connection::{Connection, RpcResult};

pub use crate::halted::QueuedPrompt;
use clients::AttachedClient;
pub use error::{ChooseError, SessionError};
pub(crate) use judge::{is_of_client, passes_for_judged};
use task::SessionTask;
pub use turns::NotQueued;

/// Commands that may wait for a session that is busy with its log.
const MAX_COMMANDS: usize = 64;

/// The kinds of an agent's requests that an attached client answers, beside questions.
#[derive(Debug, Clone, Copy, Default)]
pub struct ServedRequests {
    /// Files, which it may have open and changed.
    pub files: bool,
    /// Requests that are none of ACP's, and that nobody here knows.
    pub others: bool,
}

/// The phase of a session's task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionPhase {
    Idle,
    Running,
    /// Running, or about to, and waiting for a person.
    RequiresAction,
    /// The session's task has ended; why the log failed, if not on request.
    Over(Option<StoreError>),
    /// The session's task has ended because nobody used it.
    PutAside,
}

impl SessionPhase {
    /// Why its task has ended before its time.
    pub fn halted(&self) -> Option<&StoreError> {
        match self {
            Self::Over(why) => why.as_ref(),
            _ => None,
        }
    }
}

type ReplySender<T> = oneshot::Sender<T>;

/// A command to a session's task.
#[derive(Debug)]
enum SessionTaskCommand {
    Prompt(NewPrompt, ReplySender<Result<PromptAcceptance, SessionError>>),
    Cancel {
        by: String,
        done: ReplySender<usize>,
    },
    /// Cancels the running turn alone.
    StopTurn {
        by: String,
        done: ReplySender<usize>,
    },
    /// No turn is to begin any more.
    Hold,
    Drop {
        turn: TurnId,
        reply: ReplySender<bool>,
    },
    Answer {
        request: CallId,
        answer: SubmittedAnswer,
        by: Decider,
        reply: ReplySender<bool>,
    },
    Attach {
        client: AttachedClient,
        done: ReplySender<()>,
    },
    Detach(u64),
    NoteSetting {
        method: String,
        params: Json,
    },
    SetLimits {
        limits: BudgetLimits,
        by: String,
        done: ReplySender<()>,
    },
    Linked(Result<LinkOutcome, Fault>),
    Stopping(bus::StopStep),
    Pass(ForwardedRequest),
    Link {
        reply: ReplySender<Result<Json, Fault>>,
    },
    OptionsChanged(Json),
    Waiting {
        reply: ReplySender<Vec<QueuedPrompt>>,
    },
    Peek {
        reply: ReplySender<Option<AgentOffer>>,
    },
    Rename {
        title: Option<String>,
        by: String,
        done: ReplySender<()>,
    },
    Notify {
        method: String,
        params: Json,
    },
    Close {
        done: ReplySender<()>,
    },
    Finish {
        done: ReplySender<()>,
    },
    PutAsideIfUnused,
}

impl SessionTaskCommand {
    /// Whether the command only looks at the session, which is no use of it.
    fn is_look(&self) -> bool {
        matches!(self, Self::Peek { .. } | Self::Waiting { .. } | Self::PutAsideIfUnused)
    }
}

/// Everything that a session's task begins with.
#[derive(Debug)]
pub(crate) struct SessionTaskStart {
    pub(crate) record: SessionRecord,
    pub(crate) claim: Claim,
    /// Differences since the session was last opened.
    pub(crate) changed: Vec<String>,
    pub(crate) slot: Arc<HostSlot>,
    pub(crate) policy: PermissionPolicy,
    /// The agent, if it has the session already.
    pub(crate) linked: Option<LinkOutcome>,
    /// Prompts of the log that never began.
    pub(crate) waiting: Vec<WaitingPrompt>,
}

/// A cheap handle on a running session.
#[derive(Debug, Clone)]
pub struct SessionHandle {
    id: SessionId,
    commands: mpsc::Sender<SessionTaskCommand>,
    phase: watch::Receiver<SessionPhase>,
}

/// A client that answers questions and, if it said so, serves files.
#[derive(Debug)]
pub struct ClientAttachment {
    /// Requests of the agent that this client is to answer.
    pub calls: mpsc::Receiver<ClientCall>,
    commands: mpsc::Sender<SessionTaskCommand>,
    id: u64,
}

impl Drop for ClientAttachment {
    fn drop(&mut self) {
        // The session may be busy; it must learn of this all the same.
        let (commands, id) = (self.commands.clone(), self.id);
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move { commands.send(SessionTaskCommand::Detach(id)).await });
        }
    }
}

/// A request of the agent on its way to a client.
#[derive(Debug)]
pub struct ClientCall {
    pub method: String,
    pub params: Json,
    /// The client should have seen the log up to here first.
    pub after: Seq,
    agent: Connection,
    id: RpcId,
}

impl ClientCall {
    pub async fn respond(self, outcome: Result<Json, RpcError>) {
        // An agent that is gone needs no answer.
        let _ = self.agent.respond(&self.id, outcome).await;
    }
}

/// A prompt on its way into the log.
#[derive(Debug)]
struct NewPrompt {
    turn: TurnId,
    params: Json,
    by: String,
    request: Option<ClientRequest>,
}

/// The receipt of a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromptAcceptance {
    New,
    /// The same request was taken before.
    Known,
}

/// The options and capabilities of an agent, while it runs.
#[derive(Debug, Clone)]
pub struct AgentOffer {
    /// Its answer to session/new, load or resume, kept up to date.
    pub answer: Json,
    pub capabilities: AgentCapabilities,
}

/// A request that a client makes of the agent.
#[derive(Debug)]
struct ForwardedRequest {
    method: String,
    params: Json,
    reply: ReplySender<RpcResult>,
}

/// A client's answer to a question.
#[derive(Debug, Clone)]
pub enum SubmittedAnswer {
    /// The `optionId` of one of the options, or `None` for cancelled.
    Permission(Option<String>),
    /// The raw response to an elicitation.
    Elicitation(Json),
    /// No, in whatever form the question has for it.
    Reject,
}

impl SessionHandle {
    /// Starts the session's task. Of `roots` the working directory is the first.
    pub(crate) fn start(context: &SessionContext, start: SessionTaskStart, roots: Roots) -> Self {
        let (sender, commands) = mpsc::channel(MAX_COMMANDS);
        let (phase_sender, phase) = watch::channel(SessionPhase::Idle);
        let handle = Self { id: start.record.id, commands: sender.clone(), phase };
        let roots = Arc::new(roots);
        let commands_of_task = sender.downgrade();
        let (session, linked, waiting) =
            SessionTask::new(context.clone(), start, roots, commands_of_task, phase_sender);
        ::task::spawn(session.run(commands, linked, waiting));
        handle
    }

    pub fn id(&self) -> SessionId {
        self.id
    }

    pub fn phase(&self) -> watch::Receiver<SessionPhase> {
        self.phase.clone()
    }

    /// Queues a prompt under a turn id of the caller's choice. `params` are those of
    /// `session/prompt`; returns when the prompt is in the log.
    pub async fn prompt(
        &self,
        turn: TurnId,
        params: Json,
        by: impl Into<String>,
    ) -> Result<(), SessionError> {
        let prompt = NewPrompt { turn, params, by: by.into(), request: None };
        self.ask(|reply| SessionTaskCommand::Prompt(prompt, reply)).await?.map(|_| ())
    }

    /// As [`prompt`](Self::prompt), once: the same turn with the same request is not prompted
    /// again, with another it is refused. Holds for the last prompts, also after a restart.
    pub async fn prompt_once(
        &self,
        turn: TurnId,
        params: Json,
        by: impl Into<String>,
        request: ClientRequest,
    ) -> Result<PromptAcceptance, SessionError> {
        let prompt = NewPrompt { turn, params, by: by.into(), request: Some(request) };
        self.ask(|reply| SessionTaskCommand::Prompt(prompt, reply)).await?
    }

    /// Cancels all turns; returns when none is running, and how many commands were ended.
    pub async fn cancel(&self, by: impl Into<String>) -> Result<usize, SessionError> {
        let by = by.into();
        self.ask(|done| SessionTaskCommand::Cancel { by, done }).await
    }

    /// As [`cancel`](Self::cancel), but does not wait for the end.
    pub async fn cancel_soon(&self, by: impl Into<String>) -> Result<(), SessionError> {
        let (done, _) = oneshot::channel();
        let command = SessionTaskCommand::Cancel { by: by.into(), done };
        self.commands.send(command).await.map_err(|_| self.over())
    }

    /// From now on no turn begins, and prompts that wait are left to the next process.
    pub(crate) async fn hold(&self) -> Result<(), SessionError> {
        self.commands.send(SessionTaskCommand::Hold).await.map_err(|_| self.over())
    }

    /// Cancels the turn that runs, and leaves those that wait; returns when none is running.
    pub(crate) async fn stop_turn(&self, by: impl Into<String>) -> Result<usize, SessionError> {
        let by = by.into();
        self.ask(|done| SessionTaskCommand::StopTurn { by, done }).await
    }

    /// Takes a prompt that still waits out of the queue; false if it does not wait.
    pub async fn drop_queued(&self, turn: TurnId) -> Result<bool, SessionError> {
        self.ask(|reply| SessionTaskCommand::Drop { turn, reply }).await
    }

    /// Makes a request of the session's agent and gives its answer as it is.
    pub async fn forward(&self, method: &str, params: &Json) -> Result<RpcResult, SessionError> {
        let (method, params) = (method.to_owned(), params.clone());
        self.ask(|reply| SessionTaskCommand::Pass(ForwardedRequest { method, params, reply })).await
    }

    /// The agent's answer to session/new, load or resume, kept up to date. Starts the agent
    /// if it does not run.
    pub async fn link(&self) -> Result<Result<Json, Fault>, SessionError> {
        self.ask(|reply| SessionTaskCommand::Link { reply }).await
    }

    /// Makes the agent use `wanted`, now and whenever it is given the session again.
    pub async fn choose(&self, choice: OptionChoice<'_>, wanted: &str) -> Result<(), ChooseError> {
        let answer = self.link().await?.map_err(ChooseError::NotLinked)?;
        let (method, params) = request_for(&answer, choice, wanted)?;
        self.forward(method, &params).await?.map_err(ChooseError::Refused)?;
        Ok(self.note_setting(method, &params).await?)
    }

    /// Prompts that wait for their turn, in order.
    pub async fn waiting(&self) -> Result<Vec<QueuedPrompt>, SessionError> {
        self.ask(|reply| SessionTaskCommand::Waiting { reply }).await
    }

    /// The agent's options and capabilities; `None` while none runs. Starts nothing.
    pub async fn offer(&self) -> Result<Option<AgentOffer>, SessionError> {
        self.ask(|reply| SessionTaskCommand::Peek { reply }).await
    }

    /// Gives the session another title, which all who follow it get.
    pub async fn rename(
        &self,
        title: Option<String>,
        by: impl Into<String>,
    ) -> Result<(), SessionError> {
        let by = by.into();
        self.ask(|done| SessionTaskCommand::Rename { title, by, done }).await
    }

    /// Passes a notification on to the session's agent, if it runs.
    pub async fn notify_agent(&self, method: &str, params: &Json) -> Result<(), SessionError> {
        let command =
            SessionTaskCommand::Notify { method: method.to_owned(), params: params.clone() };
        self.commands.send(command).await.map_err(|_| self.over())
    }

    /// Answers a question; false if it was answered already, or the answer is no option.
    /// `by` names the person's client: [`Decider::client`].
    pub async fn answer(
        &self,
        request: CallId,
        answer: SubmittedAnswer,
        by: Decider,
    ) -> Result<bool, SessionError> {
        self.ask(|reply| SessionTaskCommand::Answer { request, answer, by, reply }).await
    }

    /// Makes the caller one of those who answer questions, until the attachment is dropped.
    /// Requests that the client `serves` go to it, and not to Switchyard.
    pub async fn attach(&self, serves: ServedRequests) -> Result<ClientAttachment, SessionError> {
        use std::sync::atomic::{AtomicU64, Ordering};
        static LAST: AtomicU64 = AtomicU64::new(0);
        let id = LAST.fetch_add(1, Ordering::Relaxed);
        let (sender, calls) = mpsc::channel(MAX_COMMANDS);
        let client = AttachedClient { id, calls: sender, serves };
        self.ask(|done| SessionTaskCommand::Attach { client, done }).await?;
        Ok(ClientAttachment { calls, commands: self.commands.clone(), id })
    }

    /// Logs that a client set something, and remembers it for the next start of the agent.
    pub async fn note_setting(&self, method: &str, params: &Json) -> Result<(), SessionError> {
        let command =
            SessionTaskCommand::NoteSetting { method: method.to_owned(), params: params.clone() };
        self.commands.send(command).await.map_err(|_| self.over())
    }

    /// Replaces the session's limits, which count from its beginning; a session that is paused
    /// goes on if they let it. Returns when they are in the log.
    pub async fn set_limits(
        &self,
        limits: BudgetLimits,
        by: impl Into<String>,
    ) -> Result<(), SessionError> {
        let by = by.into();
        self.ask(|done| SessionTaskCommand::SetLimits { limits, by, done }).await
    }

    /// Cancels what runs, frees the agent's side and marks the session as closed.
    pub async fn close(&self) -> Result<(), SessionError> {
        self.ask(|done| SessionTaskCommand::Close { done }).await
    }

    /// Ends the task when the agent is gone. Call it after the agent was shut down.
    pub async fn finish(&self) -> Result<(), SessionError> {
        self.ask(|done| SessionTaskCommand::Finish { done }).await
    }

    /// Puts the session aside now, if nobody uses it.
    pub(crate) fn put_aside_if_unused(&self) {
        let _ = self.commands.try_send(SessionTaskCommand::PutAsideIfUnused);
    }

    /// Waits until the session's task has ended and given up its claim.
    pub async fn ended(&self) {
        let mut phase = self.phase.clone();
        while phase.changed().await.is_ok() {}
    }

    pub fn is_over(&self) -> bool {
        matches!(*self.phase.borrow(), SessionPhase::Over(_) | SessionPhase::PutAside)
    }

    /// Whether its task has ended, and its claim is free.
    pub(crate) fn is_gone(&self) -> bool {
        self.phase.has_changed().is_err()
    }

    async fn ask<T>(
        &self,
        command: impl FnOnce(ReplySender<T>) -> SessionTaskCommand,
    ) -> Result<T, SessionError> {
        let (reply, answer) = oneshot::channel();
        self.commands.send(command(reply)).await.map_err(|_| self.over())?;
        answer.await.map_err(|_| self.over())
    }

    fn over(&self) -> SessionError {
        match &*self.phase.borrow() {
            SessionPhase::Over(Some(why)) => SessionError::Halted(why.clone()),
            SessionPhase::PutAside => SessionError::PutAside,
            _ => SessionError::Over,
        }
    }
}

/// Raw params with the session's id as clients know it.
fn params_for_client(message: &Message, public_id: &str) -> Json {
    match message.peek() {
        Ok(peek) => message.body_for_session(&peek, public_id),
        Err(_) => message.body_json(),
    }
}
