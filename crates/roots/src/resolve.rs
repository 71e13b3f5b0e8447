//! The resolution of paths to places inside the roots, decided by the kernel below a directory
//! handle.

use std::ffi::OsStr;
use std::io;
use std::path::{Component, Path, PathBuf};

use cap_std::fs::Dir;

use crate::{Roots, RootsError, io_error};

/// A name inside a root. Held no link when it was resolved; whatever is done with it later
/// follows none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolvedPath {
    root: usize,
    relative: PathBuf,
    path: PathBuf,
    real: PathBuf,
    /// The path as it was asked for, for errors.
    given: String,
}

impl ResolvedPath {
    /// The absolute path below the root as the client named it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The absolute path as the file system knows it: the same file has one.
    pub fn real(&self) -> &Path {
        &self.real
    }

    /// The path below its root; empty for the root itself.
    pub fn relative(&self) -> &Path {
        &self.relative
    }

    /// The index of its root.
    pub fn root(&self) -> usize {
        self.root
    }

    /// Another place below the one that is a directory; `relative` is made of plain names.
    #[must_use]
    pub fn below(&self, relative: &Path) -> Self {
        let plain: PathBuf =
            relative.components().filter(|part| matches!(part, Component::Normal(_))).collect();
        let path = self.path.join(&plain);
        Self {
            root: self.root,
            relative: self.relative.join(&plain),
            real: self.real.join(&plain),
            given: path.display().to_string(),
            path,
        }
    }

    /// The directory above, if it is inside.
    pub fn parent(&self) -> Option<Self> {
        let (above, _) = self.split()?;
        let path = self.path.parent()?.to_owned();
        Some(Self {
            root: self.root,
            relative: above.to_owned(),
            real: self.real.parent()?.to_owned(),
            given: path.display().to_string(),
            path,
        })
    }

    /// The directory and the name in it; none for a root.
    pub(crate) fn split(&self) -> Option<(&Path, &OsStr)> {
        Some((self.relative.parent()?, self.relative.file_name()?))
    }

    pub(crate) fn error(&self, source: io::Error) -> RootsError {
        io_error(&self.given, source)
    }
}

impl Roots {
    /// Resolves `path`, which must be absolute, as in `fs/*`. It need not exist.
    pub fn resolve_absolute(&self, path: &str) -> Result<ResolvedPath, RootsError> {
        match Path::new(path).is_absolute() && !path.contains('\0') {
            true => self.locate(Path::new(path), path),
            false => Err(RootsError::NotAbsolute(path.to_owned())),
        }
    }

    /// Resolves `given`, absolute or relative to `cwd`. It need not exist.
    pub fn resolve(&self, cwd: &Path, given: &str) -> Result<ResolvedPath, RootsError> {
        if given.is_empty() || given.contains('\0') {
            return Err(RootsError::NotAPath(given.to_owned()));
        }
        if given == "~" || given.starts_with("~/") {
            return Err(RootsError::Home(given.to_owned()));
        }
        let named = cwd.join(given);
        match named.is_absolute() {
            true => self.locate(&named, given),
            false => Err(RootsError::NotAbsolute(given.to_owned())),
        }
    }

    fn locate(&self, named: &Path, given: &str) -> Result<ResolvedPath, RootsError> {
        if let Some((root, relative)) = self.find(named) {
            match self.settle(root, &relative) {
                Ok(relative) => return self.place(root, relative, given),
                Err(error) if may_be_a_link_out(&error) => {}
                Err(error) => return Err(io_error(given, error)),
            }
        }
        // An absolute link, or a name that only resolves into a root: look again under the
        // resolved name. The handle still decides, so a race can only fail.
        let real = resolve_path(named);
        let found = self.find(&real);
        let (root, relative) = found.ok_or_else(|| RootsError::Outside(given.to_owned()))?;
        let relative = self.settle(root, &relative).map_err(|error| io_error(given, error))?;
        self.place(root, relative, given)
    }

    fn settle(&self, root: usize, relative: &Path) -> io::Result<PathBuf> {
        settle(&self.roots.get(root).ok_or(io::ErrorKind::NotFound)?.dir, relative)
    }

    fn place(
        &self,
        root: usize,
        relative: PathBuf,
        given: &str,
    ) -> Result<ResolvedPath, RootsError> {
        let at = self.roots.get(root).ok_or_else(|| RootsError::Outside(given.to_owned()))?;
        let [path, real] = [at.names[0].join(&relative), at.names[1].join(&relative)];
        if self.forbidden.names(&real) {
            return Err(RootsError::Forbidden(given.to_owned()));
        }
        Ok(ResolvedPath { root, relative, path, real, given: given.to_owned() })
    }

    fn find(&self, path: &Path) -> Option<(usize, PathBuf)> {
        self.roots.iter().enumerate().find_map(|(index, root)| {
            let relative = root.names.iter().find_map(|name| path.strip_prefix(name).ok())?;
            Some((index, relative.to_owned()))
        })
    }
}

/// The path below `dir` without links and `..`. Names at its end may not exist yet.
fn settle(dir: &Dir, relative: &Path) -> io::Result<PathBuf> {
    let mut existing = relative;
    let mut new = Vec::new();
    loop {
        let found = match existing.as_os_str().is_empty() {
            true => Ok(PathBuf::new()),
            false => dir.canonicalize(existing),
        };
        let error = match found {
            Ok(found) => {
                let names = found.components().filter(|part| matches!(part, Component::Normal(_)));
                let found: PathBuf = names.collect();
                return Ok(new.iter().rev().fold(found, |path, name| path.join(name)));
            }
            Err(error) => error,
        };
        if error.kind() != io::ErrorKind::NotFound {
            return Err(error);
        }
        // What looks like a new name may be a link to nothing, which nobody may write through.
        if dir.symlink_metadata(existing).is_ok() {
            return Err(io::Error::new(error.kind(), "a symbolic link that leads nowhere"));
        }
        match (existing.components().next_back(), existing.parent()) {
            (Some(Component::Normal(name)), Some(parent)) => {
                new.push(name);
                existing = parent;
            }
            _ => return Err(error),
        }
    }
}

/// Resolves `path` as far as it exists: symbolic links are followed and `..` goes up from where
/// they lead, as it does for the kernel. For comparing and showing: what is opened is decided by a
/// handle.
pub fn resolve_path(path: &Path) -> PathBuf {
    /// The kernel's own limit.
    const MAX_LINKS: usize = 40;
    let mut n_links = 0;
    let mut real = PathBuf::new();
    let mut rest: Vec<PathBuf> = parts(path);
    while let Some(part) = rest.pop() {
        if part.as_os_str() == ".." {
            real.pop();
            continue;
        }
        real.push(part);
        let Ok(target) = real.read_link() else { continue };
        n_links += 1;
        if n_links > MAX_LINKS {
            break;
        }
        real.pop();
        rest.extend(parts(&target));
    }
    rest.iter().rev().fold(real, |path, part| path.join(part))
}

/// The parts of a path, the last one first.
fn parts(path: &Path) -> Vec<PathBuf> {
    let parts = path.components().filter(|part| *part != Component::CurDir);
    parts.rev().map(|part| PathBuf::from(part.as_os_str())).collect()
}

/// `path` with `..` taken away together with the name before it, whatever that name is.
pub fn without_dots(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => _ = plain.pop(),
            part => plain.push(part),
        }
    }
    plain
}

fn may_be_a_link_out(error: &io::Error) -> bool {
    // EXDEV from the kernel; "permission denied" where it is emulated.
    matches!(error.kind(), io::ErrorKind::CrossesDevices | io::ErrorKind::PermissionDenied)
}
