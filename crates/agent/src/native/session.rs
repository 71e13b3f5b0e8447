//! One session: its journal, its options, its tools, and the notices that its user has had.

pub(super) mod bill;

use std::collections::HashSet;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use store::StoreError;
use tokio_util::sync::CancellationToken;
use wire::RpcError;

use super::client::AcpClient;
use super::instructions::Instructions;
use super::journal::{Journal, JournalItem};
use super::lock;
use super::mcp::{McpServers, ServerFault};
use super::models::{ChosenModel, Models, ToolUse};
use super::options::{ModelChoice, OptionDefaults, SessionOptions};
use super::permission_gate::Gate;
use super::provider::ModelFailure;
use super::settings::TurnLimits;
use super::settings::context_tools::EnabledContextTools;
use super::tool::{Tool, Workspace};
use bill::Bill;

pub(super) struct NativeSession {
    pub journal: Journal,
    pub workspace: Arc<Workspace>,
    pub gate: Gate,
    pub models: Arc<Models>,
    pub servers: McpServers,
    /// MCP servers that could not even be started.
    pub refused_servers: Vec<ServerFault>,
    /// Its own tools, those of servers aside.
    pub tools: Vec<Arc<Tool>>,
    pub instructions: Instructions,
    pub limits: TurnLimits,
    pub options: Mutex<SessionOptions>,
    pub has_title: AtomicBool,
    pub running: RunningTurn,
    pub notices: SessionNotices,
    pub bill: Bill,
}

#[derive(Debug, Default)]
pub(super) struct RunningTurn {
    pub cancel: Mutex<Option<CancellationToken>>,
    /// Whoever holds it runs a turn.
    pub turn_lock: Arc<tokio::sync::Mutex<()>>,
}

/// Notices that the user has had, and does not get again.
#[derive(Debug, Default)]
pub(super) struct SessionNotices {
    pub endpoint: AtomicBool,
    /// Names of servers that do not answer.
    pub troubles: Mutex<HashSet<String>>,
    /// Models that get no tools.
    pub without_tools: Mutex<HashSet<String>>,
}

/// Why a turn broke off.
#[derive(Debug, thiserror::Error)]
pub(super) enum TurnError {
    #[error(transparent)]
    Model(#[from] ModelFailure),
    #[error("cannot save the session: {0}")]
    Store(#[from] StoreError),
    #[error("the client is gone")]
    ClientGone,
}

impl NativeSession {
    pub(super) fn id(&self) -> String {
        self.journal.id().to_string()
    }

    pub(super) fn client(&self) -> &AcpClient {
        &self.workspace.client
    }

    pub(super) fn options(&self) -> SessionOptions {
        lock(&self.options).clone()
    }

    /// The endpoint and the model that answer from now on.
    pub(super) async fn chosen(&self) -> Result<ChosenModel, ModelFailure> {
        let model = self.options().model;
        self.models.choose(&model).await
    }

    /// Whether its model has tools from the next request on.
    pub(super) fn has_tools(&self) -> bool {
        let ToolUse { is_wanted, is_refused } = self.tool_use();
        is_wanted && !is_refused
    }

    fn tool_use(&self) -> ToolUse {
        let options = self.options();
        let known = self.models.tool_use(&options.model);
        ToolUse { is_wanted: options.tools.unwrap_or(known.is_wanted), ..known }
    }

    /// The model, if it should have tools, gets none, and the user was not told of that.
    pub(super) fn first_without_tools(&self) -> Option<String> {
        let model = self.options().model;
        let ToolUse { is_wanted, is_refused } = self.tool_use();
        let is_news =
            is_wanted && is_refused && lock(&self.notices.without_tools).insert(model.clone());
        is_news.then_some(model)
    }

    /// Which tools it has for its own context.
    pub(super) fn context_tools(&self) -> EnabledContextTools {
        match self.options().context_tools {
            Some(is_on) => EnabledContextTools::all_or_none(is_on),
            None => self.workspace.settings.context.tools.clone(),
        }
    }

    /// The number of tokens from which on room has to be made.
    pub(super) async fn compaction_threshold(&self) -> Result<u64, ModelFailure> {
        let window = u128::from(self.chosen().await?.context);
        let full = window * u128::from(self.limits.compact_at_percent) / 100;
        Ok(u64::try_from(full).unwrap_or(u64::MAX))
    }

    /// Chooses something, also while a turn runs: it counts from the next request on.
    pub(super) async fn set_option(&self, id: &str, value: &str) -> Result<bool, RpcError> {
        let offers = self.models.offers().await;
        let options = {
            let mut options = lock(&self.options);
            let has_changed = options.set(id, value, &offers)?;
            if id == "tools" && options.tools == Some(true) {
                // Its server may have been given other flags since.
                self.models.try_tools_again(&options.model);
                lock(&self.notices.without_tools).remove(&options.model);
            }
            if !has_changed {
                return Ok(false);
            }
            options.clone()
        };
        let kept = self.journal.add(JournalItem::Options { options }).await;
        kept.map_err(|error| RpcError::internal(format_args!("cannot save the option: {error}")))?;
        Ok(true)
    }

    /// `configOptions` and `modes`, for answers that hold them.
    pub(super) fn describe(&self, offers: &[ModelChoice]) -> Value {
        let options = self.options();
        let configured = OptionDefaults {
            tools: self.models.tool_use(&options.model).is_wanted,
            context_tools: self.workspace.settings.context.tools.clone(),
        };
        json!({
            "configOptions": options.to_acp(offers, &configured),
            "modes": options.modes_to_acp(),
        })
    }

    /// Stops the turn that runs, if one does.
    pub(super) fn cancel(&self) {
        if let Some(cancel) = &*lock(&self.running.cancel) {
            cancel.cancel();
        }
    }

    /// Sends an update without which the client would be wrong about the turn.
    pub(super) async fn send_update(&self, update: Value) -> Result<(), TurnError> {
        self.client().update(update).await.map_err(|_| TurnError::ClientGone)
    }

    /// Sends a text that is not the model's.
    pub(super) async fn say(&self, text: &str) {
        // A client that is gone does not read it.
        let _ = self.client().say("agent_message_chunk", text).await;
    }

    /// Warns the user: by a notice, or by a text where the client shows none.
    pub(super) async fn warn(&self, title: &str, more: &str) {
        if self.client().can.shows_notices {
            let mut update = json!({
                "sessionUpdate": "notice", "severity": "warning", "title": title,
            });
            if !more.is_empty() {
                update["description"] = json!(more);
            }
            let _ = self.client().update(update).await;
            return;
        }
        let more = if more.is_empty() { String::new() } else { format!(": {more}") };
        self.say(&format!("{title}{more}\n\n")).await;
    }

    /// Ends what belongs to the session.
    pub(super) async fn close(&self) {
        self.cancel();
        // The turn lets go when everything it started has ended.
        let _over = self.running.turn_lock.lock().await;
        self.servers.shut_down().await;
        // Whoever opens the session next must not wait until nobody refers to this any more.
        self.journal.release();
    }
}
