//! The session's own conversation: sent to its client as it happens, kept in its journal.

use std::sync::Arc;

use serde_json::{Value, json};

use super::summary;
use crate::native::assemble::AssembledAnswer;
use crate::native::chat::{ChatMessage, MessagePart, TokenUsage};
use crate::native::client::{chunk, compaction};
use crate::native::context;
use crate::native::journal::JournalItem;
use crate::native::session::{NativeSession, TurnError};
use crate::native::turn::{ConversationResult, TextKind, TurnConversation};
use store::mint;

pub(super) struct SessionConversation<'a> {
    session: &'a Arc<NativeSession>,
    /// Tokens and cost of all requests of this turn.
    pub(super) usage: TokenUsage,
    /// About what the descriptions of its tools take in every request.
    pub(super) tools_tokens: u64,
}

impl<'a> SessionConversation<'a> {
    pub(super) fn new(session: &'a Arc<NativeSession>) -> Self {
        Self { session, usage: TokenUsage::default(), tools_tokens: 0 }
    }

    /// Replaces everything so far by a summary.
    pub(super) async fn compact(&mut self) -> Result<(), TurnError> {
        let id = format!("compaction-{}", mint::call_id());
        self.tell_compaction(&id, "in_progress", None).await?;
        let mut usage = TokenUsage::default();
        let summary = summary::make(self.session, self.messages(), &mut usage).await;
        self.usage += usage;
        self.session.spend_aside(usage).await?;
        match summary {
            Ok(summary) => {
                self.session
                    .journal
                    .add(JournalItem::Compacted { summary: summary.clone() })
                    .await?;
                self.tell_compaction(&id, "completed", Some(&summary)).await?;
                self.session.tell_usage(context::estimate(&self.messages())).await
            }
            Err(error) => {
                self.tell_compaction(&id, "failed", None).await?;
                Err(error.into())
            }
        }
    }

    async fn tell_compaction(
        &mut self,
        id: &str,
        status: &str,
        summary: Option<&str>,
    ) -> Result<(), TurnError> {
        if !self.session.client().can.shows_compaction {
            return match status {
                "in_progress" => self.remark("The session is being summarised to make room.").await,
                _ => Ok(()),
            };
        }
        self.session.send_update(compaction(id, status, summary)).await
    }
}

impl TurnConversation for SessionConversation<'_> {
    fn messages(&self) -> Vec<ChatMessage> {
        let session = self.session;
        let system = session.instructions.text(session.options().mode, session.has_tools());
        context::messages(&system, &self.session.journal.all())
    }

    async fn say(&mut self, voice: TextKind, text: &str) -> ConversationResult {
        let kind = match voice {
            TextKind::Message => "agent_message_chunk",
            TextKind::Thought => "agent_thought_chunk",
        };
        self.session.send_update(chunk(kind, text)).await
    }

    async fn remark(&mut self, text: &str) -> ConversationResult {
        tracing::info!("{text}");
        let update = match self.session.client().can.shows_notices {
            true => json!({ "sessionUpdate": "notice", "severity": "info", "title": text }),
            false => chunk("agent_thought_chunk", &format!("{text}\n")),
        };
        self.session.send_update(update).await
    }

    async fn warn(&mut self, text: &str) -> ConversationResult {
        self.session.warn(text, "").await;
        Ok(())
    }

    async fn keep_answer(&mut self, said: AssembledAnswer) -> ConversationResult<u64> {
        let AssembledAnswer { text, thought, calls, usage, finish } = said;
        if let Some(usage) = usage {
            self.usage += usage;
        }
        let is_whole = finish.is_some();
        let item = JournalItem::Answer { text, thought, calls, is_whole, usage };
        let seq = self.session.journal.add(item).await?;
        self.session.spent(usage.unwrap_or_default());
        let used = usage.map(TokenUsage::total);
        let used = used.unwrap_or_else(|| context::estimate(&self.messages()));
        self.session.tell_usage(used).await?;
        Ok(seq)
    }

    async fn show(&mut self, update: Value) -> ConversationResult {
        self.session.send_update(update).await
    }

    async fn keep_result(
        &mut self,
        answer: u64,
        index: usize,
        shown: Value,
        parts: Vec<MessagePart>,
    ) -> ConversationResult {
        self.session.journal.add(JournalItem::Called { answer, index, shown, parts }).await?;
        Ok(())
    }

    async fn make_room(&mut self, used: u64) -> ConversationResult {
        // Newer items are not in what the endpoint counted; nor does every endpoint count.
        let entries = self.session.journal.all();
        if !context::has_answers(&entries) {
            return Ok(());
        }
        let counted = context::counted_tokens(&entries);
        let of_tools = if self.session.has_tools() { self.tools_tokens } else { 0 };
        let estimated = context::estimate(&self.messages()).saturating_add(of_tools);
        match used.max(counted).max(estimated) < self.session.compaction_threshold().await? {
            true => Ok(()),
            false => self.compact().await,
        }
    }

    async fn shrink(&mut self) -> ConversationResult<bool> {
        if !context::has_answers(&self.session.journal.all()) {
            return Ok(false);
        }
        self.compact().await.map(|()| true)
    }
}
