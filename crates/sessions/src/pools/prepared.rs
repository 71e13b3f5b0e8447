//! A session that stands open in a warm worker before anybody has asked for it.
//!
//! In: a running agent. Out: its side of a new session under an id of ours, and everything
//! that the agent said in it so far, in order. What waits is bounded: a worker that says more
//! than a fresh session has to say is given up.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::sync::oneshot;
use wire::{Json, RpcError, SessionId};

use crate::host::{AgentMessage, Host};
use crate::link::{self, AgentLink, LinkError};
use crate::mint;

/// Agents send commands, options and usage after `session/new`: a handful of messages, one of
/// them as large as a list of all models.
const MAX_MESSAGES: usize = 256;
const MAX_BYTES: usize = 4 << 20;
/// Lines of stderr that are kept; more are left out, as they are for a busy session.
const MAX_STDERR: usize = 64;
/// The wait for an agent to free a session: one that nobody used is not worth more.
const DISCARD_WITHIN: Duration = Duration::from_secs(2);

/// A new session in a running agent.
#[derive(Debug)]
pub(crate) struct PreparedSession {
    pub(crate) id: SessionId,
    pub(crate) link: AgentLink,
    n_bytes: usize,
    n_stderr: usize,
}

impl PreparedSession {
    pub(super) async fn open(host: &Arc<Host>, params: &Json) -> Result<Self, LinkError> {
        let id = mint::session_id();
        let link = link::open_new(host, id.as_str(), params).await?;
        Ok(Self { id, link, n_bytes: 0, n_stderr: 0 })
    }

    /// Keeps what the agent said; false when it says too much.
    fn keep(&mut self, batch: Vec<AgentMessage>) -> bool {
        for message in batch {
            self.n_stderr += usize::from(matches!(message, AgentMessage::Stderr(_)));
            if matches!(message, AgentMessage::Stderr(_)) && self.n_stderr > MAX_STDERR {
                continue;
            }
            self.n_bytes += message.n_bytes();
            self.link.early.push(message);
        }
        self.link.early.len() <= MAX_MESSAGES && self.n_bytes <= MAX_BYTES
    }

    /// Frees the agent's side; the agent itself goes on.
    pub(super) async fn discard(self) {
        let AgentLink { host, agent_session, early, messages, .. } = self.link;
        host.routes.remove(&agent_session);
        drop(messages);
        for message in early.into_messages() {
            if let AgentMessage::Request(request) = message {
                let outcome = match request.method() {
                    "session/request_permission" => {
                        Ok(Json::of(&json!({ "outcome": { "outcome": "cancelled" } })))
                    }
                    _ => Err(RpcError::internal("the session was not used")),
                };
                let _ = host.connection.respond_now(&request.id(), outcome);
            }
        }
        let can = &host.capabilities;
        let params = Json::of(&json!({ "sessionId": agent_session }));
        for (method, is_offered) in [("session/close", can.close), ("session/delete", can.delete)] {
            if is_offered && host.is_running() {
                // What the agent keeps is its own business.
                let asking = host.connection.call_within(DISCARD_WITHIN, method, &params);
                if let Err(error) = asking.await {
                    tracing::debug!(method, %error, "an unused session was not freed");
                }
            }
        }
    }
}

/// The state of a warm worker when it is asked for.
#[derive(Debug)]
pub(super) enum WarmWorkerState {
    Gone,
    Host,
    Session(Box<PreparedSession>),
}

/// Listens to a warm worker until it is taken. `lost` is called if it ends, or says too much,
/// before that.
pub(super) async fn watch(
    host: Arc<Host>,
    prepared: Option<PreparedSession>,
    mut taken: oneshot::Receiver<()>,
    lost: impl FnOnce(&'static str),
) -> WarmWorkerState {
    let Some(mut prepared) = prepared else {
        return tokio::select! {
            biased;
            _ = host.ended() => {
                lost("it ended");
                WarmWorkerState::Gone
            }
            taken = taken => if taken.is_ok() { WarmWorkerState::Host } else { WarmWorkerState::Gone },
        };
    };
    loop {
        tokio::select! {
            biased;
            batch = prepared.link.messages.recv() => match batch {
                Some(batch) => {
                    if !prepared.keep(batch) {
                        lost("it says too much");
                        return WarmWorkerState::Gone;
                    }
                }
                None => {
                    lost("it ended");
                    return WarmWorkerState::Gone;
                }
            },
            taken = &mut taken => return match taken {
                Ok(()) => WarmWorkerState::Session(Box::new(prepared)),
                Err(_) => WarmWorkerState::Gone,
            },
        }
    }
}
