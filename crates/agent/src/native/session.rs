//! One session: its journal, its options, its tools, what it cost, and the notices that its user
//! has had.

use std::collections::HashSet;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use store::StoreError;
use tokio_util::sync::CancellationToken;
use wire::RpcError;

use super::chat::TokenUsage;
use super::client::AcpClient;
use super::instructions::Instructions;
use super::journal::{Journal, JournalEntry, JournalItem};
use super::lock;
use super::mcp::{McpServers, ServerFault};
use super::models::{ChosenModel, Models, ToolUse};
use super::options::SessionOptions;
use super::permission_gate::Gate;
use super::provider::ModelFailure;
use super::providers::OfferedModel;
use super::settings::EnabledContextTools;
use super::settings::TurnLimits;
use super::tool::{Tool, Workspace};

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

/// The cost of a session over its whole life, and how full its context is. Where no cost is known
/// none is reported. The sum is made from the journal when a session is taken up again.
#[derive(Debug, Default)]
pub(super) struct Bill(Mutex<BillState>);

#[derive(Debug, Clone, Copy, Default)]
struct BillState {
    nano_usd: Option<u64>,
    /// Tokens in the context when that was reported last.
    used: Option<u64>,
}

impl Bill {
    pub(super) fn of(entries: &[JournalEntry]) -> Self {
        let costs = entries.iter().filter_map(|entry| entry.item.nano_usd());
        let nano_usd = costs.reduce(u64::saturating_add);
        Self(Mutex::new(BillState { nano_usd, used: None }))
    }

    fn change(&self, change: impl FnOnce(&mut BillState)) -> BillState {
        let mut stand = lock(&self.0);
        change(&mut stand);
        *stand
    }

    /// Counts the cost of an answer that is in the journal.
    /// Gives the tokens in the context when that was reported last.
    pub(super) fn add(&self, usage: TokenUsage) -> Option<u64> {
        let stand = self.change(|stand| {
            let sum = stand.nano_usd.unwrap_or(0).saturating_add(usage.nano_usd.unwrap_or(0));
            stand.nano_usd = stand.nano_usd.or(usage.nano_usd).map(|_| sum);
        });
        stand.used
    }
}

#[cfg(test)]
impl Bill {
    pub(super) fn nano_usd(&self) -> Option<u64> {
        self.change(|_| {}).nano_usd
    }
}

impl BillState {
    /// The cost as ACP has it.
    fn cost(self) -> Option<Value> {
        #[allow(clippy::cast_precision_loss, reason = "2^53 billionths are nine million dollars")]
        let amount = self.nano_usd? as f64 / 1e9;
        Some(json!({ "amount": amount, "currency": "USD" }))
    }
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
    pub(super) fn describe(&self, offers: &[OfferedModel]) -> Value {
        let options = self.options();
        let tools = self.models.tool_use(&options.model).is_wanted;
        let context_tools = &self.workspace.settings.context.tools;
        json!({
            "configOptions": options.to_acp(offers, tools, context_tools),
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

    /// Counts the cost of a request beside the conversation, and reports it right away: a limit in
    /// money must not wait for a sub-agent to come back.
    pub(super) async fn spend_aside(&self, usage: TokenUsage) -> Result<(), TurnError> {
        let Some(nano_usd) = usage.nano_usd else { return Ok(()) };
        self.journal.add(JournalItem::Spent { nano_usd }).await?;
        match self.bill.add(usage) {
            Some(used) => self.tell_usage(used).await,
            None => Ok(()),
        }
    }

    /// Reports how full the context is, and what everything has cost so far.
    pub(super) async fn tell_usage(&self, used: u64) -> Result<(), TurnError> {
        let size = self.chosen().await?.context;
        let stand = self.bill.change(|stand| stand.used = Some(used));
        let mut update = json!({ "sessionUpdate": "usage_update", "used": used, "size": size });
        if let Some(cost) = stand.cost() {
            update["cost"] = cost;
        }
        self.send_update(update).await
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
