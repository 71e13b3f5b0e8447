//! Making limits possible: the controllers of the cgroup below which workers get theirs.
//!
//! In: the limits that are wanted. Out: those that can be enforced, and why the others cannot. A
//! cgroup hands a controller on to those below it only while no process is in it, so a process that
//! is alone in its cgroup first moves into one below. Nothing is done for limits that nobody wants.

use std::fs;
use std::path::Path;

use super::limits::{Controller, GroupLimits, WorkerLimits};
use super::{DAEMON_GROUP, base_dir};

impl WorkerLimits {
    /// Enables what the limits need. To be called once, before this process starts anything.
    pub fn prepare(worker: GroupLimits, session: GroupLimits) -> Self {
        let needed: Vec<Controller> = Controller::ALL
            .into_iter()
            .filter(|controller| worker.needs(*controller) || session.needs(*controller))
            .collect();
        let missing = match base_dir() {
            _ if needed.is_empty() => Vec::new(),
            Some(base) => enable(&base, &needed, std::process::id()),
            None => all_missing(&needed, "this machine has no cgroup v2"),
        };
        Self::without(worker, session, missing)
    }

    /// The same where a group per worker is not wanted.
    pub fn without_cgroups(worker: GroupLimits, session: GroupLimits) -> Self {
        let needs =
            |controller: &Controller| worker.needs(*controller) || session.needs(*controller);
        let needed: Vec<Controller> = Controller::ALL.into_iter().filter(needs).collect();
        let missing = all_missing(&needed, "`cgroups` is switched off");
        Self::without(worker, session, missing)
    }
}

fn all_missing(needed: &[Controller], why: &str) -> Vec<(Controller, String)> {
    needed.iter().map(|controller| (*controller, why.to_owned())).collect()
}

/// Has `base` hand the controllers on to the groups below it; which of them it does not, and why.
fn enable(base: &Path, needed: &[Controller], own_pid: u32) -> Vec<(Controller, String)> {
    let offered = words(&base.join("cgroup.controllers"));
    let enabled = words(&base.join("cgroup.subtree_control"));
    let (offered, mut missing): (Vec<_>, Vec<_>) = needed
        .iter()
        .copied()
        .partition(|controller| offered.iter().any(|offered| offered == controller.name()));
    let mut missing: Vec<_> = missing
        .drain(..)
        .map(|controller| {
            let (name, base) = (controller.name(), base.display());
            (controller, format!("the cgroup {base} has no controller `{name}`"))
        })
        .collect();
    let is_disabled =
        |controller: &Controller| !enabled.iter().any(|enabled| enabled == controller.name());
    let disabled: Vec<_> = offered.into_iter().filter(is_disabled).collect();
    if disabled.is_empty() {
        return missing;
    }
    if let Err(why) = make_room(base, own_pid) {
        missing.extend(all_missing(&disabled, &why));
        return missing;
    }
    for controller in disabled {
        if let Err(why) = hand_on(base, controller) {
            missing.push((controller, why));
        }
    }
    missing
}

/// Has a group hand one controller on to those below it.
pub(super) fn hand_on(dir: &Path, controller: Controller) -> Result<(), String> {
    let name = controller.name();
    let handed_on = fs::write(dir.join("cgroup.subtree_control"), format!("+{name}"));
    handed_on.map_err(|error| {
        format!("the cgroup {} does not hand on its controller `{name}`: {error}", dir.display())
    })
}

/// Moves this process out of `base` if it is alone in there.
fn make_room(base: &Path, own_pid: u32) -> Result<(), String> {
    // The root of the hierarchy, which has no type, may have processes.
    if !base.join("cgroup.type").exists() {
        return Ok(());
    }
    let inside = words(&base.join("cgroup.procs"));
    if inside.is_empty() {
        return Ok(());
    }
    if inside.iter().any(|pid| *pid != own_pid.to_string()) {
        return Err(format!(
            "other processes are in the cgroup {}; a service manager can give the daemon one of its \
             own",
            base.display()
        ));
    }
    let own = base.join(DAEMON_GROUP);
    let moved = match fs::create_dir(&own) {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => Err(error),
        _ => fs::write(own.join("cgroup.procs"), "0"),
    };
    moved.map_err(|error| format!("cannot move into the cgroup {}: {error}", own.display()))
}

fn words(file: &Path) -> Vec<String> {
    let text = fs::read_to_string(file).unwrap_or_default();
    text.split_whitespace().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests;
