//! An ACP agent that is backed by a CLI.
//!
//! In: ACP on a pair of byte streams, from a host. Out: the same, backed by processes of one
//! CLI whose dialect is translated. Runs in a process of its own, so that the whole of it,
//! CLI included, is one worker to whoever starts it.
//!
//! Always true: every request is answered once; a process of a session ends with the
//! session, and all of them when the host closes the stream.

mod initialize;
mod options;
mod process;
mod session;

use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bus::connection::{Connection, ConnectionLimits, IncomingMessage};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc;
use tokio_util::task::TaskTracker;
use wire::{Json, Message, RpcError, RpcId};

use crate::definition::{OptionalArgument, RuntimeDefinition, RuntimeForm};
use crate::dialect::{DialectName, PermissionMode};
use crate::scratch::Scratch;
use initialize::HostCapabilities;
use options::SessionOptions;
use session::{AdapterSession, SessionCommand};

/// One CLI, found and ready to be started.
#[derive(Debug, Clone)]
pub struct AdapterRuntime {
    pub definition: RuntimeDefinition,
    /// The form of the definition that is spoken.
    pub form: RuntimeForm,
    pub dialect: DialectName,
    pub program: PathBuf,
    pub version: Option<String>,
    pub features: BTreeSet<String>,
    pub permissions: PermissionMode,
    pub env: bus::Environment,
    /// How processes are started; the program is filled in.
    pub launch: bus::Launch,
    pub max_line_bytes: usize,
    /// The place for private files that only the CLI reads.
    pub scratch: Scratch,
}

impl AdapterRuntime {
    fn takes(&self, part: OptionalArgument) -> bool {
        self.form.supports(part, self.dialect, &self.features)
    }
}

/// Commands that may wait for one session.
const QUEUED_COMMANDS: usize = 64;
/// How long a write to the host may stall. Long, like a pipe to a program: our host always reads.
const WRITE_STALL: Duration = Duration::from_secs(600);

/// Serves one host until it closes the stream.
pub async fn serve<R, W>(reader: R, writer: W, runtime: AdapterRuntime)
where
    R: AsyncRead + Unpin + Send + 'static,
    W: AsyncWrite + Unpin + Send + 'static,
{
    let limits = ConnectionLimits {
        max_line_bytes: runtime.max_line_bytes,
        max_values: wire::limits::WORKER_VALUES,
        outbox_bytes: bus::connection::OUTBOX_BYTES,
        write_stall: WRITE_STALL,
    };
    let (connection, mut inbox) = Connection::open(reader, writer, &limits);
    let mut adapter = AdapterServer {
        runtime: Arc::new(runtime),
        connection: connection.clone(),
        host_capabilities: None,
        sessions: HashMap::new(),
        tasks: TaskTracker::new(),
    };
    while let Some(batch) = inbox.next().await {
        for incoming in batch {
            adapter.handle(incoming).await;
        }
    }
    // Sessions end when their command channel closes.
    adapter.sessions.clear();
    adapter.tasks.close();
    adapter.tasks.wait().await;
    connection.close();
}

struct AdapterServer {
    runtime: Arc<AdapterRuntime>,
    connection: Connection,
    host_capabilities: Option<HostCapabilities>,
    sessions: HashMap<String, mpsc::Sender<SessionCommand>>,
    tasks: TaskTracker,
}

impl AdapterServer {
    async fn handle(&mut self, incoming: IncomingMessage) {
        match incoming {
            IncomingMessage::Request(message) => {
                let id = message.id();
                if let Some(outcome) = self.handle_request(&message).transpose() {
                    // A host that is gone needs no answer.
                    let _ = self.connection.respond(&id, outcome).await;
                }
            }
            IncomingMessage::Notification(message) if message.method() == "session/cancel" => {
                if let Some(session) = self.session_of(&message) {
                    let _ = session.try_send(SessionCommand::Cancel);
                }
            }
            IncomingMessage::Notification(_)
            | IncomingMessage::Unmatched(_)
            | IncomingMessage::Tagged { .. } => {}
            IncomingMessage::Reply(reply) => reply.settle(),
            IncomingMessage::BadLine(error) => tracing::warn!(%error, "unreadable line"),
            IncomingMessage::BadMessage { error, is_answered, .. } => {
                if !is_answered {
                    let _ = self.connection.respond_to_bad(&error).await;
                }
            }
        }
    }

