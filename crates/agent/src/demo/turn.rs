//! A prompt that is being answered: what it asks for, and what its script can do to the client and
//! to the session.
//!
//! In: the params of `session/prompt`. Out: updates, calls, and how the turn is to end.

use super::connection::{ClientAnswer, DemoConnection, read, update_line};
use super::content::DemoPrompt;
use super::session::DemoSession;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;
use wire::{RpcError, RpcId, codes};

/// The updates that a replay shows again.
const REPLAYED: [&str; 5] =
    ["agent_message_chunk", "agent_thought_chunk", "tool_call", "tool_call_update", "plan"];

pub(super) struct DemoTurn {
    pub(super) connection: Arc<DemoConnection>,
    pub(super) session: String,
    /// The id of the prompt request.
    pub(super) id: RpcId,
    /// The prompt's blocks as they came.
    pub(super) blocks: Box<RawValue>,
    pub(super) prompt: DemoPrompt,
    end_options: Mutex<TurnEndOptions>,
}

/// Misbehaviour that a script orders for the end of its turn.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct TurnEndOptions {
    pub(super) n_late_updates: u64,
    pub(super) answers_twice: bool,
    pub(super) on_cancel: OnCancel,
}

#[derive(Debug, Clone, Copy, Default)]
pub(super) enum OnCancel {
    #[default]
    End,
    /// Send so many updates first.
    Linger(u64),
    Ignore,
}

/// The stop reason, or the error that answers the prompt.
pub(super) type PromptOutcome = Result<String, RpcError>;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PromptParams {
    session_id: String,
    prompt: Box<RawValue>,
}

impl DemoTurn {
    /// Checks the request and marks the session as busy.
    pub(super) fn begin(
        connection: &Arc<DemoConnection>,
        id: RpcId,
        params: &str,
    ) -> Result<(Self, watch::Receiver<bool>), RpcError> {
        let PromptParams { session_id, prompt: blocks } = read(params)?;
        let prompt: DemoPrompt = read(blocks.get())?;
        let cancelled = {
            let mut state = connection.state();
            let session = state.open_session(&session_id)?;
            if session.turn.is_some() {
                return Err(RpcError::new(codes::INVALID_REQUEST, "a prompt is already running"));
            }
            let (sender, receiver) = watch::channel(false);
            session.turn = Some(sender);
            remember(session, &prompt.text, &blocks);
            receiver
        };
        let turn = Self {
            connection: Arc::clone(connection),
            session: session_id,
            id,
            blocks,
            prompt,
            end_options: Mutex::default(),
        };
        Ok((turn, cancelled))
    }

    pub(super) fn end_options(&self) -> MutexGuard<'_, TurnEndOptions> {
        self.end_options.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) async fn say(&self, text: impl AsRef<str>) {
        self.update(chunk("agent_message_chunk", text.as_ref())).await;
    }

    pub(super) async fn think(&self, text: &str) {
        self.update(chunk("agent_thought_chunk", text)).await;
    }

    /// Sends an update and remembers it if a replay should show it again.
    pub(super) async fn update(&self, update: Value) {
        self.connection.send_update(&self.session, &update).await;
        if REPLAYED.iter().any(|kind| update["sessionUpdate"] == *kind) {
            self.change(|session| session.record.remember_update(update));
        }
    }

    /// The line of a chunk of the agent's message.
    pub(super) fn chunk_line(&self, text: &str) -> String {
        update_line(&self.session, &chunk("agent_message_chunk", text).to_string())
    }

    /// Sends bytes as they are.
    pub(super) async fn raw(&self, bytes: impl Into<bytes::Bytes>) {
        self.connection.send(bytes).await;
    }

    pub(super) async fn call(&self, method: &str, params: &Value) -> ClientAnswer {
        self.connection.call(method, &params.to_string()).await
    }

    /// Gives access to the session, if it was not deleted in the meantime.
    pub(super) fn change<T>(&self, apply: impl FnOnce(&mut DemoSession) -> T) -> Option<T> {
        self.connection.state().sessions.get_mut(&self.session).map(apply)
    }

    pub(super) fn cwd(&self) -> String {
        self.change(|session| session.record.head().cwd.clone()).unwrap_or_default()
    }
}

fn chunk(kind: &str, text: &str) -> Value {
    json!({ "sessionUpdate": kind, "content": { "type": "text", "text": text } })
}

fn remember(session: &mut DemoSession, text: &str, blocks: &RawValue) {
    session.record.remember_prompt(text.to_owned());
    let blocks: Vec<Value> = serde_json::from_str(blocks.get()).unwrap_or_default();
    for block in blocks {
        let update = json!({ "sessionUpdate": "user_message_chunk", "content": block });
        session.record.remember_update(update);
    }
}
