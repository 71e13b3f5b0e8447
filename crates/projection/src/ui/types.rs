//! The words of the UI's event stream, as they are written.
//!
//! Types only. `permission_request` and `permission_resolved` are additions; a client that
//! does not know a type ignores it.

use serde::Serialize;
use wire::{Category, Json};

use crate::Usage;

/// One server-sent event.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "event", content = "data", rename_all = "snake_case")]
pub enum UiEvent {
    Start(UiStart),
    Agent(AgentUpdate),
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
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UiStart {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    pub bin: String,
    pub protocol_version: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum AgentUpdate {
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
        #[serde(skip_serializing_if = "Option::is_none")]
        usage: Option<Usage>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cost_usd: Option<f64>,
        #[serde(skip_serializing_if = "Option::is_none")]
        duration_ms: Option<u64>,
        #[serde(skip_serializing_if = "Option::is_none")]
        stop_reason: Option<String>,
    },
    ConversationTitle {
        title: String,
    },
    /// The agent asks; `toolCall` is as the agent sent it.
    PermissionRequest {
        request_id: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        tool_use_id: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        title: Option<String>,
        options: Vec<UiOption>,
        #[serde(skip_serializing_if = "Option::is_none")]
        tool_call: Option<Json>,
    },
    PermissionResolved {
        request_id: String,
        outcome: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        option_id: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        kind: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        by: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        detail: Option<String>,
    },
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UiStatus {
    pub label: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttft_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elapsed_ms: Option<u64>,
}

impl UiStatus {
    pub(super) fn labelled(label: &str) -> Self {
        Self { label: label.to_owned(), ..Self::default() }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UiOption {
    pub option_id: String,
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct UiError {
    pub message: String,
    pub error: UiErrorDetail,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct UiErrorDetail {
    /// Our error category.
    pub code: Category,
    pub message: String,
    /// What the user can do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details: Option<String>,
    pub retryable: bool,
}

/// A turn has ended. `code` is what a process would have exited with; none if cancelled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UiEnd {
    pub code: Option<i32>,
    pub status: EndStatus,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure_category: Option<Category>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure_detail: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum EndStatus {
    Succeeded,
    Failed,
    Canceled,
}
