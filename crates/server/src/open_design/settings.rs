//! Settings of runs under `/api`, for what their clients do not name.
//!
//! The front end of Open Design has no way to answer a question, and its requests do not name a
//! mode: its own daemon starts every agent with leave to do anything. So that is what a run gets
//! here, unless whoever runs this daemon chose another mode; and the run's events say so.

use std::path::PathBuf;
use std::time::Duration;

use sessions::permission::PermissionMode;

#[derive(Debug, Clone)]
pub struct OpenDesignSettings {
    /// The permission mode of agents.
    pub permissions: PermissionMode,
    /// How long an agent may say nothing before its run is stopped.
    pub inactivity: Option<Duration>,
    /// Directories of skills and of design systems, one directory each below.
    pub skills: Option<PathBuf>,
    pub design_systems: Option<PathBuf>,
}

/// Agents that retry behind the scenes, or compile something, are silent for minutes.
const INACTIVITY: Duration = Duration::from_secs(10 * 60);

impl Default for OpenDesignSettings {
    fn default() -> Self {
        Self {
            permissions: PermissionMode::Auto,
            inactivity: Some(INACTIVITY),
            skills: None,
            design_systems: None,
        }
    }
}

/// The text in a run's events about its permission mode.
pub(super) fn mode_description(mode: PermissionMode) -> &'static str {
    match mode {
        PermissionMode::Auto => "auto: edits and commands are allowed without a question",
        PermissionMode::AcceptEdits => {
            "accept-edits: edits in the project are allowed; the rest waits for an answer"
        }
        PermissionMode::Ask => "ask: what the agent asks for waits for an answer",
        PermissionMode::ReadOnly => "read-only: edits and commands are denied",
        PermissionMode::DenyAll => "deny-all: whatever the agent asks for is denied",
    }
}
