//! The environment a worker gets.
//!
//! In: our own variables and what a caller asks for. Out: the exact list for `execve`.
//! Whatever the caller asks for, no `SWITCHYARD_*` variable reaches a worker (they may hold our
//! secrets), except the marker by which we find the worker's processes again.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;

use super::marker::{MARKER_VARIABLE, Marker};

const OWN_PREFIX: &[u8] = b"SWITCHYARD_";

/// Variables by which a service manager addresses one process; a child that had them would speak
/// for us, or take our sockets for its own.
const SERVICE_MANAGER_VARIABLES: [&str; 6] = [
    "NOTIFY_SOCKET",
    "WATCHDOG_USEC",
    "WATCHDOG_PID",
    "LISTEN_FDS",
    "LISTEN_PID",
    "LISTEN_FDNAMES",
];

/// Which variables a worker sees: ours minus `strip` (or none), plus `set`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Environment {
    /// Start from Switchyard's own environment instead of from nothing.
    pub inherit: bool,
    /// Set last, so it wins over `strip`.
    pub set: BTreeMap<OsString, OsString>,
    /// Exact names that are not inherited.
    pub strip: BTreeSet<OsString>,
}

impl Default for Environment {
    fn default() -> Self {
        Self { inherit: true, set: BTreeMap::new(), strip: BTreeSet::new() }
    }
}

impl Environment {
    /// Starts from nothing: only what is `set` later.
    pub fn empty() -> Self {
        Self { inherit: false, ..Self::default() }
    }

    /// The value of one variable that the worker will see.
    pub(crate) fn variable(&self, name: &OsStr) -> Option<OsString> {
        let inherited = || match self.inherit && !self.strip.contains(name) {
            true => std::env::var_os(name),
            false => None,
        };
        self.set.get(name).cloned().or_else(inherited)
    }

    pub(crate) fn resolve(
        &self,
        ours: impl Iterator<Item = (OsString, OsString)>,
        marker: &Marker,
    ) -> Vec<(OsString, OsString)> {
        let mut all = BTreeMap::new();
        if self.inherit {
            let is_ours =
                |name: &OsString| SERVICE_MANAGER_VARIABLES.iter().any(|own| *name == **own);
            all.extend(ours.filter(|(name, _)| !self.strip.contains(name) && !is_ours(name)));
        }
        all.extend(self.set.clone());
        all.retain(|name, _| !name.as_bytes().starts_with(OWN_PREFIX));
        all.insert(MARKER_VARIABLE.into(), marker.as_str().into());
        all.into_iter().collect()
    }
}

#[cfg(test)]
mod tests;
