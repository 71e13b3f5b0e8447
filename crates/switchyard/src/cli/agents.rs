//! The command line of `switchyard agents`.

use clap::{Args, Subcommand};

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  switchyard agents                      installed agents, as they are detected
  switchyard agents show claude          everything about one agent
  switchyard agents doctor               only problems, and how to fix them
  switchyard agents --json | jq -r '.[] | select(.isUsable) | .id'")]
pub(crate) struct AgentsArgs {
    #[command(subcommand)]
    pub(crate) verb: Option<AgentsVerb>,
    /// As JSON
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Detect agents anew instead of using cached results
    #[arg(long, global = true)]
    pub(crate) refresh: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AgentsVerb {
    /// List installed agents (the default)
    List {
        /// Also agents that are not installed, and how to install them
        #[arg(long)]
        all: bool,
    },
    /// Everything about one agent: path, version, command line, models, login, resume; exit
    /// code 4 if it is not installed, 1 if it cannot be used
    Show {
        /// Name of the agent
        agent: String,
    },
    /// Show only problems, and how to fix them; exit code 1 if an agent cannot be used
    Doctor,
}
