//! The sandbox for commands: what they may change, and whether they reach a network.
//!
//! In: an argv, where it runs, and the session's roots. Out: the argv of something that runs it in
//! the sandbox. The system can be read and not changed, the roots and a private directory for
//! temporary files can be written, but for the places in a root that make other programs run things
//! ([`protected_places`]); there is no network unless it was asked for.
//!
//! Two things can enforce it. *Bubblewrap*, where it is installed and works: a view of the file
//! system of its own. Otherwise *Landlock* and seccomp, which this binary puts on itself before
//! it becomes the command ([`launcher_main`]); Landlock cannot take back below a directory what
//! it gave above it, so there new entries cannot be made beside the protected places.
//!
//! Always true: where a sandbox is asked for and cannot be had, nothing runs. What may be written
//! is decided by the session's roots, never by the directory that a model chose.

mod bubblewrap;
mod hidden_paths;
mod launcher;
mod placeholders;
mod protected_places;
mod sockets;
mod syscall_filter;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use roots::ForbiddenDirs;
use tempfile::TempDir;

pub use launcher::launcher_main;

use crate::native::lock;

use bubblewrap::Bubblewrap;
use launcher::LandlockPolicy;
use placeholders::{PlaceholderGuard, Placeholders};
use protected_places::ProtectedPlaces;

/// The hidden verb under which a binary calls [`launcher_main`].
pub const LAUNCHER_VERB: &str = "__sandbox";

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SandboxMode {
    #[default]
    Off,
    /// Only the session's roots can be written.
    Workspace { network: bool },
}

/// A sandbox mode, and what this machine has to enforce it. A clone is the same sandbox, with the
/// same private directory.
#[derive(Debug, Clone)]
pub struct Sandbox {
    mode: SandboxMode,
    bubblewrap: Result<Bubblewrap, String>,
    landlock: Result<(), String>,
    /// Made when it is first needed.
    tmp: Arc<Mutex<Option<Arc<TempDir>>>>,
    placeholders: Placeholders,
    hidden: ForbiddenDirs,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SandboxError {
    #[error(
        "commands are to run in a sandbox, and this machine has none that works: {why}; nothing \
         was run"
    )]
    NoEnforcer { why: String },
    #[error("the sandbox cannot protect {}, which is a symbolic link; nothing was run", .0.display())]
    Link(PathBuf),
    #[error(
        "the workspace holds {}, which is Switchyard's own and cannot be hidden without \
         bubblewrap; install bubblewrap, or work in a directory without it; nothing was run",
        .0.display()
    )]
    Exposed(PathBuf),
    #[error("the sandbox could not be prepared: {0}; nothing was run")]
    NotPrepared(String),
}

/// A command line in its sandbox, whose files and directories stay until this is dropped.
#[derive(Debug, Default)]
pub(crate) struct SandboxedCommand {
    pub(crate) argv: Vec<OsString>,
    pub(crate) variables: Vec<(OsString, OsString)>,
    /// The restrictions, for the model, which would look for the reason of an error elsewhere.
    pub(crate) restrictions: Option<String>,
    _stays: Option<(PlaceholderGuard, Arc<TempDir>)>,
}

impl Sandbox {
    /// Commands run as they are.
    pub fn off() -> Self {
        Self::with(SandboxMode::Off, Err("not looked for".into()), Err("not looked for".into()))
    }

    /// Looks what this machine has; takes a few milliseconds, because it is tried.
    pub async fn detect(mode: SandboxMode) -> Self {
        match mode {
            SandboxMode::Off => Self::off(),
            SandboxMode::Workspace { .. } => {
                Self::with(mode, Bubblewrap::find().await, launcher::is_available())
            }
        }
    }

    fn with(
        mode: SandboxMode,
        bubblewrap: Result<Bubblewrap, String>,
        landlock: Result<(), String>,
    ) -> Self {
        let (tmp, placeholders) = (Arc::default(), Placeholders::default());
        Self { mode, bubblewrap, landlock, tmp, placeholders, hidden: ForbiddenDirs::default() }
    }

    /// Hides these directories from commands: whoever can speak to our daemon can have it run
    /// anything.
    #[must_use]
    pub fn hiding(mut self, directories: &ForbiddenDirs) -> Self {
        self.hidden = directories.clone();
        self
    }

