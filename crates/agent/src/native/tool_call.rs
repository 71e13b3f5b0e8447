//! One call of a tool: what it would do, what it needs for that, and what it gave.
//!
//! Plain values, which know neither tools nor sessions: a client is shown them, a person is asked
//! about them.

use std::path::PathBuf;

use futures_util::future::BoxFuture;
use serde_json::{Value, json};

use super::chat::MessagePart;

pub use wire::ToolKind;

/// A call that can be run.
pub struct PreparedCall {
    pub shown: CallDescription,
    pub need: CallNeed,
    /// Runs when the need is met. Dropping it early undoes nothing and leaves nothing running.
    pub work: BoxFuture<'static, Result<ToolOutput, ToolError>>,
}

impl PreparedCall {
    /// A call that anybody may make, and of which no more than its title is shown.
    pub(super) fn free(
        title: impl Into<String>,
        work: impl Future<Output = Result<ToolOutput, ToolError>> + Send + 'static,
    ) -> Self {
        let shown = CallDescription { title: title.into(), ..CallDescription::default() };
        Self { shown, need: CallNeed::Nothing, work: Box::pin(work) }
    }
}

impl std::fmt::Debug for PreparedCall {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Prepared")
            .field("shown", &self.shown)
            .field("need", &self.need)
            .finish_non_exhaustive()
    }
}

/// The description of a call for people.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CallDescription {
    /// The kind of this call, where the tool has calls of several kinds.
    pub kind: Option<ToolKind>,
    pub title: String,
    pub locations: Vec<Location>,
    /// A diff of what would be changed, the command that would be run.
    pub content: Vec<CallContent>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Location {
    pub path: PathBuf,
    /// Counted from 1.
    pub line: Option<u32>,
}

/// Content of a tool call, as ACP has it.
#[derive(Debug, Clone, PartialEq)]
pub enum CallContent {
    Text(String),
    Image {
        mime: String,
        data: String,
    },
    Diff {
        path: PathBuf,
        old: Option<String>,
        new: String,
    },
    /// A terminal of the client.
    Terminal(String),
}

/// The permission that a call needs before it runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallNeed {
    /// It only looks, and only inside the session's roots.
    Nothing,
    /// Somebody has to allow it. `key` names what *always* would mean: calls with the same key
    /// are not asked about again in this session (`edit`, `execute:cargo test`, `fetch:host`).
    Permission { key: String },
}

/// The result of a call.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ToolOutput {
    /// For the model.
    pub parts: Vec<MessagePart>,
    /// For people; what was shown before stays when this is empty.
    pub content: Vec<CallContent>,
    pub locations: Vec<Location>,
    /// For programs, with members of their own (`rawOutput`).
    pub raw: Option<Value>,
    /// A better title than the one before, if there is one.
    pub title: Option<String>,
}

impl Location {
    pub(super) fn of(place: &roots::ResolvedPath, line: Option<u32>) -> Self {
        Self { path: place.path().to_owned(), line }
    }

    fn to_acp(&self) -> Value {
        match self.line {
            Some(line) => json!({ "path": self.path, "line": line }),
            None => json!({ "path": self.path }),
        }
    }
}

impl CallContent {
    fn to_acp(&self) -> Value {
        match self {
            Self::Text(text) => {
                json!({ "type": "content", "content": { "type": "text", "text": text } })
            }
            Self::Image { mime, data } => {
                let image = json!({ "type": "image", "mimeType": mime, "data": data });
                json!({ "type": "content", "content": image })
            }
            Self::Diff { path, old, new } => {
                json!({ "type": "diff", "path": path, "oldText": old, "newText": new })
            }
            Self::Terminal(id) => json!({ "type": "terminal", "terminalId": id }),
        }
    }
}

/// Sets content and locations of a tool call as clients know it; empty ones leave what was there
/// before.
pub(super) fn set_shown(shown: &mut Value, content: &[CallContent], locations: &[Location]) {
    if !content.is_empty() {
        shown["content"] = content.iter().map(CallContent::to_acp).collect();
    }
    if !locations.is_empty() {
        shown["locations"] = locations.iter().map(Location::to_acp).collect();
    }
}

impl ToolOutput {
    pub fn text(text: impl Into<String>) -> Self {
        Self { parts: vec![MessagePart::text(text)], ..Self::default() }
    }
}

/// An error for the model, which may try something else.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ToolError(pub String);

impl ToolError {
    pub fn new(why: impl std::fmt::Display) -> Self {
        Self(why.to_string())
    }
}
