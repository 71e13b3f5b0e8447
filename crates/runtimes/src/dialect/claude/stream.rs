//! De-duplicates the model's messages, which come streamed, whole, or both.
//!
//! With partial messages every block comes twice, as deltas and whole; after a dropped stream
//! it comes again. In: blocks in any of these ways. Out: each character once.
//!
//! A whole block is matched with a streamed one by its text, not by the message's id, which Qwen
//! changes in between.

use serde_json::Value;

use super::super::Outputs;
use super::super::repetition_filter::RepetitionFilter;
use super::tool_calls::ClaudeToolCalls;
use crate::update::TextKind;

/// The beginning of an error that Qwen prints as the end of the answer, and again in its `result`.
const ERROR_IN_TEXT: &str = "[API Error:";

#[derive(Debug, Default)]
pub(super) struct ClaudeMessageStream {
    message: Option<String>,
    /// The blocks of the message that is streamed, or was last.
    blocks: Vec<StreamedBlock>,
    is_open: bool,
    /// The last message was thrown away, and the next is another attempt at it.
    pub(super) is_again: bool,
    answer: RepetitionFilter,
    thought: RepetitionFilter,
    /// A text that is held back: an error, or the end of an answer that looks like one.
    pub(super) held_text: Option<String>,
    pub(super) has_text: bool,
    is_settled: bool,
    /// The tool calls that the messages make.
    pub(super) toolbox: ClaudeToolCalls,
}

#[derive(Debug)]
struct StreamedBlock {
    index: u64,
    kind: StreamedBlockKind,
    text: String,
    /// Whether it came whole.
    is_whole: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum StreamedBlockKind {
    Text,
    Thought,
    Tool(String),
    Other,
}

impl ClaudeMessageStream {
    /// A turn begins.
    pub(super) fn begin(&mut self) {
        self.next_message();
        self.has_text = false;
        self.held_text = None;
    }

    /// Another message begins.
    pub(super) fn next_message(&mut self) {
        self.message = None;
        self.blocks.clear();
        self.answer.reset();
        self.thought.reset();
        (self.is_open, self.is_settled, self.is_again) = (false, false, false);
    }

    /// Tool results came. Tools may run while the message that called them is still streamed.
    pub(super) fn tools_answered(&mut self) {
        if !self.is_open {
            self.next_message();
        }
    }

    /// Whether the last message is complete and calls no tools.
    pub(super) fn is_settled(&self) -> bool {
        self.is_settled && !self.is_open
    }

    /// Emits a text that comes outside a message.
    pub(super) fn whole_text(&mut self, text: &str, out: &mut Outputs) {
        if !text.is_empty() {
            self.release(out);
            self.emit(&StreamedBlockKind::Text, text.to_owned(), out);
        }
    }

    /// Emits the held text: it was no error.
    pub(super) fn release(&mut self, out: &mut Outputs) {
        if let Some(text) = self.held_text.take() {
            self.emit(&StreamedBlockKind::Text, text, out);
        }
    }

    /// Handles one event of a stream; false when it is unknown.
    pub(super) fn event(&mut self, value: &Value, out: &mut Outputs) -> bool {
        let event = &value["event"];
        let index = event["index"].as_u64().unwrap_or_default();
        match event["type"].as_str().unwrap_or_default() {
            "message_start" => {
                if self.is_open {
                    // Older versions do not announce that they gave up on a message.
                    self.expect_repetition(|block| !block.is_whole, out);
                } else if !self.is_again {
                    self.answer.reset();
                    self.thought.reset();
                }
                self.is_again = false;
                self.message = event["message"]["id"].as_str().map(str::to_owned);
                self.blocks.clear();
                (self.is_open, self.is_settled) = (true, false);
            }
            "content_block_start" => self.block_start(index, &event["content_block"], out),
            "content_block_delta" => return self.delta(index, &event["delta"], out),
            "message_stop" => {
                self.is_open = false;
                if let Some(from) = value["abandoned_blocks"]["from_block_index"].as_u64() {
                    self.abandon(Some(from), out);
                } else {
                    self.settle();
                }
            }
            // The same is in whole blocks and results; `ping` is a heartbeat.
            "content_block_stop" | "message_delta" | "ping" | "goal_state" => {}
            _ => return false,
        }
        true
    }

