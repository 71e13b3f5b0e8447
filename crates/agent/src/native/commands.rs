//! Running a command for a session.
//!
//! In: a line for the shell, where, and for how long. Out: what it printed and how it ended.
//! It runs in a terminal of the client where the client has terminals, so that people see it
//! where they see their own; by ourselves otherwise, and always by ourselves where a sandbox is
//! asked for, because a client's terminal cannot be held in.
//!
//! Always true: when the future ends, or is dropped, everything that the command started is
//! ended; what is kept of its output is bounded; it never reads our stdin and never sees our
//! keys.

mod bash;
mod kept;
mod key;
mod own;
mod terminal;
mod variables;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::json;

use super::sandbox::Refused;
use super::scene::Scene;
use super::tools::ToolError;

pub(super) use bash::tool as bash_tool;
pub(super) use key::permission_key;

#[derive(Debug, Clone)]
pub struct Settings {
    /// `bash`, or `sh` where there is none.
    pub shell: String,
    pub timeout: Duration,
    /// The most that a model can ask for.
    pub max_timeout: Duration,
    /// How much of the output a model is told; the rest is left out in the middle.
    pub max_output_bytes: usize,
    /// Variables that hold keys of ours. Commands see neither them nor others with their value.
    pub secrets: BTreeSet<OsString>,
    /// Use the terminals of clients that have them.
    pub in_clients_terminal: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            shell: find_shell().to_owned(),
            // A build or a test run; what serves for ever has to be asked for otherwise.
            timeout: Duration::from_mins(2),
            max_timeout: Duration::from_mins(30),
            max_output_bytes: 30_000,
            secrets: ["OPENAI_API_KEY", "AZURE_OPENAI_API_KEY"].map(OsString::from).into(),
            in_clients_terminal: true,
        }
    }
}

/// What to run.
#[derive(Debug, Clone)]
pub(super) struct Order {
    pub line: String,
    pub cwd: PathBuf,
    pub timeout: Duration,
}

/// What came of it.
#[derive(Debug, Clone)]
pub(super) struct Finished {
    /// Without escapes, and bounded: of a long output the beginning and the end.
    pub text: String,
    pub end: End,
    pub took: Duration,
    /// Where people saw it, if that was a terminal of the client.
    pub terminal: Option<String>,
    /// What the command was not allowed to do.
    pub held_in: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum End {
    Code(i32),
    /// Its name or number.
    Signal(String),
    /// Nobody could tell how.
    Unknown,
    /// Ended by us, because its time was over.
    TimedOut,
}

#[derive(Debug, thiserror::Error)]
pub(super) enum CommandError {
    #[error("the command did not start: {0}")]
    Spawn(#[from] bus::SpawnError),
    #[error("the client's terminal failed: {0}")]
    Terminal(#[from] bus::connection::CallError),
    #[error("the client made a terminal without an id")]
    NoTerminal,
    #[error("the command may not be run: {0}")]
    Denied(String),
    #[error(transparent)]
    Refused(#[from] Refused),
}

impl From<CommandError> for ToolError {
    fn from(error: CommandError) -> Self {
        Self::new(error)
    }
}

/// Runs a command and shows its output while it runs. Dropping the future ends it.
pub(super) async fn run(scene: &Scene, order: Order) -> Result<Finished, CommandError> {
    let settings = &scene.session.settings;
    let has_terminal = scene.session.client.can.has_terminals
        && settings.commands.in_clients_terminal
        && !settings.sandbox.is_on();
    if has_terminal {
        return terminal::run(scene, order).await;
    }
    // A terminal of the client would have been refused.
    let deed = json!({ "kind": "execute", "command": order.line });
    match scene.session.client.denial(deed).await? {
        Some(why) => Err(CommandError::Denied(why)),
        None => own::run(scene, order).await,
    }
}

fn find_shell() -> &'static str {
    let has_bash = ["/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash"]
        .iter()
        .any(|path| std::path::Path::new(path).exists());
    if has_bash { "bash" } else { "sh" }
}

#[cfg(test)]
mod tests;
