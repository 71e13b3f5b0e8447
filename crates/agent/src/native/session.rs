//! One session: its journal, its choices, its tools, and the turn that runs in it.

mod bill;
mod main_talk;
mod summary;

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use store::Changes;
use tokio_util::sync::CancellationToken;
use wire::RpcError;

use super::chat::Usage;
use super::client::Client;
use super::content;
use super::context_tools::Switch;
use super::gate::Gate;
use super::instructions::Instructions;
use super::journal::{Item, Journal};
use super::lock;
use super::mcp::{Servers, Trouble};
use super::models::{Chosen, Models, ToolUse};
use super::options::{Configured, Offer, Options};
use super::provider::Failure;
use super::scene::SceneOfSession;
use super::slash::{self, Slash};
use super::tools::{Tool, Toolbox};
use super::turn::{Stop, Turn, TurnError};
use bill::Bill;
use main_talk::MainTalk;

/// A first prompt does not wait longer for servers; their tools come with the next request.
const SERVERS_WITHIN: Duration = Duration::from_secs(15);

/// How much one turn may do.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Requests to the model in one turn.
    pub max_requests: u32,
    /// Share of the window, in percent, at which room is made.
    pub compact_at_percent: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { max_requests: 200, compact_at_percent: 80 }
    }
}

#[derive(Debug)]
pub struct Session {
    pub journal: Journal,
    pub scene: Arc<SceneOfSession>,
    pub gate: Gate,
    pub models: Arc<Models>,
    pub servers: Servers,
    /// Its own tools, those of servers aside.
    pub tools: Vec<Arc<Tool>>,
    pub instructions: Instructions,
    pub limits: Limits,
    options: Mutex<Options>,
    /// Of the turn that runs.
    cancel: Mutex<Option<CancellationToken>>,
    /// Whoever holds it runs a turn.
    turn: Arc<tokio::sync::Mutex<()>>,
    has_title: AtomicBool,
    has_named_endpoint: AtomicBool,
    /// Servers that could not even be started.
    refused_servers: Vec<Trouble>,
    /// Of which servers the user has heard that they do not answer.
    told_troubles: Mutex<HashSet<String>>,
    /// Of which models the user has heard that they get no tools.
    told_without_tools: Mutex<HashSet<String>>,
    bill: Bill,
}

/// Everything that makes a session.
#[derive(Debug)]
pub struct Parts {
    pub journal: Journal,
    pub scene: Arc<SceneOfSession>,
    pub models: Arc<Models>,
    pub servers: Servers,
    pub tools: Vec<Arc<Tool>>,
    pub instructions: Instructions,
    pub limits: Limits,
    pub options: Options,
    pub has_title: bool,
    pub refused_servers: Vec<Trouble>,
}

impl Session {
    pub fn new(parts: Parts) -> Arc<Self> {
        let bill = Bill::of(&parts.journal.all());
        Arc::new(Self {
            journal: parts.journal,
            scene: parts.scene,
            gate: Gate::default(),
            models: parts.models,
            servers: parts.servers,
            tools: parts.tools,
            instructions: parts.instructions,
            limits: parts.limits,
            options: Mutex::new(parts.options),
            cancel: Mutex::default(),
            turn: Arc::default(),
            has_title: parts.has_title.into(),
            has_named_endpoint: AtomicBool::new(false),
            refused_servers: parts.refused_servers,
            told_troubles: Mutex::default(),
            told_without_tools: Mutex::default(),
            bill,
        })
    }

    pub fn id(&self) -> String {
        self.journal.id().to_string()
    }

    pub fn client(&self) -> &Client {
        &self.scene.client
    }

    pub fn options(&self) -> Options {
        lock(&self.options).clone()
    }

