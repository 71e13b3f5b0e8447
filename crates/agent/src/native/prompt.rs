//! A prompt and its answer: the turn that a session runs for it, from beginning to end.
//!
//! Here a session, its slash commands, the tools of its turn and the turn come together.

mod session_conversation;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::{Value, json};
use store::RecordChanges;
use tokio_util::sync::CancellationToken;
use wire::RpcError;
use wire::event::StopReason;

use super::chat::TokenUsage;
use super::journal::JournalItem;
use super::session::{NativeSession, TurnError};
use super::slash_commands::{self, SlashOutcome};
use super::tool::by_name;
use super::turn::ModelTurn;
use super::turn_bounds::TurnBounds;
use super::{content, context, context_tools, lock, sub_agent};
use session_conversation::SessionConversation;

/// Time that a first prompt waits for MCP servers; later their tools come with the next request.
const SERVERS_WITHIN: Duration = Duration::from_secs(15);

/// A turn that has begun and waits to be run.
pub(super) struct PendingTurn {
    session: Arc<NativeSession>,
    blocks: Vec<Value>,
    cancel: CancellationToken,
    _alone: tokio::sync::OwnedMutexGuard<()>,
}

impl PendingTurn {
    /// Runs the turn to its end; the answer to `session/prompt`.
    pub(super) async fn run(mut self) -> Result<Value, RpcError> {
        let blocks = std::mem::take(&mut self.blocks);
        self.session.prompt(blocks, &self.cancel).await
    }
}

impl Drop for PendingTurn {
    fn drop(&mut self) {
        *lock(&self.session.running.cancel) = None;
    }
}

impl NativeSession {
    /// Begins a turn, which can be cancelled from here on.
    pub(super) fn begin(self: &Arc<Self>, blocks: Vec<Value>) -> Result<PendingTurn, RpcError> {
        let Ok(alone) = self.running.turn_lock.clone().try_lock_owned() else {
            return Err(RpcError::invalid_request("a turn of this session is still running"));
        };
        let cancel = CancellationToken::new();
        *lock(&self.running.cancel) = Some(cancel.clone());
        Ok(PendingTurn { session: self.clone(), blocks, cancel, _alone: alone })
    }

    async fn prompt(
        self: &Arc<Self>,
        blocks: Vec<Value>,
        cancel: &CancellationToken,
    ) -> Result<Value, RpcError> {
        match self.turn(blocks, cancel).await {
            Ok((stop, usage)) => Ok(answer(&stop, usage)),
            Err(TurnError::Model(failure)) => {
                tracing::error!(category = failure.category.as_str(), error = %failure, "a turn failed");
                // The user reads the error where the answer would have been.
                self.say(&failure.message).await;
                let message = failure.message.clone();
                if let Err(error) = self.journal.add(JournalItem::Failed { message }).await {
                    tracing::error!(%error, "the failure could not be logged");
                }
                let mut answer = answer(&StopReason::EndTurn, TokenUsage::default());
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
    ) -> Result<(StopReason, TokenUsage), TurnError> {
        self.instructions.check(&self.workspace.client).await;
        let text = content::plain(&blocks);
        let blocks = match slash_commands::read(&text, self).await {
            SlashOutcome::None => blocks,
            SlashOutcome::Done(words) => {
                self.say(&words).await;
                return Ok((StopReason::EndTurn, TokenUsage::default()));
            }
            SlashOutcome::Compact => {
                let mut talk = SessionConversation::new(self);
                let is_cancelled = tokio::select! {
                    biased;
                    () = cancel.cancelled() => true,
                    made = talk.compact() => made.map(|()| false)?,
                };
                let stop = if is_cancelled { StopReason::Cancelled } else { StopReason::EndTurn };
                return Ok((stop, talk.usage));
            }
            SlashOutcome::Prompt(text) => vec![json!({ "type": "text", "text": text })],
        };
        self.give_title(&text).await?;
        let chosen = self.chosen().await;
        let takes_images = chosen.as_ref().is_ok_and(|chosen| chosen.takes_images);
        let parts = content::parts(&blocks, takes_images);
        self.journal.add(JournalItem::Prompt { blocks, parts }).await?;
        chosen?;
        self.announce_found().await;
        tokio::select! {
            biased;
            () = cancel.cancelled() => return Ok((StopReason::Cancelled, TokenUsage::default())),
            () = self.report_servers() => {}
        }
        let bounds = TurnBounds::new(cancel.clone(), self.limits.max_requests);
        let tools = sub_agent::tools(self).into_iter().chain(context_tools::of(self, &bounds));
        let tools = by_name(tools.chain([sub_agent::tool(self.clone(), bounds.clone())]));
        let mut talk = SessionConversation::new(self);
        talk.tools_tokens = context::tool_tokens(tools.values().map(|tool| &tool.spec));
        let turn = ModelTurn { session: self, tools: &tools, bounds: &bounds };
        let stop = turn.run(&mut talk).await?;
        Ok((stop, talk.usage))
    }

    /// Titles the session with the first words of a prompt, until somebody names it better.
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
        let changes =
            RecordChanges { title: Some(Some(title.clone())), ..RecordChanges::default() };
        self.journal.change(changes).await?;
        let update = json!({ "sessionUpdate": "session_info_update", "title": title });
        let _ = self.client().update(update).await;
        Ok(())
    }

    /// Tells the user once about an endpoint or model that was merely found and that nobody chose.
    async fn announce_found(&self) {
        if self.notices.endpoint.swap(true, Ordering::Relaxed) {
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
        let troubles = self.servers.faults().into_iter().chain(self.refused_servers.clone());
        for trouble in troubles {
            if !lock(&self.notices.troubles).insert(trouble.server.clone()) {
                continue;
            }
            let title = format!("The MCP server {} does not answer", trouble.server);
            tracing::warn!(server = trouble.server, error = trouble.message, "an MCP server fails");
            self.warn(&title, &trouble.message).await;
        }
    }
}

fn answer(stop: &StopReason, usage: TokenUsage) -> Value {
    let mut answer = json!({ "stopReason": stop.as_str() });
    if usage != TokenUsage::default() {
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
