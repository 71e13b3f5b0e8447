//! Checks the session options of the command line: directories that exist, and the permission
//! policy.

use std::path::{Path, PathBuf};

use sessions::permission::{PermissionMode, PermissionPolicy, Rules, RulesFile};

use crate::cli::session::{AgentArgs, PermissionArgs};
use crate::config::Config;
use crate::outcome::Failure;
use crate::this_process::require_a_person;

/// The directory to work in, absolute and existing.
pub(crate) fn working_directory(cwd: Option<&Path>) -> Result<PathBuf, Failure> {
    let cwd = cwd.unwrap_or(Path::new("."));
    let found = std::path::absolute(cwd).and_then(|cwd| cwd.canonicalize());
    let found = found.and_then(|found| match found.is_dir() {
        true => Ok(found),
        false => Err(std::io::ErrorKind::NotADirectory.into()),
    });
    found.map_err(|error| Failure::usage(format!("cannot work in {}: {error}", cwd.display())))
}

/// The further directories that the agent may use.
pub(crate) fn add_dirs(args: &AgentArgs) -> Result<Vec<PathBuf>, Failure> {
    args.add_dir.iter().map(|dir| working_directory(Some(dir))).collect()
}

/// A session's own rules and mode. The configuration's rules belong to the session context.
pub(crate) fn policy(config: &Config, args: &PermissionArgs) -> Result<PermissionPolicy, Failure> {
    let is_wide = matches!(args.mode(), Some(PermissionMode::Auto | PermissionMode::AcceptEdits));
    if is_wide || args.policy.is_some() {
        require_a_person("it may not give a session wider permissions than the configured ones")?;
    }
    let mut rules = Rules::default();
    if let Some(path) = &args.policy {
        let more = RulesFile::new(path).load_once();
        rules = rules.and(more.map_err(|error| Failure::usage(error.to_string()))?);
    }
    if args.approve_reads {
        rules = rules.and(Rules::approve_reads());
    }
    Ok(PermissionPolicy { rules, mode: args.mode().unwrap_or(config.file.permissions.mode()) })
}
