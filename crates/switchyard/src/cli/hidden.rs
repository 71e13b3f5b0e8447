//! Commands under which the binary starts itself.

use std::path::PathBuf;

use clap::Args;
use sessions::permission::PermissionMode;

use super::session::permission_modes;

#[derive(Debug, Args)]
pub(crate) struct AdapterArgs {
    /// Name of the agent
    pub(crate) agent: String,
    /// The CLI's executable
    #[arg(long)]
    pub(crate) program: PathBuf,
    /// Index of the form in the agent's definition
    #[arg(long)]
    pub(crate) form: usize,
    /// Feature that was detected in the CLI (repeatable)
    #[arg(long = "feature")]
    pub(crate) features: Vec<String>,
    /// The CLI's version
    #[arg(long = "cli-version")]
    pub(crate) cli_version: Option<String>,
    /// Permission mode that the CLI is held to
    #[arg(long, value_parser = permission_modes())]
    pub(crate) permissions: PermissionMode,
    /// Directory with the records of running workers
    #[arg(long)]
    pub(crate) records: Option<PathBuf>,
    /// Directory for temporary files
    #[arg(long)]
    pub(crate) scratch: Option<PathBuf>,
}

/// Arguments of the built-in agent, for what its environment does not say.
#[derive(Debug, Args)]
pub(crate) struct NativeAgentArgs {
    /// Directory of its journal instead of the default one
    #[arg(long, value_name = "DIR")]
    pub(crate) state: Option<PathBuf>,
    /// Directory that no session may touch (repeatable)
    #[arg(long = "forbid", value_name = "DIR")]
    pub(crate) forbidden: Vec<PathBuf>,
    /// Its environment is a daemon's, not that of the client that prompts it
    #[arg(long)]
    pub(crate) by_daemon: bool,
}
