//! The answer and the thoughts: deltas, the whole that repeats them, and retries.

use serde_json::Value;

use super::super::Said;
use super::super::retold::Retold;
use crate::update::{Block, Update};

#[derive(Debug, Default)]
pub(super) struct Speech {
    answer: Stream,
    thought: Stream,
}

#[derive(Debug, Default)]
struct Stream {
    retold: Retold,
    /// What the present request has streamed.
    streamed: String,
}

impl Speech {
    /// A step begins, and with it another message.
    pub(super) fn fresh(&mut self) {
        *self = Self::default();
    }

    /// A request to the model begins.
    pub(super) fn call(&mut self) {
        self.answer.streamed.clear();
        self.thought.streamed.clear();
    }

    /// The request failed and is made again.
    pub(super) fn again(&mut self) {
        self.call();
        self.answer.retold.again();
        self.thought.retold.again();
    }

    pub(super) fn delta(&mut self, kind: &str, data: &Value, out: &mut Vec<Said>) {
        let delta = data["deltaContent"].as_str().unwrap_or_default();
        let is_thought = kind == "assistant.reasoning_delta";
        let stream = if is_thought { &mut self.thought } else { &mut self.answer };
        stream.streamed.push_str(delta);
        let new = stream.retold.tell(delta);
        say(is_thought, new, data, out);
    }

    /// The whole message: says what was not streamed of it.
    pub(super) fn whole(&mut self, kind: &str, data: &Value, out: &mut Vec<Said>) {
        let thoughts = match kind {
            "assistant.reasoning" => &data["content"],
            _ => &data["reasoningText"],
        };
        let new = self.thought.rest(thoughts);
        say(true, new, data, out);
        if kind == "assistant.message" {
            let new = self.answer.rest(&data["content"]);
            say(false, new, data, out);
        }
    }
}

impl Stream {
    fn rest(&mut self, whole: &Value) -> String {
        let whole = whole.as_str().unwrap_or_default();
        let Some(rest) = whole.strip_prefix(&self.streamed).map(str::to_owned) else {
            return String::new();
        };
        self.streamed.push_str(&rest);
        self.retold.tell(&rest)
    }
}

fn say(is_thought: bool, text: String, data: &Value, out: &mut Vec<Said>) {
    if text.is_empty() {
        return;
    }
    let content = Block::text(text);
    let id = |name: &str| data[name].as_str().map(str::to_owned);
    out.push(Said::Update(match is_thought {
        true => Update::AgentThoughtChunk { content, message_id: id("reasoningId") },
        false => Update::AgentMessageChunk { content, message_id: id("messageId") },
    }));
}
