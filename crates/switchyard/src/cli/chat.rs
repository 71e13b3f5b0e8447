//! The command line of the chat.

use std::ffi::OsString;

use clap::Args;
use sessions::permission::PermissionMode;

use crate::cli::session::{AgentArgs, InitialOptionArgs, LimitArgs, permission_modes};

#[derive(Debug, Args)]
#[command(
    after_help = "Type a prompt; / lists commands, @ completes files, /help shows the keys. Esc stops a turn,
Ctrl-D leaves, and the session stays.

If a daemon runs it is used, and a turn goes on there when you leave. Without one the sessions
run in this process, and a turn that still runs is stopped when you leave.

Where stdin or stdout is no terminal, every line is a prompt and the answers are text.

Examples:
  switchyard chat                          choose an agent that is ready
  switchyard chat claude                   a new session with an agent
  switchyard chat --continue               the last session of this directory
  switchyard chat -s last                  any session, also one that runs
  switchyard chat --pick                   choose a session
  switchyard chat -- opencode acp          any command that speaks ACP
  echo \"say hello\" | switchyard chat demo

Exit codes without a terminal are those of `switchyard run`"
)]
#[command(override_usage = "switchyard chat [OPTIONS] [AGENT] [-- COMMAND...]")]
pub(crate) struct ChatArgs {
    /// Name of the agent
    #[arg(value_name = "AGENT")]
    pub(crate) name: Option<String>,
    /// Command line of an agent that speaks ACP
    #[arg(last = true, value_name = "COMMAND", conflicts_with = "name")]
    pub(crate) command: Vec<OsString>,
    #[command(flatten)]
    pub(crate) agent: AgentArgs,
    #[command(flatten)]
    pub(crate) limits: LimitArgs,
    /// Open a session: its id, the beginning of one, or `last`
    #[arg(short, long, value_name = "SESSION", conflicts_with_all = ["name", "command", "resume", "pick"])]
    pub(crate) session: Option<String>,
    /// Continue the most recently used session of this directory
    #[arg(short = 'c', long = "continue", conflicts_with_all = ["name", "command", "pick"])]
    pub(crate) resume: bool,
    /// Choose a session from a list
    #[arg(long, conflicts_with_all = ["name", "command"])]
    pub(crate) pick: bool,
    #[command(flatten)]
    pub(crate) initial_options: InitialOptionArgs,
    /// Instructions that the agent gets before the first prompt
    #[arg(long, value_name = "TEXT")]
    pub(crate) system_prompt: Option<String>,
    /// Permission mode: what happens to approval requests that no rule decides
    #[arg(long, value_name = "MODE", value_parser = permission_modes())]
    pub(crate) permissions: Option<PermissionMode>,
    /// Plain lines of text instead of the full screen
    #[arg(long)]
    pub(crate) plain: bool,
    /// Run the session in this process even if a daemon runs
    #[arg(long)]
    pub(crate) no_daemon: bool,
}
