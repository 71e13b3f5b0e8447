//! The serialized types of the UI's event stream.
//!
//! Types only. `permission_request` and `permission_resolved` are additions; a client that
//! does not know a type ignores it.

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use wire::{Category, Json};

use crate::TurnUsage;

/// One server-sent event.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "event", content = "data", rename_all = "snake_case")]
pub enum UiEvent {
    Start(UiStart),
    Agent(UiAgentUpdate),
    Stderr { chunk: String },
    Error(UiError),
    End(UiEnd),
}

impl UiEvent {
    /// For the `event:` line.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Start(_) => "start",
            Self::Agent(_) => "agent",
            Self::Stderr { .. } => "stderr",
            Self::Error(_) => "error",
            Self::End(_) => "end",
        }
    }

    /// For the `data:` line.
    pub fn data(&self) -> Json {
        match self {
            Self::Start(start) => Json::of(start),
            Self::Agent(update) => Json::of(update),
            Self::Stderr { chunk } => Json::of(&serde_json::json!({ "chunk": chunk })),
            Self::Error(error) => Json::of(error),
            Self::End(end) => Json::of(end),
        }
    }
}

/// A turn starts.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UiStart {
    pub run_id: Option<String>,
    pub agent_id: Option<String>,
    pub bin: String,
    pub protocol_version: u32,
    pub cwd: Option<String>,
    pub model: Option<String>,
}

#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum UiAgentUpdate {
    Status(UiStatus),
    TextDelta {
        delta: String,
    },
    ThinkingStart {},
    ThinkingDelta {
        delta: String,
    },
    ThinkingEnd {},
    ToolUse {
        id: String,
        name: String,
        input: Json,
        started_at: i64,
    },
    ToolResult {
        tool_use_id: String,
        content: String,
        is_error: bool,
    },
    Usage {
        usage: Option<TurnUsage>,
        cost_usd: Option<f64>,
        duration_ms: Option<u64>,
        stop_reason: Option<String>,
    },
    ConversationTitle {
        title: String,
    },
    /// The agent asks for permission; `toolCall` is as the agent sent it.
    PermissionRequest {
        request_id: String,
        tool_use_id: Option<String>,
        title: Option<String>,
        options: Vec<UiOption>,
        tool_call: Option<Json>,
    },
    PermissionResolved {
        request_id: String,
        outcome: String,
        option_id: Option<String>,
        kind: Option<String>,
        by: Option<String>,
        detail: Option<String>,
    },
}

#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UiStatus {
    pub label: String,
    pub model: Option<String>,
    pub ttft_ms: Option<u64>,
    pub detail: Option<String>,
    pub elapsed_ms: Option<u64>,
}

impl UiStatus {
    pub(super) fn labelled(label: &str) -> Self {
        Self { label: label.to_owned(), ..Self::default() }
    }
}

#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UiOption {
    pub option_id: String,
    pub name: String,
    pub kind: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct UiError {
    pub message: String,
    pub error: UiErrorDetail,
}

#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct UiErrorDetail {
    /// Our error category.
    pub code: Category,
    pub message: String,
    /// What the user can do about it.
    pub details: Option<String>,
    pub retryable: bool,
}

/// A turn has ended. `code` is what a process would have exited with; none if cancelled.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UiEnd {
    #[serialize_always]
    pub code: Option<i32>,
    pub status: UiEndStatus,
    pub stop_reason: Option<String>,
    pub failure_category: Option<Category>,
    pub failure_detail: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum UiEndStatus {
    Succeeded,
    Failed,
    Canceled,
}
