//! What runs get whose client does not say it.
//!
//! The front end of Open Design has no way to answer a question, and its requests do not name a
//! mode: its own daemon starts every agent with leave to do anything. So that is what a run gets
//! here, unless whoever runs this daemon chose another mode; and it is told in the run.

use std::path::PathBuf;
use std::time::Duration;

use sessions::permission::Mode;

#[derive(Debug, Clone)]
pub struct Settings {
    /// What agents may do.
    pub permissions: Mode,
    /// How long an agent may say nothing before its run is stopped.
    pub inactivity: Option<Duration>,
    /// Directories of skills and of design systems, one directory each below.
    pub skills: Option<PathBuf>,
    pub design_systems: Option<PathBuf>,
}

/// Agents that retry behind the scenes, or compile something, are silent for minutes.
const INACTIVITY: Duration = Duration::from_secs(10 * 60);

impl Default for Settings {
    fn default() -> Self {
        Self {
            permissions: Mode::Auto,
            inactivity: Some(INACTIVITY),
            skills: None,
            design_systems: None,
        }
    }
}

/// What a run is told about its mode.
pub(super) fn told(mode: Mode) -> &'static str {
    match mode {
        Mode::Auto => "auto: edits and commands are allowed without a question",
        Mode::AcceptEdits => {
            "accept-edits: edits in the project are allowed; the rest waits for an answer"
        }
        Mode::Ask => "ask: what the agent asks for waits for an answer",
        Mode::ReadOnly => "read-only: edits and commands are denied",
        Mode::DenyAll => "deny-all: whatever the agent asks for is denied",
    }
}
