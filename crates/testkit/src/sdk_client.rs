//! An ACP client made with the official SDK: a counterpart that we did not write.
//!
//! In: a command that speaks ACP v1 on stdio, and [`ClientBehavior`]. Out: typed answers, the
//! updates in their order, and a transcript of every line. The connection lives in a thread of its
//! own (the SDK's dispatch needs much stack in debug builds). Its end closes the agent's stdin and
//! waits; a dropped client kills the agent.

mod behavior;
mod connection;
mod files;
mod record;
mod recorder;
mod terminals;
mod turn;

/// The SDK's types, for tests that name them.
pub use agent_client_protocol::v1::schema as acp;
pub use behavior::{ClientBehavior, FormAnswer, PermissionReply};
pub use turn::{RunningTurn, Turn, text_of};

use crate::proc;
use crate::test_home::PATIENCE;
use crate::transcript::Transcript;
use agent_client_protocol::schema::ProtocolVersion;
use agent_client_protocol::v1::ConnectionTo;
use agent_client_protocol::v1::schema::{
    CancelNotification, ClientCapabilities, CloseSessionRequest, DeleteSessionRequest,
    ElicitationCapabilities, ElicitationFormCapabilities, FileSystemCapabilities, Implementation,
    InitializeRequest, InitializeResponse, ListSessionsRequest, LoadSessionRequest,
    LoadSessionResponse, NewSessionRequest, NewSessionResponse, PromptRequest,
    RequestPermissionRequest, ResumeSessionRequest, ResumeSessionResponse, SessionId, SessionInfo,
    SessionNotification, SessionUpdate, SetSessionModeRequest,
};
use agent_client_protocol::{Agent, JsonRpcRequest, Result, UntypedMessage};
use record::ClientRecord;
use serde_json::Value;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;

/// How long an agent may take to end after its stdin was closed.
pub const GRACE: Duration = Duration::from_secs(20);

#[derive(Debug)]
pub struct SdkClient {
    connection: ConnectionTo<Agent>,
    memory: Arc<ClientRecord>,
    pid: u32,
    /// Nothing once the agent has been asked to end.
    stop: Option<oneshot::Sender<()>>,
    exit: oneshot::Receiver<ExitStatus>,
}

/// All capabilities of this client.
pub fn all_capabilities() -> ClientCapabilities {
    ClientCapabilities::new()
        .fs(FileSystemCapabilities::new().read_text_file(true).write_text_file(true))
        .terminal(true)
        .elicitation(ElicitationCapabilities::new().form(ElicitationFormCapabilities::new()))
}

impl SdkClient {
    /// Starts the agent. Its stdin and stdout become ours; all else is as the command says.
    pub async fn start(
        command: impl Into<tokio::process::Command>,
        behavior: ClientBehavior,
    ) -> Self {
        let memory = Arc::new(ClientRecord::default());
        let (stop, stopped) = oneshot::channel();
        let (started, exit) =
            connection::open(command.into(), behavior, Arc::clone(&memory), stopped);
        let (connection, pid) = started.await.expect("the agent did not start");
        Self { connection, memory, pid, stop: Some(stop), exit }
    }

    /// [`start`](Self::start) and [`initialize`](Self::initialize) with everything.
    pub async fn ready(
        command: impl Into<tokio::process::Command>,
        behavior: ClientBehavior,
    ) -> Result<Self> {
        let client = Self::start(command, behavior).await;
        client.initialize(all_capabilities()).await?;
        Ok(client)
    }

    pub async fn initialize(&self, capabilities: ClientCapabilities) -> Result<InitializeResponse> {
        let request = InitializeRequest::new(ProtocolVersion::V1)
            .client_capabilities(capabilities)
            .client_info(Implementation::new("testkit", env!("CARGO_PKG_VERSION")));
        self.ask(request).await
    }

    pub async fn new_session(&self, cwd: impl Into<PathBuf>) -> Result<NewSessionResponse> {
        self.ask(NewSessionRequest::new(cwd)).await
    }

    /// Loads a session: the answer, and the updates that were replayed before it.
    pub async fn load_session(
        &self,
        session: &SessionId,
        cwd: impl Into<PathBuf>,
    ) -> Result<(LoadSessionResponse, Vec<SessionUpdate>)> {
        let since = self.memory.n_updates();
        let response = self.ask(LoadSessionRequest::new(session.clone(), cwd)).await?;
        Ok((response, self.memory.updates_of(session, since)))
    }

    pub async fn resume_session(
        &self,
        session: &SessionId,
        cwd: impl Into<PathBuf>,
    ) -> Result<ResumeSessionResponse> {
        self.ask(ResumeSessionRequest::new(session.clone(), cwd)).await
    }

