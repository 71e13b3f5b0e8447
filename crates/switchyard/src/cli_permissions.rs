//! What an agent may do, on the command line.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use sessions::permission::Mode;

#[derive(Debug, Args)]
pub(crate) struct PermissionArgs {
    /// Allow everything the agent asks for, once at a time
    #[arg(long, conflicts_with_all = ["deny_all", "permissions"])]
    approve_all: bool,
    /// Allow what only reads; ask for the rest
    #[arg(long, conflicts_with_all = ["approve_all", "deny_all"])]
    pub(crate) approve_reads: bool,
    /// Deny everything the agent asks for
    #[arg(long)]
    deny_all: bool,
    /// What to do with questions that no rule answers
    #[arg(long, value_enum, value_name = "MODE", conflicts_with = "deny_all")]
    permissions: Option<PermissionMode>,
    /// A file with rules that answer questions
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Option<PathBuf>,
}

impl PermissionArgs {
    pub(crate) fn mode(&self) -> Option<Mode> {
        if self.approve_all {
            return Some(Mode::Auto);
        }
        if self.deny_all {
            return Some(Mode::DenyAll);
        }
        self.permissions.map(Mode::from)
    }
}

impl From<PermissionMode> for Mode {
    fn from(mode: PermissionMode) -> Self {
        match mode {
            PermissionMode::Ask => Self::Ask,
            PermissionMode::AcceptEdits => Self::AcceptEdits,
            PermissionMode::Auto => Self::Auto,
            PermissionMode::ReadOnly => Self::ReadOnly,
            PermissionMode::DenyAll => Self::DenyAll,
        }
    }
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum PermissionMode {
    /// Ask; reject when nobody is there
    Ask,
    /// Allow reads and edits inside the working directories, ask for the rest
    AcceptEdits,
    /// Allow everything, once at a time
    Auto,
    /// Allow reads, deny the rest
    ReadOnly,
    /// Deny everything
    DenyAll,
}
