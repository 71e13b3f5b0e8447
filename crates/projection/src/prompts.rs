//! Puts the user's prompts in their place in the conversation, each once.
//!
//! In: every event. Out: the user's content blocks that belong before it. A prompt that has to wait
//! for another turn is shown when its own turn starts, so that it never stands in the middle of an
//! answer, and a dropped one is never shown. An agent's echo of the prompt as `user_message_chunk`
//! is left out; anything else that it sends there is shown.

use serde::{Deserialize, Serialize};
use wire::{Event, Json, Kind, Millis, OwnEvent, Seq, TurnId};

use super::content::{ContentBlock, blocks, chunk_text, update_of};
use super::json::JsonNode;

/// A message of the user, or one that the agent sends for the user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserMessage {
    pub turn: Option<TurnId>,
    /// The sender, as the log names them; empty for a message of the agent.
    pub by: String,
    /// The event that brought it.
    pub seq: Seq,
    pub at: Millis,
    pub source: MessageSource,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum MessageSource {
    /// A prompt: its content blocks.
    Prompt(Vec<Json>),
    /// A message that the agent sends for the user: the `params` of its `user_message_chunk`.
    Agent(Json),
}

/// A prompt whose turn has not ended.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct OpenPrompt {
    turn: Option<TurnId>,
    /// The message, until it is shown.
    unshown: Option<UserMessage>,
    /// Text that the agent may still echo, and below other blocks.
    text: String,
    others: Vec<(String, Option<String>)>,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Prompts {
    open: Vec<OpenPrompt>,
    is_turn_active: bool,
    active_turn: Option<TurnId>,
    /// Chunks that so far repeat the beginning of the prompt, and their text.
    held_back: Vec<UserMessage>,
    held_back_text: String,
}

impl Prompts {
    pub(crate) fn project(&mut self, event: &Event) -> Vec<UserMessage> {
        if event.kind.update_name() == Some("user_message_chunk") {
            return self.take_echo(event);
        }
        let mut said = if ends_an_echo(&event.kind) { self.release() } else { Vec::new() };
        match event.kind {
            Kind::PromptReceived => {
                self.receive(event);
                if !self.is_turn_active {
                    self.show(event.turn, &mut said);
                }
            }
            Kind::PromptDropped => self.forget(event.turn),
            Kind::TurnStarted => {
                self.is_turn_active = true;
                self.active_turn = event.turn;
                self.show(event.turn, &mut said);
            }
            Kind::TurnEnded => {
                self.is_turn_active = false;
                self.active_turn = None;
                self.forget(event.turn);
            }
            _ => {}
        }
        said
    }

    fn receive(&mut self, event: &Event) {
        let Some(OwnEvent::PromptReceived(received)) = event.own() else { return };
        let blocks = blocks(Some(JsonNode::of(received.prompt)));
        let text = blocks.iter().filter_map(ContentBlock::text).collect();
        let others =
            blocks.iter().filter(|b| b.text().is_none()).map(ContentBlock::identity).collect();
        let blocks = blocks.iter().filter_map(whole_block).collect();
        let Event { turn, seq, at, .. } = *event;
        let source = MessageSource::Prompt(blocks);
        let message = UserMessage { turn, by: received.by, seq, at, source };
        self.open.push(OpenPrompt { turn, unshown: Some(message), text, others });
    }

    fn show(&mut self, turn: Option<TurnId>, said: &mut Vec<UserMessage>) {
        let mut of_turn = self.open.iter_mut().filter(|prompt| prompt.turn == turn);
        said.extend(of_turn.find_map(|prompt| prompt.unshown.take()));
    }

    fn forget(&mut self, turn: Option<TurnId>) {
        self.open.retain(|prompt| prompt.turn != turn);
    }

    /// Takes in a `user_message_chunk` and holds it as long as it may be an echo.
    fn take_echo(&mut self, event: &Event) -> Vec<UserMessage> {
        let update = update_of(event);
        let turn = event.turn.or(self.active_turn);
        let source = MessageSource::Agent(event.payload.clone());
        let chunk = UserMessage { turn, by: String::new(), seq: event.seq, at: event.at, source };
        let others: Vec<_> = blocks(update.get("content"))
            .iter()
            .filter(|b| b.text().is_none())
            .map(ContentBlock::identity)
            .collect();
        let text = chunk_text(&update);
        let held_text = format!("{}{text}", self.held_back_text);
        let Some(prompt) = self.open.iter_mut().find(|p| p.turn == turn && p.unshown.is_none())
        else {
            return vec![chunk];
        };
        if let [other] = others.as_slice()
            && let Some(index) = prompt.others.iter().position(|o| o == other)
        {
            prompt.others.remove(index);
            return Vec::new();
        }
        let may_be_echo = !text.is_empty() && prompt.text.trim().starts_with(held_text.trim());
        if !may_be_echo {
            let mut said = self.release();
            said.push(chunk);
            return said;
        }
        self.held_back.push(chunk);
        self.held_back_text = held_text;
        Vec::new()
    }

    /// Returns the chunks that were held back: none if they were the whole prompt but for blanks
    /// around it, and otherwise all of them.
    fn release(&mut self) -> Vec<UserMessage> {
        let held = std::mem::take(&mut self.held_back);
        let text = std::mem::take(&mut self.held_back_text);
        let Some(turn) = held.first().map(|said| said.turn) else { return held };
        let prompt = self.open.iter_mut().find(|p| p.turn == turn && p.unshown.is_none());
        match prompt {
            Some(prompt) if prompt.text.trim() == text.trim() => {
                prompt.text.clear();
                Vec::new()
            }
            _ => held,
        }
    }
}

/// Whether the conversation goes on with `kind`; notes about the worker or the session may
/// come between two chunks of an echo.
fn ends_an_echo(kind: &Kind) -> bool {
    match kind.update_name() {
        Some(name) => matches!(
            name,
            "agent_message_chunk"
                | "agent_thought_chunk"
                | "tool_call"
                | "tool_call_update"
                | "plan"
        ),
        None => matches!(kind, Kind::PromptReceived | Kind::TurnStarted | Kind::TurnEnded),
    }
}

/// A block as ACP has it, also when the prompt was given as a bare string.
fn whole_block(block: &ContentBlock<'_>) -> Option<Json> {
    if block.node.is_object() {
        return Some(block.node.to_json());
    }
    let text = block.text()?;
    Some(Json::of(&serde_json::json!({ "type": "text", "text": text })))
}

impl UserMessage {
    /// The content blocks in it.
    pub fn blocks(&self) -> Vec<ContentBlock<'_>> {
        match &self.source {
            MessageSource::Prompt(blocks) => {
                blocks.iter().map(|one| ContentBlock::of(JsonNode::of(one))).collect()
            }
            MessageSource::Agent(params) => {
                blocks(JsonNode::of(params).object().object("update").get("content"))
            }
        }
    }
}

#[cfg(test)]
mod tests;
