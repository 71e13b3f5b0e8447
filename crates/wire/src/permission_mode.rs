//! The permission mode of a session.
//!
//! It needs nothing else of the crate: a build script, which checks the modes of agents'
//! definitions, compiles this file too.

use serde::{Deserialize, Serialize};

/// What happens to an agent's requests that no rule decides.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum PermissionMode {
    /// Ask the attached clients; reject when there are none.
    #[default]
    Ask,
    /// Allow reading and editing inside the session's roots, ask for the rest.
    AcceptEdits,
    /// Allow everything, once at a time.
    Auto,
    /// Allow reading, deny the rest.
    ReadOnly,
    /// Deny everything.
    DenyAll,
}

impl PermissionMode {
    pub const ALL: [Self; 5] =
        [Self::Ask, Self::AcceptEdits, Self::Auto, Self::ReadOnly, Self::DenyAll];

    /// The name of the mode, as it is written everywhere.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ask => "ask",
            Self::AcceptEdits => "accept-edits",
            Self::Auto => "auto",
            Self::ReadOnly => "read-only",
            Self::DenyAll => "deny-all",
        }
    }

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.name() == name)
    }

    /// Whether files may be written and commands run on the agent's behalf at all.
    pub fn allows_changes(self) -> bool {
        !matches!(self, Self::ReadOnly | Self::DenyAll)
    }
}
