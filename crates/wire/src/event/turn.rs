//! Prompts, and the turns that they begin.

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use utoipa::ToSchema;

use crate::string_enum::string_enum;
use crate::{Category, Fault, RawJson};

/// A prompt was accepted; it may have to wait for its turn.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PromptReceived<'a> {
    /// The client that sent it.
    #[serde(default)]
    #[schema(required = true)]
    pub by: String,
    /// ACP's content blocks.
    #[serde(borrow)]
    #[schema(value_type = Value)]
    pub prompt: RawJson<'a>,
    #[serde(borrow, rename = "_meta")]
    #[schema(nullable = false, value_type = Option<Value>)]
    pub meta: Option<RawJson<'a>>,
    /// The client's own id of the request: a prompt that is sent again under it is not run twice.
    #[schema(nullable = false)]
    pub client_request_id: Option<String>,
}

/// A prompt that waited was dropped, and its turn never begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PromptDropped {
    #[serde(default)]
    #[schema(required = true)]
    pub reason: DropReason,
}

string_enum! {
    pub enum DropReason else Unknown {
        /// Somebody stopped the session, and with it all that waited.
        Cancelled = "cancelled",
        /// Somebody took this one back.
        Dropped = "dropped",
        /// The session had reached a limit, and nobody let it go on.
        Limit = "limit",
        /// Switchyard ended before its turn; in logs of earlier versions, which did not keep it.
        Interrupted = "interrupted",
        /// A word of a newer version.
        Unknown = "unknown",
    }
}

/// The prompt goes to the agent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TurnStarted {}

/// The one end of a turn.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct TurnEnded<'a> {
    /// ACP's stop reason, the agent's own, or `error`.
    #[schema(required = true, value_type = String)]
    pub stop_reason: StopReason,
    #[schema(nullable = false)]
    pub error: Option<Fault>,
    /// The tokens of this turn; see [agents](agents.md#tokens-and-cost).
    #[serde(borrow)]
    #[schema(value_type = Option<Value>, nullable = false)]
    pub usage: Option<RawJson<'a>>,
    /// What `usage` counts, if it is not the whole turn.
    #[schema(nullable = false)]
    pub usage_of: Option<UsageScope>,
    /// What this turn has cost, in US dollars.
    #[schema(nullable = false)]
    pub cost_usd: Option<f64>,
    /// The agent's answer to `session/prompt`.
    #[serde(borrow)]
    #[schema(value_type = Option<Value>, nullable = false)]
    pub result: Option<RawJson<'a>>,
    /// The error that was the agent's answer.
    #[serde(borrow)]
    #[schema(value_type = Option<Value>, nullable = false)]
    pub agent_error: Option<RawJson<'a>>,
}

impl TurnEnded<'_> {
    pub fn of(stop_reason: StopReason) -> Self {
        Self { stop_reason, ..Self::default() }
    }

    pub fn failed(fault: Fault) -> Self {
        Self { error: Some(fault), ..Self::of(StopReason::Error) }
    }

    /// Whether it was left open, because Switchyard ended or could not log it, and closed later.
    pub fn was_interrupted(&self) -> bool {
        self.error.as_ref().is_some_and(|fault| fault.category == Category::Interrupted)
    }

    /// How the turn went, whatever its stop reason is called.
    pub fn outcome(&self) -> TurnOutcome {
        match self.stop_reason {
            StopReason::Cancelled => TurnOutcome::Cancelled,
            StopReason::Error => TurnOutcome::Failed,
            _ if self.error.is_some() => TurnOutcome::Failed,
            _ => TurnOutcome::Completed,
        }
    }
}

/// The outcome of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnOutcome {
    Completed,
    Failed,
    Cancelled,
}

/// Why a turn ended: ACP's reasons, ours for a turn that failed, or the agent's own word.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum StopReason {
    #[default]
    EndTurn,
    MaxTokens,
    MaxTurnRequests,
    Refusal,
    Cancelled,
    Error,
    Other(String),
}

impl StopReason {
    pub fn as_str(&self) -> &str {
        match self {
            Self::EndTurn => "end_turn",
            Self::MaxTokens => "max_tokens",
            Self::MaxTurnRequests => "max_turn_requests",
            Self::Refusal => "refusal",
            Self::Cancelled => "cancelled",
            Self::Error => "error",
            Self::Other(word) => word,
        }
    }
}

impl From<String> for StopReason {
    fn from(word: String) -> Self {
        match word.as_str() {
            "end_turn" => Self::EndTurn,
            "max_tokens" => Self::MaxTokens,
            "max_turn_requests" => Self::MaxTurnRequests,
            "refusal" => Self::Refusal,
            "cancelled" | "canceled" => Self::Cancelled,
            "error" => Self::Error,
            _ => Self::Other(word),
        }
    }
}

impl From<StopReason> for String {
    fn from(reason: StopReason) -> Self {
        match reason {
            StopReason::Other(word) => word,
            reason => reason.as_str().to_owned(),
        }
    }
}

string_enum! {
    /// The scope of an agent's count of tokens.
    pub enum UsageScope else Unknown {
        /// The turn's last request to the model only.
        LastCall = "last_call",
        /// A word of a newer version.
        Unknown = "unknown",
    }
}

/// Somebody asked for the turn to stop.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CancelRequested {
    #[serde(default)]
    #[schema(required = true)]
    pub by: String,
}

/// One rung of the ladder from asking the agent to killing it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CancelStep {
    pub step: CancelRung,
}

string_enum! {
    pub enum CancelRung else Unknown {
        /// `session/cancel` was sent.
        Notified = "notified",
        /// Open questions were withdrawn.
        PermissionsCancelled = "permissions_cancelled",
        /// The agent's stdin was closed.
        Eof = "eof",
        /// SIGTERM to the agent and all that it started.
        Terminate = "terminate",
        /// SIGKILL to the agent and all that it started.
        Kill = "kill",
        /// A word of a newer version.
        Unknown = "unknown",
    }
}