    /// The CLI threw these blocks away and asks the model again.
    pub(super) fn abandon(&mut self, from: Option<u64>, out: &mut Outputs) {
        let from = from.unwrap_or_default();
        self.held_text = None;
        self.blocks.retain(|block| block.index >= from);
        self.expect_repetition(|_| true, out);
        self.blocks.clear();
        (self.is_open, self.is_settled, self.is_again) = (false, false, true);
    }

    /// Handles a message, or one block of it, that comes whole.
    pub(super) fn message(&mut self, message: &Value, out: &mut Outputs) {
        let id = message["id"].as_str();
        if !self.is_open && id != self.message.as_deref() && self.blocks.iter().all(|b| b.is_whole)
        {
            self.blocks.clear();
            self.message = id.map(str::to_owned);
        }
        let is_same = id.is_none() || id == self.message.as_deref();
        match &message["content"] {
            Value::String(text) => self.whole(StreamedBlockKind::Text, text, is_same, out),
            Value::Array(blocks) => {
                for block in blocks {
                    self.whole_block(block, is_same, out);
                }
            }
            _ => {}
        }
        if !self.is_open {
            self.settle();
        }
    }

    fn whole_block(&mut self, block: &Value, is_same: bool, out: &mut Outputs) {
        let text = |name: &str| block[name].as_str().unwrap_or_default();
        match text("type") {
            "text" => self.whole(StreamedBlockKind::Text, text("text"), is_same, out),
            "thinking" => self.whole(StreamedBlockKind::Thought, text("thinking"), is_same, out),
            kind if kind.ends_with("tool_use") => {
                self.release(out);
                let id = text("id");
                let known = self
                    .blocks
                    .iter_mut()
                    .find(|b| b.kind == StreamedBlockKind::Tool(id.to_owned()));
                match known {
                    Some(known) => known.is_whole = true,
                    None => self.push_whole(StreamedBlockKind::Tool(id.to_owned()), ""),
                }
                self.toolbox.call(block, None, out);
            }
            kind if kind.ends_with("tool_result") => self.toolbox.result(block, &Value::Null, out),
            _ => {}
        }
    }

    fn whole(&mut self, kind: StreamedBlockKind, text: &str, is_same: bool, out: &mut Outputs) {
        let streamed = self.blocks.iter_mut().find(|b| !b.is_whole && b.kind == kind);
        let rest = streamed.and_then(|block| {
            block.is_whole = true;
            let rest = match text.strip_prefix(block.text.as_str()) {
                Some(rest) => rest,
                // Another text in the same message is the same block with other words.
                None if is_same => "",
                None => return None,
            };
            block.text.push_str(split_error(&kind, rest).0);
            Some(rest)
        });
        let rest = rest.unwrap_or_else(|| {
            self.push_whole(kind.clone(), split_error(&kind, text).0);
            text
        });
        self.say(&kind, rest, out);
    }

    fn block_start(&mut self, index: u64, block: &Value, out: &mut Outputs) {
        let (kind, text) = match block["type"].as_str().unwrap_or_default() {
            "text" => (StreamedBlockKind::Text, block["text"].as_str()),
            "thinking" => (StreamedBlockKind::Thought, block["thinking"].as_str()),
            kind if kind.ends_with("tool_use") => {
                self.release(out);
                self.toolbox.begin_call(block, out);
                (StreamedBlockKind::Tool(block["id"].as_str().unwrap_or_default().to_owned()), None)
            }
            kind if kind.ends_with("tool_result") => {
                self.toolbox.result(block, &Value::Null, out);
                (StreamedBlockKind::Other, None)
            }
            _ => (StreamedBlockKind::Other, None),
        };
        let text = text.unwrap_or_default();
        self.push(index, kind.clone(), text, false);
        self.say(&kind, text, out);
    }

