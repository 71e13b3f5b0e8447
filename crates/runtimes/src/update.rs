//! ACP's `session/update`, as far as dialects need it.
//!
//! Typed for writing only: members that a CLI does not set are left out of the JSON.

use std::path::Path;

use serde::Serialize;
use serde_json::Value;
use serde_with::skip_serializing_none;
pub use wire::ToolKind;

/// The `update` member of a `session/update`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "sessionUpdate", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum SessionUpdate {
    AgentMessageChunk {
        content: ContentBlock,
        message_id: Option<String>,
    },
    AgentThoughtChunk {
        content: ContentBlock,
        message_id: Option<String>,
    },
    /// The start of a tool call; once for each call.
    ToolCall(ToolCall),
    ToolCallUpdate(ToolCall),
    Plan {
        entries: Vec<PlanEntry>,
    },
    AvailableCommandsUpdate {
        available_commands: Vec<AvailableCommand>,
    },
    CurrentModeUpdate {
        current_mode_id: String,
    },
    ConfigOptionUpdate {
        config_options: Value,
    },
    SessionInfoUpdate {
        title: Option<String>,
        #[serde(rename = "_meta")]
        meta: Option<Value>,
    },
    UsageUpdate {
        used: u64,
        size: u64,
        cost: Option<Cost>,
    },
    /// Something about the run itself: a retry, a warning, a change of model.
    Notice {
        severity: NoticeSeverity,
        title: String,
        description: Option<String>,
    },
    /// The CLI makes room in the model's context.
    CompactionUpdate {
        compaction_id: String,
        status: CompactionStatus,
        error: Option<String>,
    },
}

impl SessionUpdate {
    pub fn notice(severity: NoticeSeverity, title: impl Into<String>) -> Self {
        Self::Notice { severity, title: title.into(), description: None }
    }
}

/// The kind of a text from the model: an answer to the user, or a thought.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TextKind {
    Message,
    Thought,
}

/// ACP's content block.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum ContentBlock {
    Text { text: String },
    Image { data: String, mime_type: String },
}

impl ContentBlock {
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }
}

/// A tool call or a change of one; in a change, absent members stay as they were.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolCall {
    #[serde(rename = "toolCallId")]
    pub id: String,
    pub title: Option<String>,
    /// The CLI's own name of the tool.
    pub name: Option<String>,
    pub kind: Option<ToolKind>,
    pub status: Option<ToolCallStatus>,
    /// Replaces all content sent before.
    pub content: Option<Vec<ToolCallContent>>,
    pub locations: Option<Vec<ToolCallLocation>>,
    pub raw_input: Option<Value>,
    pub raw_output: Option<Value>,
    #[serde(rename = "_meta")]
    pub meta: Option<Value>,
}

impl ToolCall {
    /// A call with kind, name and title; its id and status are still to be set.
    pub fn of(kind: ToolKind, name: impl Into<String>, title: impl Into<String>) -> Self {
        let (name, title) = (Some(name.into()), Some(title.into()));
        Self { kind: Some(kind), name, title, ..Self::default() }
    }

    /// ACP's paths are absolute; models name files as they like.
    pub fn make_absolute(&mut self, cwd: &Path) {
        let absolute = |path: &mut String| {
            if !path.is_empty() && !Path::new(&*path).is_absolute() {
                *path = cwd.join(&*path).to_string_lossy().into_owned();
            }
        };
        self.locations.iter_mut().flatten().for_each(|location| absolute(&mut location.path));
        for content in self.content.iter_mut().flatten() {
            if let ToolCallContent::Diff { path, .. } = content {
                absolute(path);
            }
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolCallStatus {
    Pending,
    InProgress,
    Completed,
    Failed,
}

impl ToolCallStatus {
    pub fn of_end(has_failed: bool) -> Self {
        if has_failed { Self::Failed } else { Self::Completed }
    }

    pub fn is_final(self) -> bool {
        matches!(self, Self::Completed | Self::Failed)
    }
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum ToolCallContent {
    Content {
        content: ContentBlock,
    },
    /// A change to a file; `old_text` is absent for a new file.
    Diff {
        path: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        old_text: Option<String>,
        new_text: String,
    },
}

impl ToolCallContent {
    pub fn text(text: impl Into<String>) -> Self {
        Self::Content { content: ContentBlock::text(text) }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ToolCallLocation {
    pub path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PlanEntry {
    pub content: String,
    pub priority: PlanEntryPriority,
    pub status: PlanEntryStatus,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanEntryPriority {
    High,
    Medium,
    Low,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanEntryStatus {
    Pending,
    InProgress,
    Completed,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AvailableCommand {
    pub name: String,
    pub description: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<AvailableCommandInput>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AvailableCommandInput {
    pub hint: String,
}

/// Cost of the session so far.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Cost {
    pub amount: f64,
    pub currency: String,
}

impl Cost {
    pub fn usd(amount: f64) -> Self {
        Self { amount, currency: "USD".to_owned() }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum NoticeSeverity {
    Info,
    Warning,
    Error,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CompactionStatus {
    InProgress,
    Completed,
    Failed,
    Cancelled,
}
