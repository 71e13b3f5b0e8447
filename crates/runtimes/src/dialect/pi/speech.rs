//! The answer and the thoughts: deltas by block, the whole that repeats them, and retries.

use std::collections::HashMap;

use serde_json::Value;

use super::super::Said;
use super::super::retold::Retold;
use crate::update::Update;

#[derive(Debug, Default)]
pub(super) struct Speech {
    answer: Retold,
    thought: Retold,
    /// What was streamed of each block of the present message.
    blocks: HashMap<u64, String>,
    /// The message that begins next is one that began before.
    is_again: bool,
}

impl Speech {
    /// A turn begins.
    pub(super) fn fresh(&mut self) {
        *self = Self::default();
    }

    /// The last message failed and will be attempted again.
    pub(super) fn again(&mut self) {
        self.is_again = true;
    }

    /// A message begins.
    pub(super) fn message(&mut self) {
        self.blocks.clear();
        if std::mem::take(&mut self.is_again) {
            self.answer.again();
            self.thought.again();
        } else {
            self.answer.fresh();
            self.thought.fresh();
        }
    }

    pub(super) fn update(&mut self, event: &Value, out: &mut Vec<Said>) {
        let is_thought = match event["type"].as_str().unwrap_or_default() {
            "text_delta" => false,
            "thinking_delta" => true,
            // The rest is in the whole message, and calls are told when they run.
            _ => return,
        };
        let delta = event["delta"].as_str().unwrap_or_default();
        let block = event["contentIndex"].as_u64().unwrap_or_default();
        self.tell(block, is_thought, delta, out);
    }

    /// The whole message: says what was not streamed of it.
    pub(super) fn whole(&mut self, content: &Value, out: &mut Vec<Said>) {
        for (block, part) in content.as_array().into_iter().flatten().enumerate() {
            let (is_thought, whole) = match part["type"].as_str() {
                Some("text") => (false, &part["text"]),
                Some("thinking") => (true, &part["thinking"]),
                _ => continue,
            };
            let block = block as u64;
            let streamed = self.blocks.get(&block).map(String::as_str).unwrap_or_default();
            let rest = whole.as_str().unwrap_or_default().strip_prefix(streamed);
            let rest = rest.unwrap_or_default().to_owned();
            self.tell(block, is_thought, &rest, out);
        }
    }

    fn tell(&mut self, block: u64, is_thought: bool, delta: &str, out: &mut Vec<Said>) {
        self.blocks.entry(block).or_default().push_str(delta);
        let retold = if is_thought { &mut self.thought } else { &mut self.answer };
        let new = retold.tell(delta);
        if !new.is_empty() {
            let update = if is_thought { Update::thought(new) } else { Update::text(new) };
            out.push(Said::Update(update));
        }
    }
}
