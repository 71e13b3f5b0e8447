//! Requests to a model and its answers.
//!
//! Plain values without a wire format: a provider puts them into its requests and makes them
//! from its answers.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One message of the conversation that is sent to a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case")]
pub enum ChatMessage {
    System {
        text: String,
    },
    User {
        parts: Vec<MessagePart>,
    },
    Assistant {
        #[serde(default, skip_serializing_if = "String::is_empty")]
        text: String,
        /// Some endpoints want it back with the tool calls that followed from it.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        thought: String,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        calls: Vec<ModelToolCall>,
    },
    /// The result of a call.
    Tool {
        call: String,
        parts: Vec<MessagePart>,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum MessagePart {
    Text {
        text: String,
    },
    /// An image in base64, as it came.
    Image {
        mime: String,
        data: String,
    },
}

impl MessagePart {
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }
}

/// The parts as text; images are only named.
pub fn parts_as_text<'a>(parts: impl IntoIterator<Item = &'a MessagePart>) -> String {
    let texts = parts.into_iter().map(|part| match part {
        MessagePart::Text { text } => text.clone(),
        MessagePart::Image { mime, .. } => format!("[Image: {mime}]"),
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// Adds parts to the user's last message: some endpoints refuse two messages of theirs in a row.
pub fn push_user(messages: &mut Vec<ChatMessage>, mut more: Vec<MessagePart>) {
    match messages.last_mut() {
        Some(ChatMessage::User { parts }) => parts.append(&mut more),
        _ => messages.push(ChatMessage::User { parts: more }),
    }
}

/// A tool call that a model asks for.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ModelToolCall {
    /// The model's own id; ours if it gave none.
    pub id: String,
    pub name: String,
    /// The arguments as the model wrote them: JSON if all went well.
    pub arguments: String,
}

/// A tool as it is described to a model.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSpec {
    pub name: String,
    pub description: String,
    /// A JSON schema of its arguments.
    pub parameters: Value,
}

/// Everything that one request to a model needs.
#[derive(Debug, Clone, Default)]
pub struct ChatRequest {
    pub model: String,
    pub messages: Vec<ChatMessage>,
    pub tools: Vec<ToolSpec>,
    /// Calls and results of the conversation are sent as text, to a model without tools.
    pub calls_as_text: bool,
    /// `low`, `medium`, `high` …: only sent when somebody chose it.
    pub effort: Option<String>,
}

/// A piece of an answer, in the order in which it comes.
#[derive(Debug, Clone, PartialEq)]
pub enum Delta {
    Text(String),
    Thought(String),
    /// A fragment of the call at `index`; calls may come interleaved.
    Call {
        index: usize,
        id: Option<String>,
        name: Option<String>,
        arguments: String,
    },
    Usage(TokenUsage),
    Finish(FinishReason),
    /// The endpoint does not take tools with this model, and said so in these words. Nothing more
    /// comes: whoever asked decides what to ask without them.
    ToolsRefused {
        why: String,
    },
    /// Nothing has come yet, and we try again after a while.
    Retrying {
        attempt: u32,
        wait: std::time::Duration,
        why: String,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TokenUsage {
    pub input: u64,
    pub output: u64,
    #[serde(default)]
    pub thought: u64,
    #[serde(default)]
    pub cached: u64,
    /// The cost in billionths of a US dollar, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nano_usd: Option<u64>,
}

impl TokenUsage {
    /// Tokens of input and output together. Saturates: the numbers of endpoints need not fit.
    pub fn total(self) -> u64 {
        self.input.saturating_add(self.output)
    }
}

impl std::ops::AddAssign for TokenUsage {
    fn add_assign(&mut self, other: Self) {
        self.input = self.input.saturating_add(other.input);
        self.output = self.output.saturating_add(other.output);
        self.thought = self.thought.saturating_add(other.thought);
        self.cached = self.cached.saturating_add(other.cached);
        self.nano_usd = match (self.nano_usd, other.nano_usd) {
            (Some(before), Some(more)) => Some(before.saturating_add(more)),
            (before, more) => before.or(more),
        };
    }
}

/// Why a model stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FinishReason {
    Stop,
    /// It wants its tools to be run.
    Calls,
    /// It ran into its limit of tokens.
    Length,
    /// The provider's content filter stopped it.
    Filtered,
}
