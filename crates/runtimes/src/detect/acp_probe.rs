//! A probe that asks an ACP agent for its models.
//!
//! `initialize`, `session/new` in a directory of its own, read the answer, delete or close the
//! session where the agent supports it, end. Requests of the agent are refused: a probe has no
//! user.

use std::time::Duration;

use bus::StdinKind;
use bus::connection::{CallError, Connection, ConnectionLimits, Inbox, IncomingMessage};
use serde_json::{Value, json};
use tokio::time::{Instant, timeout, timeout_at};
use wire::{Json, RpcError, codes};

use super::facts::ModelsFact;
use super::models::offered;
use super::probe::{self, ProbeCommand};

/// The longest line that is read. The longest answer that was seen has 35 KB, with 385 models.
const MAX_LINE_BYTES: usize = 4 << 20;
/// How long a write may stall. An agent that does not read its two requests by then hangs.
const WRITE_STALL: Duration = Duration::from_secs(2);
/// How long to wait for the answer to deleting or closing the session, which is a courtesy.
const END_SESSION_WAIT: Duration = Duration::from_millis(300);
/// How long to wait for the exit; most agents exit by themselves soon after their input ends.
const EXIT_WAIT: Duration = Duration::from_millis(300);

#[derive(Debug)]
pub(super) enum AcpProbeError {
    /// It wants a login first.
    AuthRequired,
    TimedOut,
    Other(String),
}

pub(super) async fn list_models(call: ProbeCommand<'_>) -> Result<ModelsFact, AcpProbeError> {
    let dir = call.scratch.dir().map_err(|error| AcpProbeError::Other(error.to_string()))?;
    let until = call.until;
    let launch = call.launch(&dir, StdinKind::Pipe);
    let worker = match timeout_at(until, launch.spawn()).await {
        Ok(Ok(worker)) => worker,
        Ok(Err(error)) => return Err(AcpProbeError::Other(error.to_string())),
        Err(_) => return Err(AcpProbeError::TimedOut),
    };
    let Some(stdin) = worker.stdin else { return Err(AcpProbeError::Other("no stdin".into())) };
    let limits = ConnectionLimits {
        max_line_bytes: MAX_LINE_BYTES,
        max_values: wire::limits::WORKER_VALUES,
        outbox_bytes: bus::connection::OUTBOX_BYTES,
        write_stall: WRITE_STALL,
    };
    let (connection, inbox) = Connection::open(worker.stdout, stdin, &limits);
    let pump = task::spawn(pump(connection.clone(), inbox));
    let cwd = dir.path().to_string_lossy().into_owned();
    let talk = query_models(&connection, &cwd, until);
    let offer = timeout_at(until, talk).await.unwrap_or(Err(AcpProbeError::TimedOut));
    connection.close();
    pump.abort();
    // Dropping both ends the agent's input.
    drop(connection);
    let _ = pump.await;
    let _ = timeout(EXIT_WAIT, worker.handle.ended()).await;
    probe::end(&worker.handle).await;
    offer
}

async fn query_models(
    connection: &Connection,
    cwd: &str,
    until: Instant,
) -> Result<ModelsFact, AcpProbeError> {
    let initialize = json!({
        "protocolVersion": 1,
        "clientCapabilities": {
            "fs": { "readTextFile": false, "writeTextFile": false },
            "terminal": false,
        },
        "clientInfo": { "name": "switchyard", "version": env!("CARGO_PKG_VERSION") },
    });
    let about = request(connection, "initialize", &initialize).await?;
    let new = json!({ "cwd": cwd, "mcpServers": [] });
    let session = request(connection, "session/new", &new).await?;
    let offer = offered(&session);
    let capabilities = &about["agentCapabilities"]["sessionCapabilities"];
    let last_method = if capabilities["delete"].is_object() {
        Some("session/delete")
    } else if capabilities["close"].is_object() {
        Some("session/close")
    } else {
        None
    };
    if let (Some(method), Some(id)) = (last_method, session["sessionId"].as_str()) {
        let wait = END_SESSION_WAIT.min(until.saturating_duration_since(Instant::now()));
        let params = Json::of(&json!({ "sessionId": id }));
        let _ = connection.call_within(wait, method, &params).await;
    }
    Ok(offer)
}

async fn request(
    connection: &Connection,
    method: &str,
    params: &Value,
) -> Result<Value, AcpProbeError> {
    match connection.call(method, &Json::of(params)).await {
        Ok(answer) => {
            answer.read().map_err(|error| AcpProbeError::Other(format!("its answer: {error}")))
        }
        Err(CallError::Refused(error)) if error.code == codes::AUTH_REQUIRED => {
            Err(AcpProbeError::AuthRequired)
        }
        Err(error) => Err(AcpProbeError::Other(format!("{method}: {error}"))),
    }
}

async fn pump(connection: Connection, mut inbox: Inbox) {
    while let Some(batch) = inbox.next().await {
        for incoming in batch {
            match incoming {
                IncomingMessage::Reply(reply) => reply.settle(),
                IncomingMessage::Request(request) => {
                    let refusal = RpcError::method_not_found(request.method());
                    let _ = connection.respond_now(&request.id(), Err(refusal));
                }
                _ => {}
            }
        }
    }
}
