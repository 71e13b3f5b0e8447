//! Switchyard in ACP's agent role, towards one client on a pair of byte streams.
//!
//! In: what an editor sends. Out: everything that the backing agent offers, byte for byte,
//! and from the log what it lacks: `session/list`, `load`, `resume`, `fork`, `close`, `delete`.
//! The sessions are those of a registry, where others may have them open as well. The front never
//! speaks to the agent about a turn; it prompts the session and reads its log.
//!
//! Always true: an answer to a prompt is sent after every update of its turn. A request
//! that waits for the agent never holds up the next message of the client. Closing a session
//! that somebody else has open only takes this client out of it.

mod access;
mod feed;
mod introduction;
mod list;
mod open;
mod sessionless;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use serde::Deserialize;
use serde::de::IgnoredAny;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::AbortHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use wire::{Json, Message, RpcError, RpcId, codes};

use crate::host::Host;
use crate::lock::lock;
use crate::open::OpenOptions;
use crate::order::SessionOrder;
use crate::registry::{ClientPresence, SessionRegistry};
use crate::session::SessionHandle;
use crate::{allow_list, mint};
use bus::connection::{CallError, Connection, IncomingMessage, RpcResult};

pub use access::{ClientProfile, RequestPermits};
use feed::Feed;
use introduction::ClientCapabilities;

/// The wait for answers to a leaving client's requests, and then for the ends of its turns to be sent.
const LEAVE_GRACE: Duration = Duration::from_secs(2);

/// Refuses a message that other readers of JSON could read in another way than we do.
fn check_unambiguous(message: &Message) -> Result<(), RpcError> {
    wire::check_unambiguous(message.body()).map_err(RpcError::invalid_params)
}

/// Serves one client until it closes its side or `stop` is cancelled. Turns that it has begun go on
/// without it, unless the registry is its alone.
pub async fn serve<R, W>(
    registry: Arc<SessionRegistry>,
    profile: ClientProfile,
    reader: R,
    writer: W,
    stop: CancellationToken,
) where
    R: AsyncRead + Unpin + Send + 'static,
    W: AsyncWrite + Unpin + Send + 'static,
{
    let limits = registry.context().settings.client_connection();
    let quota = profile.quota.clone();
    let (client, mut inbox) = Connection::open_with_quota(reader, writer, &limits, quota);
    let front = Arc::new(Front {
        order: Mutex::new(profile.order.clone()),
        registry,
        profile,
        spare: tokio::sync::Mutex::default(),
        initialized: OnceLock::new(),
        client,
        last_host: Mutex::new(None),
        sessions: Mutex::default(),
        running: Mutex::default(),
        requests: TaskTracker::new(),
        tasks: TaskTracker::new(),
    });
    'serving: loop {
        let batch = tokio::select! {
            batch = inbox.next() => batch,
            () = stop.cancelled() => None,
            // A client that does not read has left as well.
            () = front.client.stalled() => None,
        };
        let Some(batch) = batch else { break };
        for incoming in batch {
            if front.is_revoked() {
                break;
            }
            if is_end_of_input(&incoming) {
                break 'serving;
            }
            // It may wait for a client that does not read.
            tokio::select! {
                biased;
                () = stop.cancelled() => break,
                () = front.handle(incoming) => {}
            }
        }
    }
    front.shut_down().await;
}

/// Whether the client says that it sends nothing more, where its transport cannot be closed on one
/// side only.
fn is_end_of_input(incoming: &IncomingMessage) -> bool {
    matches!(incoming, IncomingMessage::Notification(message) if message.method() == "_switchyard/end_of_input")
}

