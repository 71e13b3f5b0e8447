//! What people ask, while it waits and once its turn has begun.

use serde_json::Value;
use wire::event::{DropReason, PromptReceived};
use wire::{Event, TurnId};

use projection::sanitize;

use super::reading::{line, text_of};
use super::{Conversation, Part, Tone};

/// A prompt whose turn has not begun.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Waiting {
    pub(crate) turn: Option<TurnId>,
    pub(crate) text: String,
    pub(crate) by: Option<String>,
}

impl Conversation {
    pub(super) fn prompt_received(&mut self, event: &Event, received: &PromptReceived<'_>) {
        let text = prompt_text(&received.prompt.read().unwrap_or_default());
        let by = self.own.asker(&received.by, event.seq.0, event.turn, &text);
        self.has_others |= by.is_some();
        self.waiting.push(Waiting { turn: event.turn, text, by });
    }

    pub(super) fn prompt_dropped(&mut self, event: &Event, reason: DropReason) {
        let place = self.waiting.iter().position(|waiting| waiting.turn == event.turn);
        let Some(place) = place else { return };
        let text = line(&self.waiting.remove(place).text, 200);
        let why = match reason {
            DropReason::Cancelled => "the turn was stopped",
            DropReason::Dropped => "taken back",
            DropReason::Limit => "a limit is reached",
            DropReason::Interrupted => "the session was interrupted",
            DropReason::Unknown => "dropped",
        };
        self.note(event.turn, Tone::Doubtful, format!("not sent ({why}): {text}"));
    }

    /// What the agent repeated of the prompt, or said in the user's name.
    pub(super) fn end_echo(&mut self, turn: Option<TurnId>) {
        if self.echo.is_empty() {
            return;
        }
        let echo = sanitize(&std::mem::take(&mut self.echo)).into_owned();
        // Many agents repeat the prompt, with or without what was attached to it.
        if !self.prompted.trim().starts_with(echo.trim())
            && !echo.trim().starts_with(self.prompted.trim())
        {
            self.push(turn.or(self.running), Part::Prompt { text: echo, by: None });
        }
    }
}

/// The words of a prompt; links to files that the words mention are left out.
fn prompt_text(blocks: &Value) -> String {
    let words = |block: &Value| block["type"] == "text" || block.is_string();
    let all: Vec<&Value> = match blocks {
        Value::Array(blocks) => blocks.iter().collect(),
        other => vec![other],
    };
    let text: Vec<String> = all.iter().filter(|block| words(block)).map(|b| text_of(b)).collect();
    let mut text = text.join("\n");
    for block in all.iter().filter(|block| !words(block)) {
        let is_mentioned =
            block["name"].as_str().is_some_and(|name| text.contains(&format!("@{name}")));
        if !is_mentioned {
            text.push('\n');
            text.push_str(&text_of(block));
        }
    }
    sanitize(text.trim()).into_owned()
}