    /// The same sandbox for another session, with a private directory of its own.
    #[must_use]
    pub fn for_session(&self) -> Self {
        Self { tmp: Arc::default(), ..self.clone() }
    }

    pub fn is_on(&self) -> bool {
        self.mode != SandboxMode::Off
    }

    /// Whether commands can run at all.
    pub fn check(&self) -> Result<(), SandboxError> {
        match (self.mode, &self.bubblewrap, &self.landlock) {
            (SandboxMode::Workspace { .. }, Err(bubblewrap), Err(landlock)) => {
                let why = format!("bubblewrap: {bubblewrap}; Landlock: {landlock}");
                Err(SandboxError::NoEnforcer { why })
            }
            _ => Ok(()),
        }
    }

    /// The command line that runs `argv` in the sandbox; `argv` itself where none is asked for.
    /// `launcher` is the executable that calls [`launcher_main`] for [`LAUNCHER_VERB`].
    pub(crate) fn wrap(
        &self,
        argv: Vec<OsString>,
        cwd: &Path,
        roots: &[PathBuf],
        launcher: &Path,
    ) -> Result<SandboxedCommand, SandboxError> {
        self.check()?;
        let SandboxMode::Workspace { network } = self.mode else {
            return Ok(SandboxedCommand { argv, ..SandboxedCommand::default() });
        };
        let tmp = self.private_directory()?;
        let roots: Vec<PathBuf> =
            roots.iter().filter_map(|root| root.canonicalize().ok()).collect();
        if roots.iter().any(|root| root.parent().is_none()) {
            return Err(SandboxError::NotPrepared("the workspace is the whole file system".into()));
        }
        let places = ProtectedPlaces::survey(&roots, self.hidden.paths());
        let closed = if network { "" } else { ", and there is no network" };
        let hidden = hidden_paths::hidden_everywhere(&self.hidden);
        let (argv, seen_tmp, told, standing) = match (&self.bubblewrap, &self.landlock) {
            // A link cannot be mounted over; Landlock keeps its directory from being changed.
            (Ok(bubblewrap), landlock) if places.links.is_empty() || landlock.is_err() => {
                if let Some(link) = places.links.first() {
                    return Err(SandboxError::Link(link.clone()));
                }
                let standing = self.placeholders.put(&places.absent).map_err(not_prepared)?;
                let inside = bubblewrap::SandboxView {
                    roots: &roots,
                    places: &places,
                    tmp: tmp.path(),
                    hidden: &hidden,
                };
                let argv = bubblewrap.argv(&inside, network, cwd, argv);
                let what = format!(
                    "only the workspace and /tmp can be written, not the configuration of git, \
                     editors and agents in it{closed}"
                );
                (argv, Path::new("/tmp"), what, standing)
            }
            (_, _) => {
                let is_inside = |path: &&PathBuf| roots.iter().any(|root| path.starts_with(root));
                if let Some(inside) = hidden.iter().find(is_inside) {
                    return Err(SandboxError::Exposed(inside.clone()));
                }
                let policy = LandlockPolicy::new(&roots, places, hidden, tmp.path(), network);
                let mut held = vec![launcher.into(), LAUNCHER_VERB.into(), policy.to_argument()];
                held.extend(argv);
                let what = format!(
                    "only what is in the workspace's directories and in $TMPDIR can be written, \
                     nothing new can be made directly in the workspace's top directory or in \
                     .git, the configuration of git, editors and agents cannot be changed, and \
                     some directories above the workspace cannot be listed{closed}; use the file \
                     tools where they can do it"
                );
                (held, tmp.path(), what, PlaceholderGuard::default())
            }
        };
        let variables = vec![("TMPDIR".into(), seen_tmp.into())];
        Ok(SandboxedCommand {
            argv,
            variables,
            restrictions: Some(told),
            _stays: Some((standing, tmp)),
        })
    }

    fn private_directory(&self) -> Result<Arc<TempDir>, SandboxError> {
        let mut tmp = lock(&self.tmp);
        if let Some(tmp) = &*tmp {
            return Ok(Arc::clone(tmp));
        }
        // Only its owner may look into it.
        let made =
            tempfile::Builder::new().prefix("switchyard-").tempdir().map_err(not_prepared)?;
        Ok(Arc::clone(tmp.insert(Arc::new(made))))
    }
}

fn not_prepared(error: std::io::Error) -> SandboxError {
    SandboxError::NotPrepared(error.to_string())
}

#[cfg(test)]
mod tests;