struct Front {
    client: Connection,
    registry: Arc<SessionRegistry>,
    profile: ClientProfile,
    /// The order that the client came with, or has sent since (`_switchyard/order`).
    order: Mutex<SessionOrder>,
    /// Started for `initialize`; the first session gets it.
    spare: tokio::sync::Mutex<Option<OpenOptions>>,
    /// The capabilities that the client named; set by `initialize`.
    initialized: OnceLock<ClientCapabilities>,
    /// The agent process whose sessionless messages are being passed on.
    last_host: Mutex<Option<Arc<Host>>>,
    /// By the id that the client uses.
    sessions: Mutex<HashMap<String, OpenSession>>,
    /// Requests of the client that wait for the agent.
    running: Mutex<HashMap<RpcId, AbortHandle>>,
    /// The tasks of requests that are not answered yet.
    requests: TaskTracker,
    tasks: TaskTracker,
}

/// A session that this client has open.
#[derive(Clone)]
struct OpenSession {
    handle: SessionHandle,
    prompts: feed::WaitingPrompts,
    feed: AbortHandle,
    /// The agent's answer when the session was opened.
    answer: Json,
    /// Counts this client among those that have the session open.
    _presence: Arc<ClientPresence>,
}

impl Front {
    async fn handle(self: &Arc<Self>, incoming: IncomingMessage) {
        match incoming {
            IncomingMessage::Request(message) => self.handle_request(message).await,
            IncomingMessage::Notification(message) => self.handle_notification(&message).await,
            IncomingMessage::Reply(reply) => reply.settle(),
            IncomingMessage::BadMessage { is_answered: true, .. } => {}
            IncomingMessage::BadMessage { error, .. } => {
                let _ = self.client.respond_to_bad(&error).await;
            }
            IncomingMessage::BadLine(error) => {
                let error = wire::MessageError::NotJson(error.to_string());
                let _ = self.client.respond_to_bad(&error).await;
            }
            IncomingMessage::Unmatched(_) | IncomingMessage::Tagged { .. } => {}
        }
    }

    async fn handle_request(self: &Arc<Self>, message: Message) {
        let id = message.id();
        if let Err(error) = self.take_request(message).await {
            self.respond(&id, Err(error)).await;
        }
    }

    async fn take_request(self: &Arc<Self>, message: Message) -> Result<(), RpcError> {
        check_unambiguous(&message)?;
        let id = message.id();
        if message.method() != "initialize" && self.initialized.get().is_none() {
            return Err(RpcError::invalid_request("`initialize` comes first"));
        }
        match message.method() {
            "initialize" => {
                // Noted at once, so that a client that does not wait for the answer is served.
                self.prepare(&message)?;
                self.spawn(id, Self::initialize, message).await;
            }
            // Some clients ask it to keep the connection up.
            "$/ping" => self.respond(&id, Ok(Json::trusted("{}"))).await,
            // A notification in ACP; whoever sends a request means the same, and waits for an
            // answer.
            "session/cancel" => {
                self.cancel(&message).await?;
                self.respond(&id, Ok(Json::trusted("{}"))).await;
            }
            // Prompts keep the order in which they came, so they are not run on the side.
            "session/prompt" => self.prompt(&message).await?,
            "session/new" => self.spawn(id, Self::new_session, message).await,
            "session/load" | "session/resume" => {
                self.spawn(id, Self::reopen_session, message).await;
            }
            "session/list" => self.spawn(id, Self::list_sessions, message).await,
            "session/close" => self.spawn(id, Self::close_session, message).await,
            "session/delete" => self.spawn(id, Self::delete_session, message).await,
            _ => self.spawn(id, Self::pass, message).await,
        }
        Ok(())
    }

    async fn handle_notification(self: &Arc<Self>, message: &Message) {
        if check_unambiguous(message).is_err() {
            return;
        }
        match message.method() {
            "session/cancel" => {
                let _ = self.cancel(message).await;
            }
            "$/cancel_request" => self.cancel_request(message).await,
            // What is about the connection itself is no business of the agent.
            method if method.starts_with("$/") => {}
            "_switchyard/order" => self.take_order(message),
            _ => self.pass_notification(message).await,
        }
    }

