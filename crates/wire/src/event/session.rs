//! Events about a session as a whole.

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use utoipa::ToSchema;

use crate::RawJson;
use crate::string_enum::string_enum;

/// The first event of every log.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct SessionCreated {
    /// The agent's name.
    #[schema(required = true)]
    pub agent: String,
    /// The agent's program and its arguments.
    #[schema(required = true)]
    pub command: Vec<String>,
    #[schema(required = true)]
    pub cwd: String,
    /// The session that this one is a fork of.
    #[schema(nullable = false)]
    pub forked_from: Option<String>,
    /// The last event of that session which this one has.
    #[schema(nullable = false)]
    pub at: Option<u64>,
    /// Who made it, if that is known.
    #[schema(nullable = false)]
    pub by: Option<String>,
}

/// The way in which an agent got back its memory of the session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionResumed {
    pub how: ResumeWay,
    pub verified: ResumeProof,
    /// Changes since the agent last had the session, such as `cwd_changed: …`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<String>,
    /// Ways that were tried and failed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tried: Vec<String>,
}

string_enum! {
    /// The way in which an agent came to know the session.
    pub enum ResumeWay else Unknown {
        New = "new",
        Resume = "resume",
        Load = "load",
        /// The agent had forgotten; it gets the conversation with the next prompt.
        Reseed = "reseed",
        /// A word of a newer version.
        Unknown = "unknown",
    }
}

string_enum! {
    /// The proof that the agent remembers.
    pub enum ResumeProof else Unknown {
        /// The agent lists the session.
        Listed = "listed",
        /// The agent replayed the last prompt.
        Replayed = "replayed",
        /// The agent's own program has opened the conversation again; our adapters wait for that.
        Confirmed = "confirmed",
        /// The agent offers no way to check.
        Unchecked = "unchecked",
        /// Nothing to check: the conversation is new to the agent.
        New = "new",
        /// A word of a newer version.
        Unknown = "unknown",
    }
}

/// The session was closed; the next prompt opens it again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SessionClosed {}

/// Somebody set a mode, a model, an option or limits.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct OptionSet<'a> {
    /// The request that set it: ACP's, or `_switchyard/set_limits`.
    pub method: String,
    /// That request's params.
    #[serde(borrow)]
    #[schema(value_type = Value)]
    pub params: RawJson<'a>,
    #[schema(nullable = false)]
    pub by: Option<String>,
}

/// Acknowledged events were found missing when the log was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct LogRecovered {
    pub lost_from: u64,
    pub lost_to: u64,
}
