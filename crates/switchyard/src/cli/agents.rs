//! The command line of `switchyard agents`.

use clap::{Args, Subcommand};

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  switchyard agents                      what is installed, as it is found
  switchyard agents show claude          everything about one
  switchyard agents doctor               only what is wrong, and what to do
  switchyard agents --json | jq -r '.[] | select(.isUsable) | .id'")]
pub(crate) struct AgentsArgs {
    #[command(subcommand)]
    pub(crate) verb: Option<AgentsVerb>,
    /// As JSON
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Look again instead of believing what was found before
    #[arg(long, global = true)]
    pub(crate) refresh: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AgentsVerb {
    /// What is installed (also without a verb)
    List {
        /// Also those that are not installed
        #[arg(long)]
        all: bool,
    },
    /// Everything about one agent: path, version, command line, models, login, resume; exit
    /// code 4 if it is not installed, 1 if it cannot be used
    Show {
        /// Name of the agent
        agent: String,
    },
    /// Only what is wrong, with what to do about it; exit code 1 if something cannot be used
    Doctor,
}
