//! The key of workers that are interchangeable.
//!
//! In: a command, and the model that is wanted. Out: a key; two sessions whose keys are
//! equal can use the same warm worker. Values of variables are in it as a digest only, so
//! that a key can be shown and logged.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

use serde_json::Value;
use sha2::{Digest as _, Sha256};
use wire::Json;

use crate::host::{AgentCommand, AgentQuirks};

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct PoolKey {
    pub(super) agent: String,
    program: OsString,
    args: Vec<OsString>,
    /// `None`: any, because a shared worker serves all directories.
    pub(super) cwd: Option<PathBuf>,
    environment: [u8; 32],
    pub(super) model: Option<String>,
    is_named: bool,
    /// Quirks of the agent: they decide what a worker is sent right after its start.
    quirks: AgentQuirks,
}

impl PoolKey {
    pub(super) fn new(command: &AgentCommand, model: Option<&str>) -> Self {
        Self {
            agent: command.name.clone(),
            program: command.program.clone(),
            args: command.args.clone(),
            cwd: Some(command.cwd.clone()),
            environment: digest_environment(&command.env),
            model: model.map(str::to_owned),
            is_named: command.is_named,
            quirks: command.quirks.clone(),
        }
    }

    /// The same for any directory and any model: both are a session's own in such an agent.
    pub(super) fn shared(command: &AgentCommand) -> Self {
        Self { cwd: None, ..Self::new(command, None) }
    }
}

/// Whether one process of the command may serve several directories. A program that is found
/// relative to the directory may be another one in the next.
pub(super) fn can_be_shared(command: &AgentCommand) -> bool {
    let program = command.program.as_bytes();
    command.quirks.shares_worker && (program.starts_with(b"/") || !program.contains(&b'/'))
}

/// Whether `params` of `session/new` are those that any client would send: a directory, no
/// servers, nothing of its own.
pub(super) fn are_plain(params: &Json) -> bool {
    let Ok(Value::Object(members)) = params.read::<Value>() else { return false };
    members.len() == 2
        && members.get("cwd").is_some_and(Value::is_string)
        && members.get("mcpServers").and_then(Value::as_array).is_some_and(Vec::is_empty)
}

/// Whether two texts are the same JSON value; the order of members does not matter.
pub(super) fn are_same(a: &Json, b: &Json) -> bool {
    match (a.read::<Value>(), b.read::<Value>()) {
        (Ok(a), Ok(b)) => a == b,
        _ => false,
    }
}

fn digest_environment(environment: &bus::Environment) -> [u8; 32] {
    let mut digest = Sha256::new();
    digest.update([u8::from(environment.inherit)]);
    digest.update(environment.set.len().to_le_bytes());
    let set = environment.set.iter().flat_map(|(name, value)| [name, value]);
    for text in set.chain(&environment.strip) {
        digest.update(text.len().to_le_bytes());
        digest.update(text.as_bytes());
    }
    digest.finalize().into()
}

#[cfg(test)]
mod tests;
