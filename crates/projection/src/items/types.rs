//! The serialized types of a conversation, for a client that shows it.
//!
//! Types only. What an agent sent is in them as it came.

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use utoipa::ToSchema;
use wire::event::{DecidedBy, Limit, RulePlace};
use wire::{Category, Json};

use crate::calls::{CallLocation, CallStatus};
use crate::notice::NoticeTone;
use crate::plan::PlanStep;
use crate::usage::{ConversationUsage, TurnUsage};

/// The changes that an event of the log makes; sent for every event, so that none can be missed.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConversationChanges {
    /// Number of the event.
    pub seq: u64,
    /// Milliseconds since the Unix epoch.
    pub time: i64,
    /// The changes, in the order in which they apply; often none.
    pub changes: Vec<ConversationChange>,
}

/// A change of a conversation.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum ConversationChange {
    /// A new item, below all others.
    Item { item: ConversationItem },
    /// Members of a tool call that have changed.
    Tool { key: String, tool: Box<ToolItem> },
    /// The new state of an item: a prompt, the plan or a question.
    Replace { item: ConversationItem },
    /// More text of an answer, a thought, the output of a call, or of a notice's `more`.
    Append { key: String, text: String },
    /// A command that Switchyard runs has printed something or ended.
    Terminal(TerminalChange),
    /// The process that ran the commands is gone: no end will be reported of those that have none.
    TerminalsLost {},
    /// A change of the state beside the items.
    State(ConversationState),
}

/// New output of a terminal, or how its command ended.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TerminalChange {
    pub id: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub text: String,
    #[schema(nullable = false)]
    pub exit: Option<CommandExit>,
    /// The log has less than was printed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_truncated: bool,
    /// Nobody knows how its command ended.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_lost: bool,
}

/// One item of the conversation.
#[skip_serializing_none]
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConversationItem {
    /// Stays the same for as long as the item is there.
    pub key: String,
    /// Number of the event that began it.
    pub seq: u64,
    /// When it began, in milliseconds since the Unix epoch.
    pub time: i64,
    #[schema(nullable = false)]
    pub turn: Option<String>,
    #[serde(flatten)]
    pub part: ConversationPart,
}

#[skip_serializing_none]
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum ConversationPart {
    Prompt {
        /// Who sent the prompt; absent where the agent sends it for the user.
        #[schema(nullable = false)]
        by: Option<String>,
        #[schema(value_type = Vec<Object>)]
        blocks: Vec<Json>,
    },
    Answer {
        text: String,
    },
    Thought {
        text: String,
    },
    /// A content block of the answer that is not text.
    Content {
        #[schema(value_type = Object)]
        block: Json,
    },
    Tool(Box<ToolItem>),
    Plan {
        entries: Vec<PlanStep>,
    },
    Question(Box<QuestionItem>),
    Notice(NoticeItem),
    End(Box<EndItem>),
}

/// A tool call, or its members that have changed: absent members are as before.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolItem {
    /// The agent's own id of it.
    #[schema(nullable = false)]
    pub id: Option<String>,
    #[schema(nullable = false)]
    pub title: Option<String>,
    #[schema(nullable = false)]
    pub kind: Option<String>,
    #[schema(nullable = false)]
    pub status: Option<CallStatus>,
    /// As the agent sent it.
    #[schema(value_type = Option<Object>, nullable = false)]
    pub input: Option<Json>,
    /// As the agent sent it.
    #[schema(value_type = Option<Object>, nullable = false)]
    pub output: Option<Json>,
    /// As the agent sent it.
    #[schema(value_type = Option<Vec<Object>>, nullable = false)]
    pub content: Option<Json>,
    #[schema(nullable = false)]
    pub locations: Option<Vec<CallLocation>>,
    /// The call that this one is a part of, such as that of a sub-agent.
    #[schema(nullable = false)]
    pub parent: Option<String>,
    /// How its command failed, if it ran one that did: `failed with exit code 2`.
    #[schema(nullable = false)]
    pub failure: Option<String>,
    /// How a terminal of the agent's own ended, where the agent reports it with the call.
    #[schema(nullable = false)]
    pub exit: Option<CommandExit>,
    /// A permission question about it is open, and shows what it would do.
    #[schema(nullable = false)]
    pub is_asked: Option<bool>,
    /// For how long it has waited for a person, in milliseconds.
    #[schema(nullable = false)]
    pub waited_ms: Option<u64>,
    /// When it ended, in milliseconds since the Unix epoch.
    #[schema(nullable = false)]
    pub until: Option<i64>,
}