    /// `None` when the answer comes later, from a session.
    fn handle_request(&mut self, message: &Message) -> Result<Option<Json>, RpcError> {
        let params: Value = message.body_json().read().unwrap_or_default();
        match message.method() {
            "initialize" => {
                let client = HostCapabilities::read(&params);
                let answer = initialize::answer(&self.runtime, client);
                // If it is asked twice, the first request's capabilities hold.
                self.host_capabilities.get_or_insert(client);
                Ok(Some(Json::of(&answer)))
            }
            "authenticate" => Err(initialize::cannot_authenticate(&self.runtime)),
            "session/new" => self.open(message.id(), &params, None).map(|()| None),
            "session/resume" => {
                let resume = session_id(&params)?;
                if !initialize::resumes(&self.runtime) {
                    return Err(RpcError::method_not_found(message.method()));
                }
                self.open(message.id(), &params, Some(resume)).map(|()| None)
            }
            "session/prompt" | "session/set_config_option" | "session/close" => {
                self.command(message, &params).map(|()| None)
            }
            method => Err(RpcError::method_not_found(method)),
        }
    }

    fn open(
        &mut self,
        request: RpcId,
        params: &Value,
        resume: Option<String>,
    ) -> Result<(), RpcError> {
        let id = resume.clone().unwrap_or_else(crate::ids::uuid);
        let options = SessionOptions::read(&self.runtime, params, resume)?;
        self.sessions.retain(|_, session| !session.is_closed());
        if self.sessions.contains_key(&id) {
            return Err(RpcError::invalid_request("this session is open already"));
        }
        let (sender, commands) = mpsc::channel(QUEUED_COMMANDS);
        self.sessions.insert(id.clone(), sender);
        let session = AdapterSession::new(
            self.runtime.clone(),
            self.connection.clone(),
            self.host_capabilities.unwrap_or_default(),
            id,
            options,
            commands,
        );
        let connection = self.connection.clone();
        self.tasks.spawn(task::boxed(async move {
            if let Err(error) = task::spawn(session.run(request)).await {
                // Nobody would answer its open requests; the host fails them when we are gone.
                tracing::error!(%error, "a session failed");
                connection.close();
            }
        }));
        Ok(())
    }

    fn command(&mut self, message: &Message, params: &Value) -> Result<(), RpcError> {
        let request = message.id();
        let command = match message.method() {
            "session/prompt" => match params["prompt"].as_array() {
                Some(blocks) => SessionCommand::Prompt { request, blocks: blocks.clone() },
                None => return Err(RpcError::invalid_params("`prompt` is not a list")),
            },
            "session/close" => SessionCommand::Close { request },
            _ => {
                let option = params["configId"].as_str().unwrap_or_default().to_owned();
                let value = params["value"].as_str().unwrap_or_default().to_owned();
                SessionCommand::Set { request, option, value }
            }
        };
        let session = session_id(params)?;
        let Some(sender) = self.sessions.get(&session) else {
            return Err(RpcError::not_found(format_args!("session {session}")));
        };
        sender.try_send(command).map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => RpcError::internal("the session is too busy"),
            mpsc::error::TrySendError::Closed(_) => {
                RpcError::not_found(format_args!("session {session} has ended"))
            }
        })
    }

    fn session_of(&self, message: &Message) -> Option<&mpsc::Sender<SessionCommand>> {
        let params: Value = message.body_json().read().ok()?;
        self.sessions.get(params["sessionId"].as_str()?)
    }
}

fn session_id(params: &Value) -> Result<String, RpcError> {
    let session = params["sessionId"].as_str();
    session.map(str::to_owned).ok_or_else(|| RpcError::invalid_params("`sessionId` is missing"))
}