    /// Runs a request on the side and answers it. Its place is taken until the answer was: a
    /// client that does not read has no more of them made.
    async fn spawn<F>(
        self: &Arc<Self>,
        id: RpcId,
        serve: fn(Arc<Self>, Message) -> F,
        message: Message,
    ) where
        F: Future<Output = RpcResult> + Send + 'static,
    {
        let place = tokio::select! {
            place = self.profile.permits.take() => place,
            () = self.client.stalled() => return,
        };
        let front = self.clone();
        let request = id.clone();
        let task = self.requests.spawn(task::boxed(async move {
            let outcome = serve(front.clone(), message).await;
            lock(&front.running).remove(&request);
            front.respond(&request, outcome).await;
            drop(place);
        }));
        lock(&self.running).insert(id, task.abort_handle());
        // It may have finished before it was noted.
        lock(&self.running).retain(|_, task| !task.is_finished());
    }

    /// Reads `initialize`, all of which is for us: agents are told what Switchyard can do.
    fn prepare(&self, message: &Message) -> Result<(), RpcError> {
        let params = message.body_json();
        if !introduction::names_a_version(&params) {
            return Err(RpcError::invalid_params("`protocolVersion` is not a number"));
        }
        self.initialized.get_or_init(|| ClientCapabilities::read(&params));
        Ok(())
    }

    async fn initialize(self: Arc<Self>, _: Message) -> RpcResult {
        let answer = self.introduction().await?;
        introduction::with_own_capabilities(&answer).map_err(RpcError::internal)
    }

    /// Hands a prompt to its session. It is answered when its turn has ended.
    async fn prompt(self: &Arc<Self>, message: &Message) -> Result<(), RpcError> {
        self.scoped(message)?;
        let params = message.body_json();
        if params.read::<PromptShape>().is_err() {
            return Err(RpcError::invalid_params("`prompt` is not a list of content blocks"));
        }
        self.may_act()?;
        let open = self.usable(message).await?;
        let params = match self.is_local() {
            true => params,
            false => allow_list::allowed_members(&params, allow_list::PROMPT_MEMBERS),
        };
        let turn = mint::turn_id();
        lock(&open.prompts).insert(turn, message.id());
        match open.handle.prompt(turn, params, &self.profile.by).await {
            // Whoever takes the prompt out answers it.
            Err(error) if lock(&open.prompts).remove(&turn).is_some() => {
                Err(RpcError::invalid_request(error))
            }
            _ => Ok(()),
        }
    }

    async fn cancel(&self, message: &Message) -> Result<(), RpcError> {
        let open = self.scoped(message)?;
        self.may_act()?;
        open.handle.cancel_soon(&self.profile.by).await.map_err(RpcError::internal)
    }

    /// Passes every other request on to the agent as it is.
    async fn pass(self: Arc<Self>, message: Message) -> RpcResult {
        let (params, method) = (message.body_json(), message.method());
        let session = session_of(&params);
        let params = self.allowed_params(method, params, session.is_some())?;
        let Some(session) = session else {
            self.may_act()?;
            let host = self.host().await?;
            return host.connection.call(method, &params).await.map_err(refusal);
        };
        let open = self.open_session(&session).ok_or_else(|| no_such_session(&session))?;
        self.may_act()?;
        self.may_set(method, &params)?;
        if method == "session/fork" {
            return self.fork_session(&open).await;
        }
        let outcome = open.handle.forward(method, &params).await.map_err(RpcError::internal)?;
        if method.starts_with("session/set_") && outcome.is_ok() {
            let _ = open.handle.note_setting(method, &params).await;
        }
        outcome
    }

    async fn pass_notification(self: &Arc<Self>, message: &Message) {
        let params = message.body_json();
        let is_scoped = session_of(&params).is_some();
        let passed_on = self.allowed_params(message.method(), params, is_scoped);
        let (Ok(()), Ok(params)) = (self.may_act(), passed_on) else { return };
        if is_scoped {
            if let Ok(open) = self.scoped(message) {
                let _ = open.handle.notify_agent(message.method(), &params).await;
            }
            return;
        }
        // Only to an agent that runs: a notification is no reason to start one.
        let host = lock(&self.last_host).clone();
        if let Some(host) = host {
            let _ = host.connection.notify(message.method(), &params);
        }
    }

