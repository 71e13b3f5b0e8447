//! Prompts, while they wait and once their turns have begun.

use projection::json::JsonNode;
use projection::{ContentBlock, Conversation, UserMessage, sanitize};
use wire::TurnId;
use wire::event::PromptReceived;

use super::{ChatConversation, ChatPart};

/// A prompt whose turn has not begun.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WaitingPrompt {
    pub(crate) turn: Option<TurnId>,
    pub(crate) text: String,
    pub(crate) by: Option<String>,
}

impl ChatConversation {
    pub(super) fn prompt_received(&mut self, received: &PromptReceived<'_>, now: &Conversation) {
        let blocks: Vec<_> =
            JsonNode::of(received.prompt).items().into_iter().map(ContentBlock::of).collect();
        let (text, turn) = (text(&blocks), now.event_turn());
        let by = self.own.asker(&received.by, now.seq().0, turn, &text);
        self.has_other_senders |= by.is_some();
        self.waiting_prompts.push(WaitingPrompt { turn, text, by });
    }

    pub(super) fn prompt(&mut self, said: &UserMessage) {
        let text = text(&said.blocks());
        let by = self.own.asker(&said.by, said.seq.0, said.turn, &text);
        if !text.is_empty() {
            self.push(said.turn, ChatPart::Prompt { text, by });
        }
    }
}

/// The text of a prompt; links to files that the text mentions are left out.
fn text(blocks: &[ContentBlock<'_>]) -> String {
    let words: Vec<_> = blocks.iter().filter_map(ContentBlock::text).collect();
    let mut text = words.join("\n");
    for block in blocks.iter().filter(|block| block.text().is_none()) {
        let is_mentioned = block.name().is_some_and(|name| text.contains(&format!("@{name}")));
        if !is_mentioned {
            text.push('\n');
            text.push_str(&block.describe().unwrap_or_default());
        }
    }
    sanitize(text.trim()).into_owned()
}
