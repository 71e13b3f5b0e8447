//! Running a command for a session.
//!
//! In: a line for the shell, where, and for how long. Out: what it printed and how it ended.
//! It runs in a terminal of the client where the client has terminals, so that people see it
//! where they see their own; by ourselves otherwise, and always by ourselves where a sandbox is
//! asked for, because a client's terminal cannot be sandboxed.
//!
//! Always true: when the future ends, or is dropped, everything that the command started is
//! ended; what is kept of its output is bounded; it never reads our stdin and never sees our
//! keys.

mod bash;
mod environment;
mod local_process;
mod output_buffer;
mod permission_keys;
mod terminal;

use std::path::PathBuf;
use std::time::Duration;

use bus::connection::CallError;
use serde_json::json;

use super::tool::{ToolContext, ToolError};

pub(super) use bash::tool as bash_tool;
pub(super) use permission_keys::permission_key;

/// A command to run.
#[derive(Debug, Clone)]
pub(super) struct CommandRequest {
    pub line: String,
    pub cwd: PathBuf,
    pub timeout: Duration,
}

/// A command that has ended, and its output.
#[derive(Debug, Clone)]
pub(super) struct FinishedCommand {
    /// Without escapes, and bounded: of a long output the beginning and the end.
    pub text: String,
    pub end: CommandEnd,
    pub took: Duration,
    /// The id of the client's terminal in which it ran, if it did.
    pub terminal: Option<String>,
    /// The restrictions of the sandbox, for the model.
    pub sandbox_restrictions: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CommandEnd {
    Code(i32),
    /// The signal's name or number.
    Signal(String),
    /// How it ended is not known.
    Unknown,
    /// Ended by us, because its time was up.
    TimedOut,
}

/// Runs a command and shows its output while it runs. Dropping the future ends it.
pub(super) async fn run(
    context: &ToolContext,
    order: CommandRequest,
) -> Result<FinishedCommand, ToolError> {
    let settings = &context.workspace.settings;
    if context.workspace.client.can.has_terminals && !settings.sandbox.is_on() {
        return terminal::run(context, order).await;
    }
    // A terminal of the client would have been refused.
    let deed = json!({ "kind": "execute", "command": order.line });
    match context.workspace.client.denial(deed).await.map_err(terminal_failed)? {
        Some(why) => Err(denied(&why)),
        None => local_process::run(context, order).await,
    }
}

fn denied(why: &str) -> ToolError {
    ToolError(format!("the command may not be run: {why}"))
}

fn terminal_failed(error: CallError) -> ToolError {
    ToolError(format!("the client's terminal failed: {error}"))
}

#[cfg(test)]
mod tests;