    async fn cancel_request(&self, message: &Message) {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct CancelRequestParams {
            request_id: Json,
        }
        let Ok(params) = message.body_json().read::<CancelRequestParams>() else { return };
        let raw = params.request_id.as_str();
        let is_prompt_of =
            |open: &&OpenSession| lock(&open.prompts).values().any(|id| id.as_str() == raw);
        let prompt = lock(&self.sessions).values().find(is_prompt_of).cloned();
        if let Some(open) = prompt {
            let _ = open.handle.cancel_soon(&self.profile.by).await;
            return;
        }
        let found = lock(&self.running).keys().find(|id| id.as_str() == raw).cloned();
        let Some(id) = found else { return };
        let task = lock(&self.running).remove(&id);
        if let Some(task) = task {
            task.abort();
            let error = RpcError::new(codes::REQUEST_CANCELLED, "cancelled by the client");
            self.respond(&id, Err(error)).await;
        }
    }

    /// The params as they may go on to the agent. Of a remote client only listed ones do: methods
    /// beside ACP may run anything, and what is about no session is about the process, in which
    /// others may have sessions as well.
    fn allowed_params(
        &self,
        method: &str,
        params: Json,
        is_scoped: bool,
    ) -> Result<Json, RpcError> {
        if self.is_local() {
            return Ok(params);
        }
        let listed = is_scoped.then(|| allow_list::allowed_params(method, &params)).flatten();
        listed.unwrap_or_else(|| Err(RpcError::method_not_found(method)))
    }

    fn scoped(&self, message: &Message) -> Result<OpenSession, RpcError> {
        let named = named_session(message)?;
        self.open_session(&named).ok_or_else(|| no_such_session(&named))
    }

    fn open_session(&self, id: &str) -> Option<OpenSession> {
        lock(&self.sessions).get(id).cloned()
    }

    async fn respond(&self, id: &RpcId, outcome: RpcResult) {
        // A client that is gone needs no answer.
        let _ = self.client.respond(id, outcome).await;
    }

    /// Whether the client's access was revoked: what it has requested before, and what is not done
    /// yet, is not done.
    fn is_revoked(&self) -> bool {
        self.profile.revoked.is_cancelled()
    }

    async fn shut_down(&self) {
        if self.is_revoked() {
            lock(&self.running).drain().for_each(|(_, task)| task.abort());
        }
        // A client that only closed its input still reads the answers to what it asked.
        self.requests.close();
        let _ = tokio::time::timeout(LEAVE_GRACE, self.requests.wait()).await;
        if self.profile.owns_registry {
            tokio::join!(self.registry.shut_down(), self.leave());
            // The feeds send how the turns ended, and end with their sessions.
            self.tasks.close();
            let _ = tokio::time::timeout(LEAVE_GRACE, self.tasks.wait()).await;
        }
        for (_, open) in lock(&self.sessions).drain() {
            open.feed.abort();
        }
        self.leave().await;
        self.client.close();
    }
}

/// What a prompt has to have; the blocks are for the agent to read.
#[derive(Deserialize)]
struct PromptShape {
    #[serde(rename = "prompt")]
    _blocks: Vec<IgnoredAny>,
}

/// `sessionId` of params.
fn session_of(params: &Json) -> Option<String> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Scope {
        session_id: Option<String>,
    }
    params.read::<Scope>().ok()?.session_id
}

/// The session that a message is about.
fn named_session(message: &Message) -> Result<String, RpcError> {
    let missing = || RpcError::invalid_params("`sessionId` is missing");
    session_of(&message.body_json()).ok_or_else(missing)
}

fn no_such_session(named: &str) -> RpcError {
    let shown: String = named.chars().take(80).collect();
    RpcError::not_found(format_args!("session `{shown}` is not open; load it first"))
}

/// An agent's error as it is; ours where there is none.
fn refusal(error: CallError) -> RpcError {
    match error {
        CallError::Refused(error) => error,
        error => RpcError::internal(error),
    }
}
