//! Directories that no session touches, whatever it may touch otherwise: Switchyard's own.
//!
//! Whoever reads there has the keys to the daemon, whoever writes there decides what it runs.
//!
//! Always true: a directory is known by what it is (device and inode) as well as by its name, so
//! that neither a link nor another mount of it leads around.

use std::ffi::OsString;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::fs::fstat;

use crate::resolve_path;

/// The forbidden directories, with all that is in them. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct ForbiddenDirs {
    lists: Arc<ForbiddenLists>,
    /// The lists that were found last: every session looks again, and all of them share these.
    latest: Arc<Mutex<Arc<ForbiddenLists>>>,
}

#[derive(Debug, Default, PartialEq, Eq)]
struct ForbiddenLists {
    named: Arc<ForbiddenNames>,
    /// The paths without links, also of directories that do not exist yet.
    paths: Vec<PathBuf>,
    /// Device and inode of the directories that exist.
    ids: Vec<Id>,
    /// Paths inside of them that sessions may use all the same.
    open: Vec<PathBuf>,
}

/// The names by which the forbidden directories are configured.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct ForbiddenNames {
    pub directories: Vec<PathBuf>,
    /// Directories with a link to each of some further ones, which may become more in time.
    pub linked_in: Vec<PathBuf>,
    /// Names of entries in each of them that sessions may use all the same.
    pub open: Vec<OsString>,
}

type Id = (u64, u64);

impl ForbiddenDirs {
    pub fn new(directories: impl IntoIterator<Item = PathBuf>) -> Self {
        Self::named(ForbiddenNames {
            directories: directories.into_iter().collect(),
            ..ForbiddenNames::default()
        })
    }

    pub fn named(named: ForbiddenNames) -> Self {
        let lists = Arc::new(ForbiddenLists::new(Arc::new(named)));
        Self { latest: Arc::new(Mutex::new(lists.clone())), lists }
    }

    /// The same, with the directories to which links have been made since.
    #[must_use]
    pub fn renewed(&self) -> Self {
        let found = ForbiddenLists::new(self.lists.named.clone());
        let mut latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
        if **latest != found {
            *latest = Arc::new(found);
        }
        Self { lists: latest.clone(), latest: self.latest.clone() }
    }

    /// The paths of all, without links in them.
    pub fn paths(&self) -> &[PathBuf] {
        &self.lists.paths
    }

    /// Whether `path` is one of them, or below one. Links in it are followed as far as it exists.
    pub fn covers(&self, path: &Path) -> bool {
        let real = resolve_path(path);
        let is_one = |id: Id| self.lists.ids.contains(&id);
        self.names(&real) || !self.is_open(&real) && real.ancestors().filter_map(id_of).any(is_one)
    }

    /// Whether one of them is below `path`, which holds no links.
    pub fn is_below(&self, path: &Path) -> bool {
        self.lists.paths.iter().any(|one| one.starts_with(path))
    }

    /// [`Self::covers`] by the name alone, of a path that holds no links.
    pub(crate) fn names(&self, real: &Path) -> bool {
        self.lists.paths.iter().any(|path| real.starts_with(path)) && !self.is_open(real)
    }

    fn is_open(&self, real: &Path) -> bool {
        self.lists.open.iter().any(|path| real.starts_with(path))
    }

    /// An error, if the open directory is one of them.
    pub(crate) fn check(&self, directory: impl AsFd) -> io::Result<()> {
        if self.lists.ids.is_empty() {
            return Ok(());
        }
        let stat = fstat(directory)?;
        match self.lists.ids.contains(&(stat.st_dev, stat.st_ino)) {
            true => Err(io::Error::new(io::ErrorKind::PermissionDenied, FORBIDDEN)),
            false => Ok(()),
        }
    }
}

impl ForbiddenLists {
    fn new(named: Arc<ForbiddenNames>) -> Self {
        let noted = named.linked_in.iter().flat_map(|dir| linked_dirs(dir));
        let all = named.directories.iter().cloned().chain(noted);
        let mut paths: Vec<PathBuf> = all.map(|path| resolve_path(&path)).collect();
        paths.sort();
        paths.dedup();
        let ids = paths.iter().filter_map(id_of).collect();
        let open = named.open.iter().flat_map(|name| paths.iter().map(move |dir| dir.join(name)));
        let open = open.map(|path| resolve_path(&path)).collect();
        Self { named, paths, ids, open }
    }
}

/// More directories than anybody has links to; each of them is passed to a sandbox.
const MAX_LINKED: usize = 100;

pub(crate) const FORBIDDEN: &str = "Switchyard's own, which no session may touch";

fn linked_dirs(dir: &Path) -> Vec<PathBuf> {
    let Ok(entries) = dir.read_dir() else { return Vec::new() };
    let there = entries.flatten().filter_map(|entry| entry.path().canonicalize().ok());
    there.take(MAX_LINKED).collect()
}

fn id_of(path: impl AsRef<Path>) -> Option<Id> {
    path.as_ref().metadata().ok().map(|found| (found.dev(), found.ino()))
}
