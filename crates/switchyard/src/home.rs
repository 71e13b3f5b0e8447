//! The directories with Switchyard's own files, which no session may touch.
//!
//! `SWITCHYARD_HOME` holds everything if it is set; otherwise the XDG directories do. A home
//! that is elsewhere is noted in `~/.local/state/switchyard`, so that sessions of every other home
//! of this user leave it alone.

use std::env;
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use roots::{ForbiddenDirs, ForbiddenNames};

use crate::outcome::{ERROR, Failure};

/// The directory in `~/.local/state/switchyard` with a link to each home that is elsewhere.
const HOMES: &str = "homes";

const PROJECTS: &str = "projects";
const SHARED: &str = "shared";

#[derive(Debug, Clone)]
pub(crate) struct Home {
    /// The configuration file, which need not exist.
    pub(crate) config: PathBuf,
    /// The log, and other files that are kept.
    pub(crate) state: PathBuf,
    /// Records of running workers, and control sockets.
    pub(crate) run: PathBuf,
}

impl Home {
    pub(crate) fn find() -> Result<Self> {
        match absolute("SWITCHYARD_HOME")? {
            Some(home) => Ok(Self::at(home)),
            None => Self::usual()?.ok_or_else(|| {
                anyhow::anyhow!(
                    "neither SWITCHYARD_HOME nor HOME is set: set one of them to a directory"
                )
            }),
        }
    }

    /// The home that is used without `SWITCHYARD_HOME`.
    fn usual() -> Result<Option<Self>> {
        let Some(user) = absolute("HOME")? else { return Ok(None) };
        let state = absolute("XDG_STATE_HOME")?;
        Ok(Some(Self::in_xdg(&user, state, absolute("XDG_CONFIG_HOME")?)))
    }

    /// The same without the XDG variables: the home in which all others are noted.
    fn default_home() -> Option<Self> {
        Some(Self::in_xdg(&absolute("HOME").ok().flatten()?, None, None))
    }

    fn in_xdg(user: &Path, state: Option<PathBuf>, config: Option<PathBuf>) -> Self {
        let state = state.unwrap_or_else(|| user.join(".local/state")).join("switchyard");
        let config = config.unwrap_or_else(|| user.join(".config"));
        Self { config: config.join("switchyard/switchyard.toml"), ..Self::at(state) }
    }

    fn at(state: PathBuf) -> Self {
        Self { config: state.join("switchyard.toml"), run: state.join("run"), state }
    }

    /// The paths that no session may touch: this home, the user's other ones, and the
    /// configuration, wherever it is.
    pub(crate) fn forbidden(&self) -> ForbiddenDirs {
        let mut all = vec![self.state.clone(), self.run.clone(), self.config.clone()];
        let mut noted_in = Vec::new();
        // A configuration that was named may lie in a directory that somebody works in.
        let homes = [Self::usual().ok().flatten(), Self::find().ok(), Self::default_home()];
        for home in homes.into_iter().flatten() {
            noted_in.push(home.state.join(HOMES));
            all.push(home.state);
            all.extend(home.config.parent().map(Path::to_owned));
        }
        forbid(all, noted_in)
    }

    /// The projects of clients that have no directories of their own.
    pub(crate) fn projects(&self) -> PathBuf {
        self.state.join(PROJECTS)
    }

    /// The records of running workers.
    pub(crate) fn workers(&self) -> PathBuf {
        self.run.join("workers")
    }

    /// The temporary files of adapters and probes.
    pub(crate) fn scratch(&self) -> PathBuf {
        self.run.join("scratch")
    }

    /// The working directory of workers that several sessions share.
    pub(crate) fn shared(&self) -> PathBuf {
        self.state.join(SHARED)
    }

    /// Notes this home in the default one, for the user's other homes.
    pub(crate) fn register(&self) {
        let Some(plain) = Self::default_home() else { return };
        let usual = Self::usual().ok().flatten();
        let is_usual = usual.is_some_and(|usual| usual.config == self.config);
        // A configuration that was named may lie in a directory that somebody works in.
        let config = self.config.parent().filter(|_| is_usual);
        for own in [Some(self.state.as_path()), config].into_iter().flatten() {
            if own == plain.state || Some(own) == plain.config.parent() || !own.exists() {
                continue;
            }
            if let Err(error) = link_home(&plain.state.join(HOMES), own) {
                tracing::warn!(%error, "cannot note this home: other homes do not know of it");
            }
        }
    }
}

/// Makes a directory that nobody else may enter.
pub(crate) fn make_private_dir(path: &Path) -> Result<(), Failure> {
    let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(path);
    made.map_err(|error| {
        Failure::new(ERROR, format!("cannot make {}: {error}", path.display()))
            .hint_about_home(error.kind())
    })
}

fn link_home(notes: &Path, own: &Path) -> io::Result<()> {
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(notes)?;
    for entry in notes.read_dir()?.flatten() {
        // The note of a home that is gone.
        if !entry.path().exists() {
            let _ = std::fs::remove_file(entry.path());
        }
    }
    // A directory that has been moved keeps its name here, which then leads to it again.
    let found = own.metadata()?;
    let name = notes.join(format!("{:x}-{:x}", found.dev(), found.ino()));
    if name.read_link().is_ok_and(|target| target == own) {
        return Ok(());
    }
    let _ = std::fs::remove_file(&name);
    match std::os::unix::fs::symlink(own, &name) {
        // Another process of this home has just done the same.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        done => done,
    }
}

/// Makes directories off limits to sessions, except the subdirectories in which agents work.
pub(crate) fn forbid(directories: Vec<PathBuf>, noted_in: Vec<PathBuf>) -> ForbiddenDirs {
    ForbiddenDirs::named(ForbiddenNames {
        directories,
        linked_in: noted_in,
        open: [PROJECTS, SHARED].map(Into::into).into(),
    })
}

pub(crate) fn absolute(name: &str) -> Result<Option<PathBuf>> {
    let Some(value) = env::var_os(name).filter(|value| !value.is_empty()) else { return Ok(None) };
    let path = PathBuf::from(value);
    if !path.is_absolute() {
        bail!("{name} is `{}`, but must be an absolute path", path.display());
    }
    Ok(Some(path))
}

#[cfg(test)]
mod tests {
    //! A home that is elsewhere is noted once, and forgotten when it is gone.

    use super::*;

    #[test]
    fn homes_that_are_elsewhere_are_known() {
        let dir = tempfile::tempdir().unwrap();
        let (usual, elsewhere) = (dir.path().join("usual"), dir.path().join("elsewhere"));
        std::fs::create_dir(&elsewhere).unwrap();
        let home = Home::at(elsewhere.clone());
        let before = forbid(Vec::new(), vec![usual.join(HOMES)]);
        for _ in 0..2 {
            link_home(&usual.join(HOMES), &home.state).unwrap();
            assert_eq!(before.renewed().paths(), [elsewhere.canonicalize().unwrap()]);
        }
        assert!(before.renewed().covers(&elsewhere) && !before.covers(&elsewhere));
        assert!(!before.renewed().covers(&elsewhere.join(PROJECTS)));
        std::fs::remove_dir(&elsewhere).unwrap();
        assert!(before.renewed().paths().is_empty());
        std::fs::create_dir(dir.path().join("other")).unwrap();
        link_home(&usual.join(HOMES), &dir.path().join("other")).unwrap();
        assert_eq!(usual.join(HOMES).read_dir().unwrap().count(), 1);
    }
}
