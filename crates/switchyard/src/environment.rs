//! What of our environment agents get.

use std::collections::BTreeMap;

use crate::worker::is_worker;

/// What differs from one shell to the next and means nothing to an agent; workers are kept
/// ready for an environment.
const OF_THE_SHELL: [&str; 5] = ["_", "OLDPWD", "PWD", "SHLVL", "WINDOWID"];

/// The agent sees what this shell has set, not what the daemon was started with; an agent that
/// starts another cannot choose that.
pub(crate) fn for_agents() -> Option<BTreeMap<String, String>> {
    if is_worker() {
        return None;
    }
    let all = std::env::vars_os();
    let texts =
        all.filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    let is_meant = |name: &str| !name.starts_with("SWITCHYARD_") && !OF_THE_SHELL.contains(&name);
    Some(texts.filter(|(name, _)| is_meant(name)).collect())
}
