//! The command line of `switchyard acp`.

use std::ffi::OsString;

use clap::Args;

use super::session::{AgentArgs, PermissionArgs};

#[derive(Debug, Args)]
#[command(after_help = "In an editor's agent settings:
  command: switchyard   args: [\"acp\"]               the built-in agent, `native`
  command: switchyard   args: [\"acp\", \"claude\"]
  command: switchyard   args: [\"acp\", \"--\", \"opencode\", \"acp\"]")]
pub(crate) struct AcpArgs {
    /// Name of the agent; without one, the built-in agent
    #[arg(value_name = "AGENT")]
    pub(crate) name: Option<String>,
    /// Command line of an agent that speaks ACP
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
    #[command(flatten)]
    pub(crate) agent: AgentArgs,
    #[command(flatten)]
    pub(crate) permissions: PermissionArgs,
    /// Run the agent in this process even if a daemon runs
    #[arg(long)]
    pub(crate) no_daemon: bool,
}
