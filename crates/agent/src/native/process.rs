//! The agent's side of one connection: requests in, sessions behind them.
//!
//! Always true: every request is answered once. Nothing is asked of a client before it has said
//! `initialize`. When the client goes, everything that its sessions started is ended.

mod methods;
mod session_opening;

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use bus::connection::{Connection, ConnectionLimits, Inbox, IncomingMessage};
use futures_util::FutureExt as _;
use serde_json::{Value, json};
use store::EventLog;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use wire::{Json, Message, RpcError};

use super::client::ClientAbilities;
use super::lock;
use super::models::Models;
use super::prompt::PendingTurn;
use super::session::NativeSession;
use super::settings::{ToolSettings, TurnLimits};
use super::slash_commands;

/// Limits of the connection, as hosts of agents set them.
const CONNECTION: ConnectionLimits = ConnectionLimits {
    max_line_bytes: 64 << 20,
    max_values: wire::limits::WORKER_VALUES,
    outbox_bytes: bus::connection::OUTBOX_BYTES,
    write_stall: Duration::from_secs(60),
};
/// Time to end what sessions started, after the client has gone.
const GOODBYE: Duration = Duration::from_secs(5);
/// Most sessions at once; more are refused.
const MAX_SESSIONS: usize = 1000;

/// Everything that the agent needs before the first request.
pub struct AgentSetup {
    pub version: &'static str,
    pub log: Arc<dyn EventLog>,
    pub models: Arc<Models>,
    pub tools: ToolSettings,
    pub limits: TurnLimits,
    /// Replaces the agent's own base prompt.
    pub system_prompt: Option<String>,
    /// The user's own instructions for all projects.
    pub user_instructions: Option<std::path::PathBuf>,
    /// MCP servers of every session.
    pub mcp: Vec<super::mcp::ServerSpec>,
}

impl std::fmt::Debug for AgentSetup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Setup").field("version", &self.version).finish_non_exhaustive()
    }
}

struct AgentProcess {
    setup: AgentSetup,
    connection: Connection,
    client: OnceLock<ClientAbilities>,
    sessions: Mutex<HashMap<String, Arc<NativeSession>>>,
    /// Prompts on their way, by the request that asked for them.
    prompts: Mutex<HashMap<String, Arc<NativeSession>>>,
}

/// Serves one client until it closes its side, or until `stop`.
pub async fn serve<R, W>(reader: R, writer: W, setup: AgentSetup, stop: CancellationToken)
where
    R: AsyncRead + Unpin + Send + 'static,
    W: AsyncWrite + Unpin + Send + 'static,
{
    let (connection, inbox) = Connection::open(reader, writer, &CONNECTION);
    let process = Arc::new(AgentProcess {
        setup,
        connection: connection.clone(),
        client: OnceLock::new(),
        sessions: Mutex::default(),
        prompts: Mutex::default(),
    });
    let mut tasks = JoinSet::new();
    tokio::select! {
        () = process.receive(inbox, &mut tasks) => {}
        () = connection.stalled() => tracing::error!("the client does not read"),
        () = stop.cancelled() => {}
    }
    let ending = async {
        process.close_all().await;
        // Their answers are still written, if the client is there to read them.
        while tasks.join_next().await.is_some() {}
    };
    if tokio::time::timeout(GOODBYE, ending).await.is_err() {
        tracing::warn!("some sessions did not end in time");
    }
    connection.close();
    process
        .setup
        .log
        .sync()
        .await
        .unwrap_or_else(|error| tracing::error!(%error, "cannot sync the log at the end"));
}

impl AgentProcess {
    async fn receive(self: &Arc<Self>, mut inbox: Inbox, tasks: &mut JoinSet<()>) {
        while let Some(batch) = inbox.next().await {
            for incoming in batch {
                self.handle(incoming, tasks).await;
            }
            while tasks.try_join_next().is_some() {}
        }
    }