    /// The sessions of all pages.
    pub async fn list_sessions(&self) -> Result<Vec<SessionInfo>> {
        let mut sessions = Vec::new();
        let mut request = ListSessionsRequest::new();
        loop {
            let page = self.ask(request).await?;
            sessions.extend(page.sessions);
            match page.next_cursor {
                Some(cursor) => request = ListSessionsRequest::new().cursor(cursor),
                None => return Ok(sessions),
            }
        }
    }

    pub async fn close_session(&self, session: &SessionId) -> Result<()> {
        self.ask(CloseSessionRequest::new(session.clone())).await.map(drop)
    }

    pub async fn delete_session(&self, session: &SessionId) -> Result<()> {
        self.ask(DeleteSessionRequest::new(session.clone())).await.map(drop)
    }

    pub async fn set_mode(&self, session: &SessionId, mode: &str) -> Result<()> {
        self.ask(SetSessionModeRequest::new(session.clone(), mode.to_owned())).await.map(drop)
    }

    /// Runs one whole turn.
    pub async fn prompt(&self, session: &SessionId, text: &str) -> Result<Turn> {
        self.start_prompt(session, text).finish().await
    }

    /// A turn that has been sent and may be cancelled.
    ///
    /// Dropping it makes the SDK send `$/cancel_request`.
    pub fn start_prompt(&self, session: &SessionId, text: &str) -> RunningTurn {
        let since = self.memory.n_updates();
        let request = PromptRequest::new(session.clone(), vec![text.to_owned().into()]);
        let response = self.connection.send_request(request);
        RunningTurn::new(Arc::clone(&self.memory), session.clone(), since, response)
    }

    /// Sends `session/cancel` and answers the open questions of that session, as a client must.
    pub fn cancel(&self, session: &SessionId) -> Result<()> {
        self.connection.send_notification(CancelNotification::new(session.clone()))?;
        self.memory.withdraw_permissions(session)
    }

    /// Sends any request of the SDK's.
    pub async fn ask<R: JsonRpcRequest>(&self, request: R) -> Result<R::Response> {
        let answer = self.connection.send_request(request).block_task();
        tokio::time::timeout(PATIENCE, answer).await.expect("the agent does not answer")
    }

    /// Sends any request at all, such as an extension.
    pub async fn call(&self, method: &str, params: Value) -> Result<Value> {
        self.ask(UntypedMessage::new(method, params)?).await
    }

    /// Sends any notification at all.
    pub fn notify(&self, method: &str, params: Value) -> Result<()> {
        self.connection.send_notification(UntypedMessage::new(method, params)?)
    }

    /// Every update so far, of all sessions. The SDK drops those of kinds that it does not know;
    /// the [`transcript`](Self::transcript) has them all.
    pub fn updates(&self) -> Vec<SessionNotification> {
        self.memory.updates()
    }

    /// The permission requests so far.
    pub fn permissions_asked(&self) -> Vec<RequestPermissionRequest> {
        self.memory.permissions_asked()
    }

    /// Waits until an update of the session fits; looks at those that have come already, too.
    pub async fn wait_for(
        &self,
        session: &SessionId,
        fits: impl FnMut(&SessionUpdate) -> bool,
    ) -> SessionUpdate {
        self.memory.wait_for(session, fits).await
    }

    /// Waits until the agent has asked permission for the nth time.
    pub async fn wait_for_permissions(&self, n: usize) -> Vec<RequestPermissionRequest> {
        self.memory.wait_for_permissions(n).await
    }

    /// Every line in both directions so far.
    pub fn transcript(&self) -> Transcript {
        self.memory.transcript()
    }

    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Waits until the agent has closed its stdout by itself.
    pub async fn closed_by_agent(&self) {
        let closed = self.connection.incoming_closed();
        tokio::time::timeout(PATIENCE, closed).await.expect("the agent does not end");
    }

    /// Closes the agent's stdin; gives its exit status and the transcript.
    ///
    /// An agent that does not end by itself within [`GRACE`] is killed.
    pub async fn stop(mut self) -> (ExitStatus, Transcript) {
        let _ = self.stop.take().map(|stop| stop.send(()));
        let exit = (&mut self.exit).await.expect("the connection panicked");
        (exit, self.memory.transcript())
    }
}

impl Drop for SdkClient {
    fn drop(&mut self) {
        // Once the exit is known the pid may belong to somebody else.
        // Behind a remote connection there is no process of ours.
        if self.pid != 0 && self.stop.is_some() && self.exit.try_recv().is_err() {
            proc::kill9(self.pid);
        }
    }
}
