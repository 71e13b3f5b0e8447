//! This very process: its executable, whether one of our agents has started it, what is refused
//! then, and which part of its environment agents get.
//!
//! A model may talk an agent into calling our own commands. They read, create sessions and prompt,
//! as for everybody; what is a person's to decide they refuse.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::outcome::{ERROR, Failure};

/// This very executable, also after an upgrade has replaced the file.
pub(crate) fn own_exe() -> PathBuf {
    PathBuf::from("/proc/self/exe")
}

pub(crate) fn is_worker() -> bool {
    let own = i32::try_from(std::process::id()).unwrap_or_default();
    bus::is_below_keeper(own)
}

/// Refuses an action that only people may take, if an agent has started this process.
pub(crate) fn require_a_person(why: &str) -> Result<(), Failure> {
    match is_worker() {
        true => Err(Failure::new(ERROR, format!("this was started by an agent: {why}"))),
        false => Ok(()),
    }
}

/// Variables that differ from one shell to the next and mean nothing to an agent. Without them more
/// sessions can have a worker that is kept ready, because these are kept by environment.
const OF_THE_SHELL: [&str; 5] = ["_", "OLDPWD", "PWD", "SHLVL", "WINDOWID"];

/// The environment for an agent of the daemon: what this shell has set, not what the daemon was
/// started with. None within an agent, which cannot choose it for another one.
pub(crate) fn environment_for_agents() -> Option<BTreeMap<String, String>> {
    if is_worker() {
        return None;
    }
    let all = std::env::vars_os();
    let texts =
        all.filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    let is_meant = |name: &str| !name.starts_with("SWITCHYARD_") && !OF_THE_SHELL.contains(&name);
    Some(texts.filter(|(name, _)| is_meant(name)).collect())
}