    fn delta(&mut self, index: u64, delta: &Value, out: &mut Outputs) -> bool {
        let (kind, text) = match delta["type"].as_str().unwrap_or_default() {
            "text_delta" => (StreamedBlockKind::Text, delta["text"].as_str()),
            "thinking_delta" => (StreamedBlockKind::Thought, delta["thinking"].as_str()),
            // Input comes whole with its block; the rest is not for users.
            "input_json_delta" | "signature_delta" | "citations_delta" => return true,
            _ => return false,
        };
        let text = text.unwrap_or_default();
        let (sound, _) = split_error(&kind, text);
        // The last of the same index: Qwen gives every block the index 0.
        let block = self.blocks.iter_mut().rev().find(|b| b.index == index && b.kind == kind);
        match block {
            Some(block) => {
                block.text.push_str(sound);
                block.is_whole = false;
            }
            None => self.push(index, kind.clone(), sound, false),
        }
        self.say(&kind, text, out);
        true
    }

    /// Appends a block that came whole.
    fn push_whole(&mut self, kind: StreamedBlockKind, text: &str) {
        let index = self.blocks.last().map_or(0, |block| block.index.saturating_add(1));
        self.push(index, kind, text, true);
    }

    fn push(&mut self, index: u64, kind: StreamedBlockKind, text: &str, is_whole: bool) {
        self.blocks.push(StreamedBlock { index, kind, text: text.to_owned(), is_whole });
    }

    fn say(&mut self, kind: &StreamedBlockKind, text: &str, out: &mut Outputs) {
        let (text, error) = split_error(kind, text);
        if !text.is_empty() {
            self.release(out);
            let new = match kind {
                StreamedBlockKind::Text => self.answer.push(text),
                StreamedBlockKind::Thought => self.thought.push(text),
                StreamedBlockKind::Tool(_) | StreamedBlockKind::Other => String::new(),
            };
            self.emit(kind, new, out);
        }
        if !error.is_empty() {
            self.held_text = Some(error.to_owned());
        }
    }

    fn emit(&mut self, kind: &StreamedBlockKind, text: String, out: &mut Outputs) {
        if text.is_empty() {
            return;
        }
        let voice =
            if *kind == StreamedBlockKind::Thought { TextKind::Thought } else { TextKind::Message };
        self.has_text |= voice == TextKind::Message;
        out.text(voice, text, self.message.as_deref());
    }

    /// Expects the texts of these blocks to come again, and ends their calls, which never run.
    fn expect_repetition(&mut self, is_dead: impl Fn(&StreamedBlock) -> bool, out: &mut Outputs) {
        for (kind, voice) in [
            (StreamedBlockKind::Text, &mut self.answer),
            (StreamedBlockKind::Thought, &mut self.thought),
        ] {
            if !voice.is_repeating() {
                let told: String = self
                    .blocks
                    .iter()
                    .filter(|b| b.kind == kind)
                    .map(|b| b.text.as_str())
                    .collect();
                voice.reset();
                voice.push(&told);
            }
            voice.restart();
        }
        for block in self.blocks.iter().filter(|block| is_dead(block)) {
            if let StreamedBlockKind::Tool(id) = &block.kind {
                self.toolbox.drop_call(id, out);
            }
        }
    }

    /// The message is complete.
    fn settle(&mut self) {
        let has_calls =
            self.blocks.iter().any(|block| matches!(block.kind, StreamedBlockKind::Tool(_)));
        self.is_settled =
            !has_calls && self.blocks.iter().any(|block| block.kind == StreamedBlockKind::Text);
    }
}

/// Splits a text into the answer and the error at its end.
fn split_error<'t>(kind: &StreamedBlockKind, text: &'t str) -> (&'t str, &'t str) {
    match text.find(ERROR_IN_TEXT) {
        Some(at) if *kind == StreamedBlockKind::Text && text.trim_end().ends_with(']') => {
            text.split_at(at)
        }
        _ => (text, ""),
    }
}
