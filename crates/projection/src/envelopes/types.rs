//! The serialized types of the session protocol.
//!
//! Types only. Members that the protocol does not have (`stopReason`) are additions that
//! its readers ignore.

use serde::Serialize;
use serde_with::skip_serializing_none;
use wire::{CallId, Json, TurnId};

use crate::{FileContent, TurnUsage};
use wire::event::TurnOutcome;

#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Envelope {
    pub id: CallId,
    /// Milliseconds since the epoch; never less than in the envelope before.
    pub time: i64,
    pub role: EnvelopeSender,
    pub turn: Option<TurnId>,
    pub usage: Option<EnvelopeUsage>,
    /// The sub-agent that sends this, where one does.
    pub subagent: Option<CallId>,
    pub ev: EnvelopeEvent,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum EnvelopeSender {
    User,
    Agent,
}

#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "t", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum EnvelopeEvent {
    TurnStart {},
    /// A sub-agent begins to work.
    Start {
        title: Option<String>,
    },
    /// A sub-agent is done.
    Stop {},
    Text {
        text: String,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        thinking: bool,
    },
    /// A remark that is not the agent's own words.
    Service {
        text: String,
    },
    ToolCallStart {
        call: CallId,
        name: String,
        title: String,
        description: String,
        args: Json,
    },
    ToolCallEnd {
        call: CallId,
    },
    File(FileContent),
    TurnEnd {
        status: TurnOutcome,
        /// ACP's own word for why the turn ended.
        stop_reason: Option<String>,
    },
}

/// The tokens of a turn, on its `turn-end`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EnvelopeUsage {
    pub input_tokens: u64,
    pub output_tokens: u64,
    pub cache_creation_input_tokens: Option<u64>,
    pub cache_read_input_tokens: Option<u64>,
    pub context_window: Option<u64>,
    pub thought_tokens: Option<u64>,
    pub total_tokens: Option<u64>,
}

impl EnvelopeUsage {
    pub(super) fn of(usage: &TurnUsage, context_window: Option<u64>) -> Self {
        Self {
            // The protocol requires both.
            input_tokens: usage.input_tokens.unwrap_or_default(),
            output_tokens: usage.output_tokens.unwrap_or_default(),
            cache_creation_input_tokens: usage.cached_write_tokens,
            cache_read_input_tokens: usage.cached_read_tokens,
            context_window,
            thought_tokens: usage.thought_tokens,
            total_tokens: usage.total_tokens,
        }
    }
}
