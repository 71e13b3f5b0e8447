//! The directories that a session may touch, and all that is done to files inside them.
//!
//! In: paths as an agent or a model names them. Out: bytes, names and facts, or an error that
//! says why not.
//!
//! Always true: a path is first resolved, by the kernel and below a directory handle, to a
//! [`ResolvedPath`] that holds no link; what is done there goes down from the root's handle name by
//! name and follows no link at all. So a link that is swapped in between makes the call fail,
//! and never leads out of the root, nor to another file inside it. Only regular files are read.
//! A write replaces the file as a whole: whoever reads it sees the old bytes or the new ones.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use rustix::io::Errno;

mod folder;
mod forbidden;
mod protected;
mod resolve;
pub mod walk;

pub use folder::{DirectoryEntry, FileFacts, FileKind, Folder};
pub use forbidden::{ForbiddenDirs, ForbiddenNames};
pub use protected::{is_protected, sandboxed_places};
pub use resolve::{ResolvedPath, resolve_path, without_dots};
pub use walk::TrustedOwners;

use folder::MissingDirectories::{self, IsAnError, IsMade};
use folder::not_regular;
use forbidden::FORBIDDEN;

/// Larger files are not something that an agent can use as text.
const MAX_TEXT_BYTES: u64 = 64 << 20;

/// The directories that a session may touch.
#[derive(Debug)]
pub struct Roots {
    roots: Vec<Root>,
    forbidden: ForbiddenDirs,
}

#[derive(Debug)]
struct Root {
    /// Its path as the client named it, and as the file system knows it.
    names: [PathBuf; 2],
    dir: Dir,
}

#[derive(Debug, thiserror::Error)]
pub enum RootsError {
    #[error("cannot open the directory {}: {source}", .path.display())]
    Open { path: PathBuf, source: io::Error },
    #[error("`{0}` is not an absolute path")]
    NotAbsolute(String),
    #[error("`{0}` is not a path")]
    NotAPath(String),
    #[error("`{0}`: `~` is not known here; name the whole path")]
    Home(String),
    #[error("`{0}` is outside the session's directories")]
    Outside(String),
    #[error("`{0}` is {FORBIDDEN}")]
    Forbidden(String),
    #[error("{path}: {source}")]
    Io { path: String, source: io::Error },
}

impl RootsError {
    /// The kind of the file system's error, if it was one.
    pub fn io_kind(&self) -> Option<io::ErrorKind> {
        match self {
            Self::Open { source, .. } | Self::Io { source, .. } => Some(source.kind()),
            _ => None,
        }
    }

    /// Whether it was not opened because too many files are open.
    pub fn is_out_of_descriptors(&self) -> bool {
        match self {
            Self::Open { source, .. } | Self::Io { source, .. } => {
                let errno = Errno::from_io_error(source);
                matches!(errno, Some(Errno::MFILE | Errno::NFILE))
            }
            _ => false,
        }
    }
}

impl Root {
    fn open(path: &Path) -> io::Result<Self> {
        let real = path.canonicalize()?;
        let dir = Dir::open_ambient_dir(&real, ambient_authority())?;
        Ok(Self { names: [path.to_owned(), real], dir })
    }
}

impl Roots {
    /// Opens the directories. A forbidden one may not be among them, and stays closed inside of
    /// them.
    pub fn open(paths: &[PathBuf], forbidden: &ForbiddenDirs) -> Result<Self, RootsError> {
        let roots = paths.iter().map(|path| {
            let root = Root::open(path);
            match root.map_err(|source| RootsError::Open { path: path.clone(), source })? {
                root if forbidden.covers(&root.names[1]) => {
                    Err(RootsError::Forbidden(path.display().to_string()))
                }
                root => Ok(root),
            }
        });
        Ok(Self { roots: roots.collect::<Result<_, _>>()?, forbidden: forbidden.clone() })
    }

    /// The roots with symbolic links resolved.
    pub fn paths(&self) -> Vec<PathBuf> {
        self.roots.iter().map(|root| root.names[1].clone()).collect()
    }

    /// The directories that are closed to every session, also inside of these.
    pub fn forbidden(&self) -> &ForbiddenDirs {
        &self.forbidden
    }

