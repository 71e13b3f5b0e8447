//! Which workers are interchangeable.
//!
//! In: a command and what is to be said to it first. Out: a key; two sessions whose keys are
//! equal can use the same warm worker. Values of variables are in it as a digest only, so
//! that a key can be shown and logged.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

use serde_json::Value;
use sha2::{Digest as _, Sha256};
use wire::Json;

use crate::host::{AgentCommand, Manners};

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub(super) agent: String,
    program: OsString,
    args: Vec<OsString>,
    /// `None`: any, because a shared worker serves all directories.
    pub(super) cwd: Option<PathBuf>,
    environment: [u8; 32],
    pub(super) model: Option<String>,
    initialize: [u8; 32],
    is_named: bool,
    /// They decide what a worker is told right after its start.
    manners: Manners,
}

impl Key {
    pub(super) fn new(command: &AgentCommand, initialize: &Json, model: Option<&str>) -> Self {
        Self {
            agent: command.name.clone(),
            program: command.program.clone(),
            args: command.args.clone(),
            cwd: Some(command.cwd.clone()),
            environment: digest_environment(&command.env),
            model: model.map(str::to_owned),
            initialize: digest_json(initialize),
            is_named: command.is_named,
            manners: command.manners.clone(),
        }
    }

    /// The same for any directory and any model: both are a session's own in such an agent.
    pub(super) fn shared(command: &AgentCommand, initialize: &Json) -> Self {
        Self { cwd: None, ..Self::new(command, initialize, None) }
    }
}

/// Whether one process of it may serve several directories. A program that is found relative
/// to the directory may be another one in the next.
pub(super) fn can_be_shared(command: &AgentCommand) -> bool {
    let program = command.program.as_bytes();
    command.manners.shares_worker && (program.starts_with(b"/") || !program.contains(&b'/'))
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

fn digest_json(json: &Json) -> [u8; 32] {
    let mut digest = Sha256::new();
    match json.read::<Value>() {
        Ok(value) => feed_value(&mut digest, &value),
        Err(_) => digest.update(json.as_str()),
    }
    digest.finalize().into()
}

/// Members in the order of their names, everything with its length before it.
fn feed_value(digest: &mut Sha256, value: &Value) {
    match value {
        Value::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            members.sort_by_key(|(name, _)| *name);
            digest.update(b"{");
            digest.update(members.len().to_le_bytes());
            for (name, value) in members {
                feed(digest, name.as_bytes());
                feed_value(digest, value);
            }
        }
        Value::Array(values) => {
            digest.update(b"[");
            digest.update(values.len().to_le_bytes());
            for value in values {
                feed_value(digest, value);
            }
        }
        scalar => feed(digest, scalar.to_string().as_bytes()),
    }
}

fn digest_environment(environment: &bus::Environment) -> [u8; 32] {
    let mut digest = Sha256::new();
    digest.update([u8::from(environment.inherit)]);
    digest.update(environment.set.len().to_le_bytes());
    for (name, value) in &environment.set {
        feed_os(&mut digest, name);
        feed_os(&mut digest, value);
    }
    environment.strip.iter().for_each(|name| feed_os(&mut digest, name));
    digest.finalize().into()
}

fn feed_os(digest: &mut Sha256, text: &OsStr) {
    feed(digest, text.as_bytes());
}

fn feed(digest: &mut Sha256, bytes: &[u8]) {
    digest.update(bytes.len().to_le_bytes());
    digest.update(bytes);
}

#[cfg(test)]
mod tests;
