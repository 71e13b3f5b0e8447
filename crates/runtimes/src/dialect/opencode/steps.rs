//! Steps: requests to the model, what they said and what they cost.

use serde_json::Value;

use super::super::retold::Retold;
use super::super::{Said, Usage, counts};
use crate::update::{Block, Severity, Update};

#[derive(Debug, Default)]
pub(super) struct Steps {
    /// The message that is being written; a step that is tried again belongs to the same one.
    message: Option<String>,
    is_open: bool,
    text: Retold,
    thought: Retold,
    reason: Option<String>,
    usage: Option<Usage>,
}

impl Steps {
    pub(super) fn start(&mut self, part: &Value, out: &mut Vec<Said>) {
        let message = part["messageID"].as_str();
        if self.is_open && message.is_some() && message == self.message.as_deref() {
            let title = "the model's answer was cut off; it is asked again";
            out.push(Said::Update(Update::notice(Severity::Warning, title)));
            self.text.again();
            self.thought.again();
        } else {
            self.text.fresh();
            self.thought.fresh();
        }
        self.message = message.map(str::to_owned);
        self.is_open = true;
        self.reason = None;
    }

    /// A whole part of the message.
    pub(super) fn part(&mut self, kind: &str, part: &Value, out: &mut Vec<Said>) {
        let text = part["text"].as_str().unwrap_or_default();
        let message_id = part["messageID"].as_str().map(str::to_owned);
        let is_thought = kind == "reasoning";
        let retold = if is_thought { &mut self.thought } else { &mut self.text };
        let new = retold.tell(text);
        if new.is_empty() {
            return;
        }
        let content = Block::text(new);
        out.push(Said::Update(match is_thought {
            true => Update::AgentThoughtChunk { content, message_id },
            false => Update::AgentMessageChunk { content, message_id },
        }));
    }

    pub(super) fn finish(&mut self, part: &Value) {
        self.is_open = false;
        self.reason = Some(part["reason"].as_str().unwrap_or("stop").to_owned());
        let tokens = &part["tokens"];
        if tokens.is_null() {
            return;
        }
        let count = |value: &Value| value.as_u64().unwrap_or_default();
        let (input, output) = (count(&tokens["input"]), count(&tokens["output"]));
        let thoughts = count(&tokens["reasoning"]);
        let (read, write) = (count(&tokens["cache"]["read"]), count(&tokens["cache"]["write"]));
        let total = tokens["total"].as_u64();
        self.usage.get_or_insert_default().add(&Usage {
            total_tokens: total
                .unwrap_or_else(|| counts::sum(&[input, output, thoughts, read, write])),
            input_tokens: input,
            output_tokens: output,
            thought_tokens: Some(thoughts),
            cached_read_tokens: Some(read),
            cached_write_tokens: Some(write),
        });
    }

    /// Why the last step ended, if it did.
    pub(super) fn reason(&self) -> Option<&str> {
        self.reason.as_deref()
    }

    /// Whether the last step said all there was to say.
    pub(super) fn is_complete(&self) -> bool {
        self.reason().is_some_and(|reason| reason != "tool-calls")
    }

    pub(super) fn usage(&self) -> Option<Usage> {
        self.usage
    }
}
