//! Commands under which the binary starts itself.

use std::path::PathBuf;

use clap::Args;

use super::session::PermissionMode;

#[derive(Debug, Args)]
pub(crate) struct AdapterArgs {
    /// Name of the agent
    pub(crate) agent: String,
    /// The CLI's executable
    #[arg(long)]
    pub(crate) program: PathBuf,
    /// Which of the definition's forms to speak
    #[arg(long)]
    pub(crate) form: usize,
    /// What the CLI was found to have (repeatable)
    #[arg(long = "feature")]
    pub(crate) features: Vec<String>,
    /// The CLI's version
    #[arg(long = "cli-version")]
    pub(crate) cli_version: Option<String>,
    /// What may be done without asking
    #[arg(long, value_enum)]
    pub(crate) permissions: PermissionMode,
    /// Where running workers are noted
    #[arg(long)]
    pub(crate) records: Option<PathBuf>,
    /// Where temporary files are put
    #[arg(long)]
    pub(crate) scratch: Option<PathBuf>,
}

/// What whoever starts the built-in agent knows, and its environment does not say.
#[derive(Debug, Args)]
pub(crate) struct NativeAgentArgs {
    /// Where its journal is; in the usual place otherwise
    #[arg(long, value_name = "DIR")]
    pub(crate) state: Option<PathBuf>,
    /// A directory that no session touches; may be given several times
    #[arg(long = "forbid", value_name = "DIR")]
    pub(crate) forbidden: Vec<PathBuf>,
    /// It has the environment of a daemon, and not that of whoever prompts it
    #[arg(long)]
    pub(crate) by_daemon: bool,
}
