//! The session's own conversation: sent to its client as it happens, kept in its journal.

use std::sync::Arc;

use futures_util::StreamExt as _;
use serde_json::{Value, json};
use store::mint;
use wire::Category;

use crate::native::assemble::AssembledAnswer;
use crate::native::chat::{
    ChatMessage, ChatRequest, Delta, FinishReason, MessagePart, TokenUsage, push_user,
};
use crate::native::client::{chunk, compaction};
use crate::native::context;
use crate::native::excerpt;
use crate::native::journal::JournalItem;
use crate::native::models::ChosenModel;
use crate::native::provider::ModelFailure;
use crate::native::session::{NativeSession, TurnError};
use crate::native::turn::{ConversationResult, TextKind, TurnConversation};

const ASK: &str = "Summarise this whole session for yourself, so that you can go on with it \
     knowing nothing else: what the user wants, in their own words where they matter; what was \
     decided and why; which files were read and changed and how; commands and their results that \
     still count; what is done, what is open, what comes next. Be complete and exact about names, \
     paths and numbers. Answer with the summary alone.";
/// Characters sent of each part: the limits are tried in this order until the endpoint takes it.
const CHARS_OF_PART: [usize; 4] = [usize::MAX, 4000, 1000, 200];
/// Longest summary: a longer one saves nothing.
const MAX_BYTES: usize = 256 << 10;
const LEFT_OUT: &str = "\n[… left out …]\n";

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
        let summary = summarise(self.session, self.messages(), &mut usage).await;
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

    async fn keep_answer(&mut self, said: AssembledAnswer) -> ConversationResult<u64> {
        let AssembledAnswer { text, thought, calls, usage, finish } = said;
        if let Some(usage) = usage {
            self.usage += usage;
        }
        let is_whole = finish.is_some();
        let item = JournalItem::Answer { text, thought, calls, is_whole, usage };
        let seq = self.session.journal.add(item).await?;
        self.session.bill.add(usage.unwrap_or_default());
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

/// A summary of a conversation, by the model that has it. Only a whole answer stands for a whole
/// session. A conversation that is too much for the endpoint is summarised with its long parts cut in
/// the middle.
async fn summarise(
    session: &NativeSession,
    messages: Vec<ChatMessage>,
    usage: &mut TokenUsage,
) -> Result<String, ModelFailure> {
    let chosen = session.chosen().await?;
    let mut last = None;
    for n_chars in CHARS_OF_PART {
        let messages = shortened(&messages, n_chars);
        match ask(&chosen, messages, !session.has_tools(), usage).await {
            Err(failure) if failure.is_too_long() => last = Some(failure),
            summary => return summary,
        }
    }
    Err(last.unwrap_or_else(|| {
        ModelFailure::new(Category::Internal, "The session cannot be summarised.")
    }))
}

async fn ask(
    chosen: &ChosenModel,
    mut messages: Vec<ChatMessage>,
    is_in_words: bool,
    usage: &mut TokenUsage,
) -> Result<String, ModelFailure> {
    push_user(&mut messages, vec![MessagePart::text(ASK)]);
    let model = chosen.model.clone();
    let request =
        ChatRequest { model, messages, calls_as_text: is_in_words, ..ChatRequest::default() };
    let mut answer = chosen.provider.chat(request);
    let (mut summary, mut is_cut) = (String::new(), false);
    while let Some(delta) = answer.next().await {
        match delta? {
            Delta::Text(text) => summary.push_str(&text),
            Delta::Usage(counted) => *usage += counted,
            Delta::Finish(finish) => is_cut = finish == FinishReason::Length,
            _ => {}
        }
        is_cut |= summary.len() > MAX_BYTES;
        if is_cut {
            break;
        }
    }
    let useless = |how| {
        let message = format!("The model gave a summary that {how}; nothing was left out.");
        Err(ModelFailure { category: Category::Protocol, message })
    };
    match summary.trim() {
        "" => useless("is empty"),
        _ if is_cut => useless("has no end"),
        _ => Ok(summary),
    }
}

fn shortened(messages: &[ChatMessage], n_chars: usize) -> Vec<ChatMessage> {
    let mut messages = messages.to_vec();
    for message in &mut messages {
        match message {
            // Without the system prompt the rest makes no sense, and it does not grow.
            ChatMessage::System { .. } => {}
            ChatMessage::User { parts } | ChatMessage::Tool { parts, .. } => {
                for part in parts {
                    if let MessagePart::Text { text } = part {
                        shorten(text, n_chars);
                    }
                }
            }
            ChatMessage::Assistant { text, thought, .. } => {
                shorten(text, n_chars);
                shorten(thought, n_chars);
            }
        }
    }
    messages
}

/// Keeps the beginning and the end.
fn shorten(text: &mut String, n_chars: usize) {
    let half = n_chars / 2;
    *text = excerpt::ends(text, (half, half), |_| LEFT_OUT.to_owned());
}