    async fn handle(self: &Arc<Self>, incoming: IncomingMessage, tasks: &mut JoinSet<()>) {
        match incoming {
            IncomingMessage::Request(message) => {
                let process = self.clone();
                // What may take long must not hold up what cancels it; the rest stays in order.
                match message.method() {
                    "session/prompt" => {
                        // Begun before the next message is handled: a cancel right behind a prompt
                        // is meant for it.
                        let begun = self.begin(&message);
                        tasks.spawn(task::boxed(
                            async move { process.run_turn(message, begun).await },
                        ));
                    }
                    "session/new" => drop(tasks.spawn(task::boxed(process.answer(message)))),
                    _ => process.answer(message).await,
                }
            }
            IncomingMessage::Notification(message) => self.notified(&message),
            IncomingMessage::Reply(reply) => reply.settle(),
            IncomingMessage::BadMessage { error, is_answered, .. } => {
                if !is_answered {
                    let _ = self.connection.respond_to_bad(&error).await;
                }
            }
            IncomingMessage::BadLine(error) => tracing::warn!(%error, "a line that is no message"),
            IncomingMessage::Tagged { .. } | IncomingMessage::Unmatched(_) => {}
        }
    }

    async fn answer(self: Arc<Self>, message: Message) {
        let id = message.id();
        let outcome = self.outcome(&message).await;
        let mut opened = outcome.as_ref().ok().and_then(|answer| self.opened(&message, answer));
        if message.method() == "session/load" {
            // All that belongs to the replay comes before the answer.
            self.tell_commands(opened.take()).await;
        }
        let outcome = outcome.map(|value| Json::of(&value));
        // A client that is gone does not miss the answer.
        let _ = self.connection.respond(&id, outcome).await;
        self.tell_commands(opened).await;
    }

    /// Runs a turn that has begun, and answers the prompt.
    async fn run_turn(self: Arc<Self>, message: Message, begun: Result<PendingTurn, RpcError>) {
        let id = message.id();
        let outcome = match begun {
            // A mistake of ours must not leave a client waiting for ever.
            Ok(begun) => AssertUnwindSafe(begun.run()).catch_unwind().await.unwrap_or_else(|_| {
                Err(RpcError::internal("the turn broke off by a mistake of the agent's own"))
            }),
            Err(error) => Err(error),
        };
        lock(&self.prompts).remove(id.as_str());
        let _ = self.connection.respond(&id, outcome.map(|value| Json::of(&value))).await;
    }

    /// Announces the slash commands, to a client that knows the session by now.
    async fn tell_commands(&self, opened: Option<Arc<NativeSession>>) {
        let Some(session) = opened else { return };
        let commands = slash_commands::available(&session);
        let update = json!({
            "sessionUpdate": "available_commands_update", "availableCommands": commands,
        });
        let _ = session.client().update(update).await;
    }

    /// The session that a request has opened.
    fn opened(&self, message: &Message, answer: &Value) -> Option<Arc<NativeSession>> {
        let params: Value = message.body_json().read().ok()?;
        let id = match message.method() {
            "session/new" | "session/fork" => &answer["sessionId"],
            "session/load" | "session/resume" => &params["sessionId"],
            _ => return None,
        };
        self.session(id.as_str()?)
    }

    fn notified(&self, message: &Message) {
        let params: Value = message.body_json().read().unwrap_or_default();
        match message.method() {
            "session/cancel" => {
                if let Some(session) = self.session(params["sessionId"].as_str().unwrap_or("")) {
                    session.cancel();
                }
            }
            "$/cancel_request" => {
                let session = lock(&self.prompts).get(&params["requestId"].to_string()).cloned();
                if let Some(session) = session {
                    session.cancel();
                }
            }
            _ => {}
        }
    }

    fn session(&self, id: &str) -> Option<Arc<NativeSession>> {
        lock(&self.sessions).get(id).cloned()
    }

    fn abilities(&self) -> Result<ClientAbilities, RpcError> {
        let unknown = || RpcError::invalid_request("call `initialize` first");
        self.client.get().copied().ok_or_else(unknown)
    }

    async fn close_all(&self) {
        let sessions: Vec<Arc<NativeSession>> =
            lock(&self.sessions).drain().map(|(_, s)| s).collect();
        futures_util::future::join_all(sessions.iter().map(|session| session.close())).await;
    }
}

#[cfg(test)]
mod tests;
