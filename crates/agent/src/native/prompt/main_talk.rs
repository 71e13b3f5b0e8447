//! The session's own conversation: sent to its client as it happens, kept in its journal.

use std::sync::Arc;

use serde_json::{Value, json};

use super::summary;
use crate::native::assemble::Assembled;
use crate::native::chat::{Message, Part, Usage};
use crate::native::client::{chunk, compaction};
use crate::native::context;
use crate::native::journal::Item;
use crate::native::session::{Session, TurnError};
use crate::native::turn::{Talk, Telling, Voice};
use store::mint;

pub(super) struct MainTalk<'a> {
    session: &'a Arc<Session>,
    /// Tokens and cost of all requests of this turn.
    pub(super) usage: Usage,
    /// About what the descriptions of its tools take in every request.
    pub(super) tools_tokens: u64,
}

impl<'a> MainTalk<'a> {
    pub(super) fn new(session: &'a Arc<Session>) -> Self {
        Self { session, usage: Usage::default(), tools_tokens: 0 }
    }

    /// Replaces everything so far by a summary.
    pub(super) async fn compact(&mut self) -> Result<(), TurnError> {
        let id = format!("compaction-{}", mint::call_id());
        self.tell_compaction(&id, "in_progress", None).await?;
        let mut usage = Usage::default();
        let summary = summary::make(self.session, self.messages(), &mut usage).await;
        self.usage += usage;
        self.session.spend_aside(usage).await?;
        match summary {
            Ok(summary) => {
                self.session.journal.add(Item::Compacted { summary: summary.clone() }).await?;
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
        self.session.tell(compaction(id, status, summary)).await
    }
}

impl Talk for MainTalk<'_> {
    fn messages(&self) -> Vec<Message> {
        let session = self.session;
        let system = session.instructions.text(session.options().mode, session.has_tools());
        context::messages(&system, &self.session.journal.all())
    }

    async fn say(&mut self, voice: Voice, text: &str) -> Telling {
        let kind = match voice {
            Voice::Aloud => "agent_message_chunk",
            Voice::Thought => "agent_thought_chunk",
        };
        self.session.tell(chunk(kind, text)).await
    }

    async fn remark(&mut self, text: &str) -> Telling {
        tracing::info!("{text}");
        let update = match self.session.client().can.shows_notices {
            true => json!({ "sessionUpdate": "notice", "severity": "info", "title": text }),
            false => chunk("agent_thought_chunk", &format!("{text}\n")),
        };
        self.session.tell(update).await
    }

    async fn warn(&mut self, text: &str) -> Telling {
        self.session.warn(text, "").await;
        Ok(())
    }

    async fn answered(&mut self, said: Assembled) -> Telling<u64> {
        let Assembled { text, thought, calls, usage, finish } = said;
        if let Some(usage) = usage {
            self.usage += usage;
        }
        let is_whole = finish.is_some();
        let item = Item::Answer { text, thought, calls, is_whole, usage };
        let seq = self.session.journal.add(item).await?;
        self.session.spent(usage.unwrap_or_default());
        let used = usage.map(Usage::total);
        let used = used.unwrap_or_else(|| context::estimate(&self.messages()));
        self.session.tell_usage(used).await?;
        Ok(seq)
    }

    async fn show(&mut self, update: Value) -> Telling {
        self.session.tell(update).await
    }

    async fn called(
        &mut self,
        answer: u64,
        index: usize,
        shown: Value,
        parts: Vec<Part>,
    ) -> Telling {
        self.session.journal.add(Item::Called { answer, index, shown, parts }).await?;
        Ok(())
    }

    async fn make_room(&mut self, used: u64) -> Telling {
        // Newer items are not in what the endpoint counted; nor does every endpoint count.
        let entries = self.session.journal.all();
        if !context::has_answers(&entries) {
            return Ok(());
        }
        let counted = context::counted(&entries);
        let of_tools = if self.session.has_tools() { self.tools_tokens } else { 0 };
        let estimated = context::estimate(&self.messages()).saturating_add(of_tools);
        match used.max(counted).max(estimated) < self.session.nearly_full().await? {
            true => Ok(()),
            false => self.compact().await,
        }
    }

    async fn was_too_much(&mut self) -> Telling<bool> {
        if !context::has_answers(&self.session.journal.all()) {
            return Ok(false);
        }
        self.compact().await.map(|()| true)
    }
}