/// How a command ended.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CommandExit {
    #[schema(nullable = false)]
    pub code: Option<i64>,
    #[schema(nullable = false)]
    pub signal: Option<String>,
}

/// A question of the agent, or of Switchyard where a limit is reached.
#[skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct QuestionItem {
    pub request_id: String,
    pub form: QuestionForm,
    /// False where a rule or the mode decides.
    pub is_for_person: bool,
    #[schema(nullable = false)]
    pub limit: Option<Limit>,
    pub title: String,
    /// As the agent sent it.
    #[schema(value_type = Object)]
    pub request: Json,
    pub options: Vec<QuestionOption>,
    #[schema(nullable = false)]
    pub tool_call_id: Option<String>,
    #[schema(nullable = false)]
    pub resolution: Option<Resolution>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum QuestionForm {
    /// One of the options is to be chosen.
    Permission,
    /// A form is to be filled in.
    Elicitation,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct QuestionOption {
    pub option_id: String,
    pub name: String,
    pub kind: String,
}

/// How a question was answered.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Resolution {
    pub who: DecidedBy,
    #[schema(nullable = false)]
    pub detail: Option<String>,
    #[schema(nullable = false)]
    pub rule: Option<RulePlace>,
    #[schema(nullable = false)]
    pub allowed: Option<bool>,
    /// The chosen option, by its name where it has one.
    #[schema(nullable = false)]
    pub choice: Option<String>,
    /// The answer to a form.
    #[schema(value_type = Option<Object>, nullable = false)]
    pub response: Option<Json>,
    #[schema(nullable = false)]
    pub waited_ms: Option<u64>,
}

/// A remark beside the conversation.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NoticeItem {
    pub tone: NoticeTone,
    pub title: String,
    #[schema(nullable = false)]
    pub detail: Option<String>,
    /// The person or client that did it, as the log names them.
    #[schema(nullable = false)]
    pub by: Option<String>,
    /// Long or technical details.
    #[schema(nullable = false)]
    pub more: Option<String>,
    /// The text of a prompt that the agent never got.
    #[schema(nullable = false)]
    pub words: Option<String>,
}

/// How a turn ended.
#[skip_serializing_none]
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct EndItem {
    /// `lost` where the log has no end of the turn.
    pub stop_reason: String,
    #[schema(value_type = Option<Object>, nullable = false)]
    pub usage: Option<TurnUsage>,
    /// Of the turn's requests to the model only the last is counted.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_usage_partial: bool,
    #[schema(nullable = false)]
    pub cost_usd: Option<f64>,
    #[schema(nullable = false)]
    pub took_ms: Option<u64>,
    #[schema(nullable = false)]
    pub error: Option<EndError>,
}

#[skip_serializing_none]
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct EndError {
    pub category: Category,
    pub message: String,
    #[schema(nullable = false)]
    pub remedy: Option<String>,
    /// The end of the answer already says the same.
    pub is_said: bool,
}

/// State beside the items. Absent members are as before.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConversationState {
    /// The turn that runs; null when it has ended.
    pub running: Option<Option<RunningTurn>>,
    /// Prompts whose turns have not begun, the next one first.
    #[schema(nullable = false)]
    pub queue: Option<Vec<QueuedPrompt>>,
    /// The slash commands of the agent.
    #[schema(nullable = false)]
    pub commands: Option<Vec<SlashCommand>>,
    #[schema(nullable = false)]
    pub title: Option<String>,
    #[schema(nullable = false)]
    pub usage: Option<ConversationUsage>,
    /// The agent's settings, or the values it offers for them, have changed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub has_new_settings: bool,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunningTurn {
    pub turn: String,
    /// Since when, in milliseconds since the Unix epoch.
    pub since: i64,
    pub is_cancelling: bool,
}

/// A prompt whose turn has not begun.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct QueuedPrompt {
    pub turn: String,
    pub by: String,
    pub time: i64,
    pub seq: u64,
    #[schema(value_type = Vec<Object>)]
    pub blocks: Vec<Json>,
}

#[skip_serializing_none]
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SlashCommand {
    pub name: String,
    pub description: String,
    #[schema(nullable = false)]
    pub hint: Option<String>,
}
