//! The machine as detection sees it: variables, home, search directories.
//!
//! In: the environment of this process, read once, so that a test can bring its own. Out: the
//! search path of programs, and the environment that they are started with.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use super::well_known_dirs;
use crate::definition::{EnvChanges, RuntimeDefinition, RuntimeForm};
use crate::dialect::PermissionMode;

#[derive(Debug, Clone, Default)]
pub struct Machine {
    pub variables: BTreeMap<OsString, OsString>,
    pub home: Option<PathBuf>,
    /// The directories of `PATH`; relative ones are left out, since a program must not depend
    /// on our working directory.
    pub path: Vec<PathBuf>,
    /// Further directories, see [`well_known_dirs::well_known`].
    pub well_known: Vec<PathBuf>,
}

impl Machine {
    /// This machine, as this process sees it.
    pub fn here() -> Self {
        let variables: BTreeMap<_, _> = std::env::vars_os().collect();
        let get = |name: &str| variables.get(OsStr::new(name)).cloned();
        let home = get("HOME").map(PathBuf::from).filter(|home| home.is_absolute());
        let well_known = well_known_dirs::well_known(home.as_deref(), get);
        let path = get("PATH").unwrap_or_default();
        let path = std::env::split_paths(&path).filter(|dir| dir.is_absolute()).collect();
        Self { variables, home, path, well_known }
    }

    /// A variable that is set and not empty.
    pub fn variable(&self, name: &str) -> Option<&OsStr> {
        let value = self.variables.get(OsStr::new(name))?;
        (!value.is_empty()).then_some(value.as_os_str())
    }

    /// A path with `~/` filled in.
    pub fn expand(&self, path: &Path) -> PathBuf {
        match (path.strip_prefix("~"), &self.home) {
            (Ok(rest), Some(home)) => home.join(rest),
            _ => path.to_path_buf(),
        }
    }

    /// The environment of a CLI, for runs and probes alike: our variables with the changes of its
    /// definition, form and mode.
    ///
    /// Programs from outside `PATH` find the programs beside them (such as their own Node), and
    /// all find those in the well-known directories.
    pub fn environment(
        &self,
        definition: &RuntimeDefinition,
        form: Option<&RuntimeForm>,
        mode: PermissionMode,
        program: &Path,
    ) -> bus::Environment {
        let mut set: BTreeMap<OsString, OsString> = BTreeMap::new();
        let mut strip = BTreeSet::new();
        let mut change = |changes: &EnvChanges| {
            strip.extend(changes.strip.iter().flat_map(|pattern| self.names(pattern)));
            let pairs = changes.set.iter();
            set.extend(pairs.map(|(name, value)| (name.into(), value.into())));
        };
        change(&definition.env);
        if let Some(form) = form {
            change(&form.env);
            if let Some(of_mode) = form.permissions.env.get(&mode) {
                set.extend(of_mode.iter().map(|(name, value)| (name.into(), value.into())));
            }
        }
        if let Some(path) = self.search_path(program) {
            set.entry("PATH".into()).or_insert(path);
        }
        bus::Environment { inherit: true, set, strip }
    }

    fn search_path(&self, program: &Path) -> Option<OsString> {
        let mut dirs = self.path.clone();
        if let Some(dir) = program.parent().filter(|dir| dir.is_absolute())
            && !dirs.iter().any(|known| known == dir)
        {
            dirs.insert(0, dir.to_path_buf());
        }
        for dir in &self.well_known {
            if !dirs.contains(dir) {
                dirs.push(dir.clone());
            }
        }
        std::env::join_paths(dirs).ok()
    }

    /// The variables that match a name, or a beginning that ends in `*`.
    fn names(&self, pattern: &str) -> Vec<OsString> {
        let Some(beginning) = pattern.strip_suffix('*') else { return vec![pattern.into()] };
        let begins = |name: &&OsString| name.as_bytes().starts_with(beginning.as_bytes());
        self.variables.keys().filter(begins).cloned().collect()
    }
}