    /// The endpoint and the model that answer from now on.
    pub async fn chosen(&self) -> Result<Chosen, Failure> {
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

    /// The model, if it should have tools, gets none, and the user has not heard of that.
    pub(super) fn first_without_tools(&self) -> Option<String> {
        let model = self.options().model;
        let ToolUse { is_wanted, is_refused } = self.tool_use();
        let is_news =
            is_wanted && is_refused && lock(&self.told_without_tools).insert(model.clone());
        is_news.then_some(model)
    }

    /// Which tools it has for its own context.
    pub(super) fn context_tools(&self) -> Switch {
        match self.options().context_tools {
            Some(is_on) => Switch::either(is_on),
            None => self.scene.settings.context.tools.clone(),
        }
    }

    /// How many tokens are too many to go on without making room.
    pub(super) async fn nearly_full(&self) -> Result<u64, Failure> {
        let window = u128::from(self.chosen().await?.context);
        let full = window * u128::from(self.limits.compact_at_percent) / 100;
        Ok(u64::try_from(full).unwrap_or(u64::MAX))
    }

    /// Chooses something, also while a turn runs: it counts from the next request on.
    pub async fn set_option(&self, id: &str, value: &str) -> Result<bool, RpcError> {
        let offers = self.models.offers().await;
        let options = {
            let mut options = lock(&self.options);
            let has_changed = options.set(id, value, &offers)?;
            if id == "tools" && options.tools == Some(true) {
                // Its server may have been given other flags since.
                self.models.try_tools_again(&options.model);
                lock(&self.told_without_tools).remove(&options.model);
            }
            if !has_changed {
                return Ok(false);
            }
            options.clone()
        };
        let kept = self.journal.add(Item::Options { options }).await;
        kept.map_err(|error| RpcError::internal(format_args!("cannot keep it: {error}")))?;
        Ok(true)
    }

    /// `configOptions` and `modes`, for answers that hold them.
    pub fn describe(&self, offers: &[Offer]) -> Value {
        let options = self.options();
        let configured = Configured {
            tools: self.models.tool_use(&options.model).is_wanted,
            context_tools: self.scene.settings.context.tools.clone(),
        };
        json!({
            "configOptions": options.to_acp(offers, &configured),
            "modes": options.modes_to_acp(),
        })
    }

    /// Stops the turn that runs, if one does.
    pub fn cancel(&self) {
        if let Some(cancel) = &*lock(&self.cancel) {
            cancel.cancel();
        }
    }

    /// Begins a turn, which can be cancelled from here on.
    pub fn begin(self: &Arc<Self>, blocks: Vec<Value>) -> Result<Begun, RpcError> {
        let Ok(alone) = self.turn.clone().try_lock_owned() else {
            return Err(RpcError::invalid_request("a turn of this session is still running"));
        };
        let cancel = CancellationToken::new();
        *lock(&self.cancel) = Some(cancel.clone());
        Ok(Begun { session: self.clone(), blocks, cancel, _alone: alone })
    }

    async fn prompt(
        self: &Arc<Self>,
        blocks: Vec<Value>,
        cancel: &CancellationToken,
    ) -> Result<Value, RpcError> {
        let ended = self.turn(blocks, cancel).await;
        match ended {
            Ok((stop, usage)) => Ok(answer(stop, usage)),
            Err(TurnError::Model(failure)) => {
                tracing::error!(category = failure.category.as_str(), error = %failure, "a turn failed");
                // The user reads it where the answer would have been.
                self.say(&failure.message).await;
                let message = failure.message.clone();
                if let Err(error) = self.journal.add(Item::Failed { message }).await {
                    tracing::error!(%error, "the failure is not kept");
                }
                let mut answer = answer(Stop::EndTurn, Usage::default());
                let error = json!({ "category": failure.category, "message": failure.message });
                answer["_meta"] = json!({ "switchyard": { "error": error } });
                Ok(answer)
            }
            Err(error) => Err(RpcError::internal(error)),
        }
    }

    async fn turn(
        self: &Arc<Self>,
        blocks: Vec<Value>,
        cancel: &CancellationToken,
    ) -> Result<(Stop, Usage), TurnError> {
        self.instructions.check(&self.scene.client).await;
        let text = content::plain(&blocks);
        let blocks = match slash::read(&text, self).await {
            Slash::None => blocks,
            Slash::Done(words) => {
                self.say(&words).await;
                return Ok((Stop::EndTurn, Usage::default()));
            }
            Slash::Compact => {
                let mut talk = MainTalk::new(self);
                let is_cancelled = tokio::select! {
                    biased;
                    () = cancel.cancelled() => true,
                    made = talk.compact() => made.map(|()| false)?,
                };
                let stop = if is_cancelled { Stop::Cancelled } else { Stop::EndTurn };
                return Ok((stop, talk.usage));
            }
            Slash::Prompt(text) => vec![json!({ "type": "text", "text": text })],
        };
        self.give_title(&text).await?;
        let chosen = self.chosen().await;
        let takes_images = chosen.as_ref().is_ok_and(|chosen| chosen.takes_images);
        let parts = content::parts(&blocks, takes_images);
        self.journal.add(Item::Prompt { blocks, parts }).await?;
        chosen?;
        self.say_what_was_found().await;
        tokio::select! {
            biased;
            () = cancel.cancelled() => return Ok((Stop::Cancelled, Usage::default())),
            () = self.report_servers() => {}
        }
        let tools = Toolbox::of(self, cancel);
        let mut talk = MainTalk::new(self);
        talk.tools_tokens = tools.n_tokens();
        let turn = Turn { session: self, tools: &tools, cancel };
        let stop = turn.run(&mut talk).await?;
        Ok((stop, talk.usage))
    }

    /// Says something that is not the model's.
    pub async fn say(&self, text: &str) {
        // A client that is gone does not read it.
        let _ = self.client().say("agent_message_chunk", text).await;
    }

    /// Says something that the user has to know.
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

    /// The first words name the session, until somebody names it better.
    async fn give_title(&self, text: &str) -> Result<(), TurnError> {
        const LONGEST: usize = 80;
        // Clients that have instructions of their own put them before the request.
        let text = text.rsplit_once("# Request\n").map_or(text, |(_, request)| request);
        let line = text.lines().map(str::trim).find(|line| !line.is_empty());
        let Some(line) = line else { return Ok(()) };
        if self.has_title.swap(true, Ordering::Relaxed) {
            return Ok(());
        }
        let title: String = line.chars().filter(|c| !c.is_control()).take(LONGEST).collect();
        let changes = Changes { title: Some(Some(title.clone())), ..Changes::default() };
        self.journal.change(changes).await?;
        let update = json!({ "sessionUpdate": "session_info_update", "title": title });
        let _ = self.client().update(update).await;
        Ok(())
    }

    /// Nobody chose an endpoint that was merely found: the user hears of it, once.
    async fn say_what_was_found(&self) {
        if self.has_named_endpoint.swap(true, Ordering::Relaxed) {
            return;
        }
        let Ok(ready) = self.models.ready().await else { return };
        let is_default = self.options().model == self.models.default_id().await;
        let picked = ready.picked.iter().filter(|_| is_default);
        for line in ready.found.iter().chain(picked) {
            tracing::info!("{line}");
            let _ = self.client().say("agent_thought_chunk", &format!("{line}\n")).await;
        }
    }

    /// Waits for the MCP servers, and says once which of them do not answer.
    async fn report_servers(&self) {
        self.servers.ready(SERVERS_WITHIN).await;
        let troubles = self.servers.troubles().into_iter().chain(self.refused_servers.clone());
        for trouble in troubles {
            if !lock(&self.told_troubles).insert(trouble.server.clone()) {
                continue;
            }
            let title = format!("The MCP server {} does not answer", trouble.server);
            tracing::warn!(server = trouble.server, error = trouble.message, "an MCP server");
            self.warn(&title, &trouble.message).await;
        }
    }

    /// Ends what belongs to the session.
    pub async fn close(&self) {
        self.cancel();
        // The turn lets go when everything it started has ended.
        let _over = self.turn.lock().await;
        self.servers.shut_down().await;
        // Whoever opens it next must not wait for the last of us to look away.
        self.journal.release();
    }
}

/// A turn that has begun and waits to be run.
#[derive(Debug)]
pub struct Begun {
    session: Arc<Session>,
    blocks: Vec<Value>,
    cancel: CancellationToken,
    _alone: tokio::sync::OwnedMutexGuard<()>,
}

impl Begun {
    /// Runs the turn to its end; the answer to `session/prompt`.
    pub async fn run(mut self) -> Result<Value, RpcError> {
        let blocks = std::mem::take(&mut self.blocks);
        self.session.prompt(blocks, &self.cancel).await
    }
}

impl Drop for Begun {
    fn drop(&mut self) {
        *lock(&self.session.cancel) = None;
    }
}

fn answer(stop: Stop, usage: Usage) -> Value {
    let mut answer = json!({ "stopReason": stop.as_str() });
    if usage != Usage::default() {
        answer["usage"] = json!({
            "totalTokens": usage.total(),
            "inputTokens": usage.input,
            "outputTokens": usage.output,
            "thoughtTokens": usage.thought,
            "cachedReadTokens": usage.cached,
        });
    }
    answer
}

#[cfg(test)]
mod tests;
