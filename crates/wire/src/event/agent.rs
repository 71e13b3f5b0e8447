//! Events about the agent's process, its terminals, and its messages beside updates.

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use utoipa::ToSchema;

use crate::RawJson;

/// The agent's process runs, and has the session.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct WorkerStarted {
    #[schema(required = true)]
    pub pid: u32,
    #[schema(required = true)]
    pub command: Vec<String>,
    /// What holds its processes together: `cgroup` or `keeper`.
    #[schema(required = true)]
    pub containment: String,
    /// The model that it begins with, if it says so.
    #[schema(nullable = false)]
    pub model: Option<String>,
}

/// The agent's process has ended.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct WorkerExited {
    #[schema(nullable = false)]
    pub code: Option<i32>,
    #[schema(nullable = false)]
    pub signal: Option<i32>,
    /// Whether Switchyard ended it.
    #[schema(required = true)]
    pub stopped: bool,
    /// Why, if it was for a reason of Switchyard's own: `idle`.
    #[schema(nullable = false)]
    pub reason: Option<String>,
    /// The last lines of its stderr.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub stderr: String,
}

/// Further output of a command in a [terminal](#terminals) that Switchyard serves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TerminalOutput {
    #[schema(required = true)]
    pub terminal_id: String,
    /// Output to be appended to what came before.
    pub data: String,
}

/// The command of a terminal has ended.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct TerminalExited {
    #[schema(required = true)]
    pub terminal_id: String,
    #[schema(nullable = false)]
    pub exit_code: Option<i32>,
    #[schema(nullable = false)]
    pub signal: Option<String>,
    /// Not all that it printed is in the log.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
    /// Nobody knows how it ended, or when: Switchyard was not there any more to see it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub lost: bool,
}

/// One line that the agent wrote to stderr.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct AgentStderr {
    #[schema(required = true)]
    pub text: String,
}

/// A notification that is no `session/update`. `_switchyard/raw` holds a `line` that a CLI printed
/// and that could not be understood, `_switchyard/update` an update that the client did not ask
/// for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AgentNotification<'a> {
    pub method: String,
    #[serde(borrow, default)]
    #[schema(required = true, value_type = Value)]
    pub params: RawJson<'a>,
}

/// The agent has sent nothing for a while; nothing is stopped for it. Not logged while a question
/// waits, and the time of an answered one does not count.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct AgentQuiet {
    #[schema(required = true)]
    pub quiet_ms: u64,
    /// What the agent did last.
    #[schema(nullable = false)]
    pub waiting_for: Option<String>,
}
