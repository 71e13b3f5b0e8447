//! What is written beside a session and a prompt, so that they are found again as a
//! conversation and a run.
//!
//! Both are in `_meta` of ACP's own requests: of the `session/new`, from where the session's
//! record has it, and of the prompt in the log.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sessions::details::Details;
use sessions::permission::Mode;
use store::SessionRecord;
use wire::Json;
use wire::event::PromptReceived;

/// Which conversation a session is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ConversationNote {
    pub(super) conversation_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) project_id: Option<String>,
}

/// What a run was asked for with, beside the words.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RunNote {
    pub(super) conversation_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) project_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) client_request_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) user_message_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) assistant_message_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) model: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) reasoning: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) session_mode: Option<String>,
    /// What the agent may do, as far as it is the session's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) permissions: Option<Mode>,
    /// What was asked for and cannot be had.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) warnings: Vec<String>,
}

#[derive(Deserialize)]
struct Meta {
    switchyard: OfPrompt,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct OfSession {
    open_design: ConversationNote,
}

#[derive(Deserialize)]
struct OfPrompt {
    run: RunNote,
}

impl ConversationNote {
    pub(super) fn read(record: &SessionRecord) -> Option<Self> {
        Some(Details::read(record).note()?.read::<OfSession>().ok()?.open_design)
    }

    pub(super) fn to_note(&self) -> Json {
        Json::of(&json!({ "openDesign": self }))
    }
}

impl RunNote {
    /// Of a prompt that is a run; others have none.
    pub(super) fn read(received: &PromptReceived<'_>) -> Option<Self> {
        Some(received.meta?.read::<Meta>().ok()?.switchyard.run)
    }

    /// `_meta` of a `session/prompt`.
    pub(super) fn to_meta(&self) -> Value {
        json!({ "switchyard": { "run": self } })
    }
}
