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
mod leaving;
mod list;
mod open;
mod sessionless;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock};

use serde::Deserialize;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::AbortHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use wire::{Json, Message, RpcError, RpcId, codes};

use crate::host::{Host, HostError};
use crate::lock::lock;
use crate::registry::{ClientPresence, SessionRegistry};
use crate::session::SessionHandle;
use crate::{allow_list, mint};
use bus::connection::{CallError, Connection, IncomingMessage, RpcResult};
use wire::Fault;

use access::ClientAccess;
pub use access::{ClientProfile, RequestPermits};
use feed::Feed;
use introduction::ClientCapabilities;

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
        access: ClientAccess::new(registry, profile),
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
    access: ClientAccess,
    client: Connection,
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
            IncomingMessage::Request(message) => self.requested(message).await,
            IncomingMessage::Notification(message) => self.notified(&message).await,
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

    async fn requested(self: &Arc<Self>, message: Message) {
        let id = message.id();
        if let Err(error) = check_unambiguous(&message) {
            return self.respond(&id, Err(error)).await;
        }
        if message.method() == "initialize" {
            // Noted at once, so that a client that does not wait for the answer is served.
            return match self.prepare(&message) {
                Ok(()) => self.spawn(id, Self::initialize, message).await,
                Err(error) => self.respond(&id, Err(error)).await,
            };
        }
        if self.initialized.get().is_none() {
            let error = RpcError::invalid_request("`initialize` comes first");
            return self.respond(&id, Err(error)).await;
        }
        match message.method() {
            // Some clients ask it to keep the connection up.
            "$/ping" => self.respond(&id, Ok(Json::trusted("{}"))).await,
            // A notification in ACP; whoever sends a request means the same, and waits for an
            // answer.
            "session/cancel" => {
                let outcome = self.cancel(&message).await.map(|()| Json::trusted("{}"));
                self.respond(&id, outcome).await;
            }
            // Prompts keep the order in which they came, so they are not run on the side.
            "session/prompt" => self.prompt(message).await,
            "session/new" => self.spawn(id, Self::new_session, message).await,
            "session/load" => self.spawn(id, Self::load_session, message).await,
            "session/resume" => self.spawn(id, Self::resume_session, message).await,
            "session/list" => self.spawn(id, Self::list_sessions, message).await,
            "session/close" => self.spawn(id, Self::close_session, message).await,
            "session/delete" => self.spawn(id, Self::delete_session, message).await,
            _ => self.spawn(id, Self::pass, message).await,
        }
    }

    async fn notified(self: &Arc<Self>, message: &Message) {
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
            place = self.access.profile.permits.take() => place,
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

    async fn prompt(self: &Arc<Self>, message: Message) {
        let id = message.id();
        let Some(open) = self.scoped(&message) else {
            return self.respond(&id, Err(no_such_session(&message))).await;
        };
        let params = message.body_json();
        if !params.read::<Value>().is_ok_and(|params| params["prompt"].is_array()) {
            let error = RpcError::invalid_params("`prompt` is not a list of content blocks");
            return self.respond(&id, Err(error)).await;
        }
        if let Err(error) = self.access.may_act() {
            return self.respond(&id, Err(error)).await;
        }
        let params = match self.access.is_local() {
            true => params,
            false => allow_list::allowed_members(&params, allow_list::PROMPT_MEMBERS),
        };
        let turn = mint::turn_id();
        open.prompts.expect(turn, id.clone());
        if let Err(error) = open.handle.prompt(turn, params, self.access.by()).await {
            // Whoever takes the prompt out answers it.
            if open.prompts.take(turn).is_some() {
                self.respond(&id, Err(RpcError::invalid_request(error))).await;
            }
        }
    }

    async fn cancel(&self, message: &Message) -> Result<(), RpcError> {
        let open = self.scoped(message).ok_or_else(|| no_such_session(message))?;
        self.access.may_act()?;
        open.handle.cancel_soon(self.access.by()).await.map_err(RpcError::internal)
    }

    /// Passes every other request on to the agent as it is.
    async fn pass(self: Arc<Self>, message: Message) -> RpcResult {
        let (params, method) = (message.body_json(), message.method());
        let session = session_of(&params);
        let params = self.allowed_params(method, params, session.is_some())?;
        let Some(session) = session else {
            self.access.may_act()?;
            let host = self.host().await?;
            return host.connection.call(method, &params).await.map_err(refusal);
        };
        let Some(open) = self.open_session(&session) else {
            return Err(no_such_session(&message));
        };
        self.access.may_act()?;
        self.access.may_set(method, &params)?;
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
        let (Ok(()), Ok(params)) = (self.access.may_act(), passed_on) else { return };
        if is_scoped {
            if let Some(open) = self.scoped(message) {
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
        let prompt = lock(&self.sessions).values().find(|open| open.prompts.has(raw)).cloned();
        if let Some(open) = prompt {
            let _ = open.handle.cancel_soon(self.access.by()).await;
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
        if self.access.is_local() {
            return Ok(params);
        }
        let listed = is_scoped.then(|| allow_list::allowed_params(method, &params)).flatten();
        listed.unwrap_or_else(|| Err(RpcError::method_not_found(method)))
    }

    /// An agent that belongs to no session yet, started if need be.
    async fn host(&self) -> Result<Arc<Host>, RpcError> {
        let host = self.access.host().await?;
        self.follow_sessionless(&host);
        Ok(host)
    }

    fn scoped(&self, message: &Message) -> Option<OpenSession> {
        self.open_session(&session_of(&message.body_json())?)
    }

    fn open_session(&self, id: &str) -> Option<OpenSession> {
        lock(&self.sessions).get(id).cloned()
    }

    async fn respond(&self, id: &RpcId, outcome: RpcResult) {
        // A client that is gone needs no answer.
        let _ = self.client.respond(id, outcome).await;
    }
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

fn no_such_session(message: &Message) -> RpcError {
    match session_of(&message.body_json()) {
        Some(session) => {
            let shown: String = session.chars().take(80).collect();
            RpcError::not_found(format_args!("session `{shown}` is not open; load it first"))
        }
        None => RpcError::invalid_params("`sessionId` is missing"),
    }
}

fn explain(error: &HostError) -> RpcError {
    RpcError::from(&Fault::from(error))
}

/// An agent's error as it is; ours where there is none.
fn refusal(error: CallError) -> RpcError {
    match error {
        CallError::Refused(error) => error,
        error => RpcError::internal(error),
    }
}