    /// Whether `path`, resolved, is inside and not forbidden.
    pub fn contains(&self, path: &Path) -> bool {
        let Ok(real) = path.canonicalize() else { return false };
        self.roots.iter().any(|root| real.starts_with(&root.names[1]))
            && !self.forbidden.covers(&real)
    }

    /// `fs/read_text_file`: the text, or the `limit` lines from `line` (counted from 1).
    pub fn read_text(
        &self,
        place: &ResolvedPath,
        line: Option<u64>,
        limit: Option<u64>,
    ) -> Result<String, RootsError> {
        let text = String::from_utf8(self.read(place, MAX_TEXT_BYTES)?).map_err(|_| {
            let why = "stream did not contain valid UTF-8";
            place.error(io::Error::new(io::ErrorKind::InvalidData, why))
        })?;
        if line.is_none() && limit.is_none() {
            return Ok(text);
        }
        let skipped = usize::try_from(line.unwrap_or(1).saturating_sub(1)).unwrap_or(usize::MAX);
        let taken = limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
        Ok(text.split_inclusive('\n').skip(skipped).take(taken).collect())
    }

    /// The bytes of a regular file that has no more than `max_bytes`.
    pub fn read(&self, place: &ResolvedPath, max_bytes: u64) -> Result<Vec<u8>, RootsError> {
        self.act(place, IsAnError, |parent, name| parent.read(name, max_bytes))
    }

    /// Facts about the entry at `place`, if there is one.
    pub fn look(&self, place: &ResolvedPath) -> Result<Option<FileFacts>, RootsError> {
        let found = match place.split() {
            None => self.folder(place)?.facts(),
            Some((above, name)) => self.down(place, above, IsAnError).and_then(|at| at.look(name)),
        };
        match found {
            Ok(facts) => Ok(Some(facts)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(place.error(error)),
        }
    }

    /// A handle of the directory at `place`.
    pub fn folder(&self, place: &ResolvedPath) -> Result<Folder, RootsError> {
        self.down(place, place.relative(), IsAnError).map_err(|error| place.error(error))
    }

    /// Replaces the file's bytes, or makes the file and the directories above it. What is there
    /// keeps its mode.
    pub fn replace(&self, place: &ResolvedPath, bytes: &[u8]) -> Result<(), RootsError> {
        self.act(place, IsMade, |parent, name| parent.replace(name, bytes))
    }

    /// Makes a file where nothing is, and the directories above it.
    pub fn create(
        &self,
        place: &ResolvedPath,
        bytes: &[u8],
        mode: Option<u32>,
    ) -> Result<(), RootsError> {
        self.act(place, IsMade, |parent, name| parent.create(name, bytes, mode))
    }

    /// Removes a file, never a directory.
    pub fn remove(&self, place: &ResolvedPath) -> Result<(), RootsError> {
        self.act(place, IsAnError, Folder::remove)
    }

    /// Gives a file another name where nothing is, and makes the directories above it.
    pub fn rename(&self, from: &ResolvedPath, to: &ResolvedPath) -> Result<(), RootsError> {
        self.act(to, IsMade, |new_parent, new_name| match from.split() {
            None => Err(not_regular()),
            Some((above, name)) => {
                self.down(from, above, IsAnError)?.rename(name, new_parent, new_name)
            }
        })
    }

    fn act<T>(
        &self,
        place: &ResolvedPath,
        missing: MissingDirectories,
        action: impl FnOnce(&Folder, &OsStr) -> io::Result<T>,
    ) -> Result<T, RootsError> {
        let done = match place.split() {
            Some((above, name)) => {
                self.down(place, above, missing).and_then(|parent| action(&parent, name))
            }
            None => Err(not_regular()),
        };
        done.map_err(|error| place.error(error))
    }

    /// The directory at `path` below the root of `place`.
    fn down(
        &self,
        place: &ResolvedPath,
        path: &Path,
        missing: MissingDirectories,
    ) -> io::Result<Folder> {
        let root = self.roots.get(place.root()).ok_or(io::ErrorKind::NotFound)?;
        Folder::below(&root.dir, path, missing, &self.forbidden)
    }
}

fn io_error(path: &str, source: io::Error) -> RootsError {
    RootsError::Io { path: path.to_owned(), source }
}

#[cfg(test)]
mod tests;
