//! The words of the session protocol, as they are written.
//!
//! Types only. Members that the protocol does not have (`stopReason`) are additions that
//! its readers ignore.

use serde::Serialize;
use wire::{CallId, Json, TurnId};

use crate::Usage;
use wire::event::Outcome;

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Envelope {
    pub id: CallId,
    /// Milliseconds since the epoch; never less than in the envelope before.
    pub time: i64,
    pub role: Role,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn: Option<TurnId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<EnvelopeUsage>,
    /// Who says or does it, where that is a sub-agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subagent: Option<CallId>,
    pub ev: Ev,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    User,
    Agent,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "t", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum Ev {
    TurnStart {},
    /// A sub-agent begins to work.
    Start {
        #[serde(skip_serializing_if = "Option::is_none")]
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
    File {
        #[serde(rename = "ref")]
        reference: String,
        name: String,
        size: u64,
        #[serde(skip_serializing_if = "Option::is_none")]
        mime_type: Option<String>,
    },
    TurnEnd {
        status: TurnStatus,
        /// ACP's own word for why the turn ended.
        #[serde(skip_serializing_if = "Option::is_none")]
        stop_reason: Option<String>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TurnStatus {
    Completed,
    Failed,
    Cancelled,
}

impl From<Outcome> for TurnStatus {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Completed => Self::Completed,
            Outcome::Failed => Self::Failed,
            Outcome::Cancelled => Self::Cancelled,
        }
    }
}

/// The tokens of a turn, on its `turn-end`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EnvelopeUsage {
    pub input_tokens: u64,
    pub output_tokens: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_creation_input_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_read_input_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_window: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thought_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_tokens: Option<u64>,
}

impl EnvelopeUsage {
    pub(super) fn of(usage: &Usage, context_window: Option<u64>) -> Self {
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
