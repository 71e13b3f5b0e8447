//! Reads and writes text files for an agent, inside the session's roots and nowhere else.
//!
//! In: absolute paths as the agent names them. Out: text, or an error for the agent.
//!
//! Always true: every open goes through a directory handle that the kernel does not let
//! out of its root, so a symbolic link swapped in between changes nothing. Only regular
//! files are read. A write replaces the file as a whole: whoever reads it sees the old
//! text or the new one.

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions, OpenOptionsExt};
use wire::{RpcError, codes};

/// Larger files are not something that an agent can use as text.
const MAX_FILE_BYTES: u64 = 64 << 20;
/// Opening a FIFO without this waits for a writer for ever.
const O_NONBLOCK: i32 = 0o4000;

/// The directories that a session may touch.
#[derive(Debug)]
pub struct Roots {
    roots: Vec<Root>,
    /// May be read and nothing else; need not exist yet.
    readable: Option<PathBuf>,
}

#[derive(Debug)]
struct Root {
    /// As the client named it, and as the file system knows it.
    names: [PathBuf; 2],
    dir: Dir,
}

#[derive(Debug, thiserror::Error)]
#[error("cannot open the directory {}: {source}", .path.display())]
pub struct RootError {
    path: PathBuf,
    source: io::Error,
}

impl Roots {
    pub fn open(paths: &[PathBuf]) -> Result<Self, RootError> {
        let open = |path: &PathBuf| {
            let real = path.canonicalize()?;
            let dir = Dir::open_ambient_dir(&real, ambient_authority())?;
            Ok(Root { names: [path.clone(), real], dir })
        };
        let roots = paths
            .iter()
            .map(|path| open(path).map_err(|source| RootError { path: path.clone(), source }));
        Ok(Self { roots: roots.collect::<Result<_, _>>()?, readable: None })
    }

    /// Lets files below `dir` be read as well.
    #[must_use]
    pub fn also_readable(mut self, dir: Option<PathBuf>) -> Self {
        self.readable = dir;
        self
    }

    /// The roots with symbolic links resolved.
    pub fn paths(&self) -> Vec<PathBuf> {
        self.roots.iter().map(|root| root.names[1].clone()).collect()
    }

    /// Whether `path`, resolved, is inside.
    pub fn contains(&self, path: &Path) -> bool {
        let Ok(real) = path.canonicalize() else { return false };
        self.roots.iter().any(|root| real.starts_with(&root.names[1]))
    }

    /// `fs/read_text_file`: the text, or the `limit` lines from `line` (counted from 1).
    pub fn read_text(
        &self,
        path: &str,
        line: Option<u64>,
        limit: Option<u64>,
    ) -> Result<String, RpcError> {
        let text = match self.readable_part(path) {
            Some((dir, relative)) => {
                read_whole(&dir, relative).map_err(|error| explain(path, &error))?
            }
            None => self.at(path, read_whole)?,
        };
        if line.is_none() && limit.is_none() {
            return Ok(text);
        }
        let skipped = usize::try_from(line.unwrap_or(1).saturating_sub(1)).unwrap_or(usize::MAX);
        let taken = limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
        Ok(text.split_inclusive('\n').skip(skipped).take(taken).collect())
    }

    /// `fs/write_text_file`: makes the file and the directories above it as needed.
    pub fn write_text(&self, path: &str, content: &str) -> Result<(), RpcError> {
        self.at(path, |dir, relative| replace_whole(dir, relative, content))
    }

    /// Where `path` is in the directory that may only be read.
    fn readable_part<'a>(&self, path: &'a str) -> Option<(Dir, &'a Path)> {
        let readable = self.readable.as_ref()?;
        let relative = Path::new(path).strip_prefix(readable).ok()?;
        Some((Dir::open_ambient_dir(readable, ambient_authority()).ok()?, relative))
    }

    /// Runs `action` with the handle of the root that holds `path`.
    fn at<T>(
        &self,
        path: &str,
        action: impl Fn(&Dir, &Path) -> io::Result<T>,
    ) -> Result<T, RpcError> {
        let named = Path::new(path);
        if !named.is_absolute() || path.contains('\0') {
            return Err(RpcError::invalid_params(format_args!("`{path}` is not an absolute path")));
        }
        let direct = self.find(named).map(|(dir, relative)| action(dir, &relative));
        match direct {
            Some(Ok(value)) => return Ok(value),
            Some(Err(error)) if !may_be_a_link_out(&error) => return Err(explain(path, &error)),
            _ => {}
        }
        // An absolute link, or a name that only resolves into a root: look again under the
        // resolved name. The handle still decides, so a race can only fail.
        let real = super::permission::resolve_path(named);
        match self.find(&real).map(|(dir, relative)| action(dir, &relative)) {
            Some(result) => result.map_err(|error| explain(path, &error)),
            None => Err(RpcError::invalid_params(format_args!(
                "`{path}` is outside the session's directories"
            ))),
        }
    }

    fn find(&self, path: &Path) -> Option<(&Dir, PathBuf)> {
        self.roots.iter().find_map(|root| {
            let relative = root.names.iter().find_map(|name| path.strip_prefix(name).ok())?;
            Some((&root.dir, relative.to_owned()))
        })
    }
}

fn read_whole(dir: &Dir, path: &Path) -> io::Result<String> {
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(O_NONBLOCK);
    let file = dir.open_with(path, &options)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
    }
    if metadata.len() > MAX_FILE_BYTES {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, "the file is larger than 64 MiB"));
    }
    let mut text = String::new();
    // The file may grow while we read.
    file.take(MAX_FILE_BYTES + 1).read_to_string(&mut text)?;
    Ok(text)
}

fn replace_whole(dir: &Dir, path: &Path, content: &str) -> io::Result<()> {
    let old = match dir.symlink_metadata(path) {
        // Renaming over a link would replace the link; its target is looked up instead.
        Ok(old) if old.is_symlink() => {
            let target = dir.canonicalize(path)?;
            return replace_whole(dir, &target, content);
        }
        Ok(old) if !old.is_file() => {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
        }
        Ok(old) => Some(old),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    let parent = path.parent().unwrap_or(Path::new(""));
    if !parent.as_os_str().is_empty() {
        dir.create_dir_all(parent)?;
    }
    let temporary = parent.join(format!(".switchyard-{}", crate::mint::turn_id()));
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    let mut file = dir.open_with(&temporary, &options)?;
    let written = file.write_all(content.as_bytes()).and_then(|()| match &old {
        Some(old) => file.set_permissions(old.permissions()),
        None => Ok(()),
    });
    let renamed = written.and_then(|()| dir.rename(&temporary, dir, path));
    if renamed.is_err() {
        let _ = dir.remove_file(&temporary);
    }
    renamed
}

fn may_be_a_link_out(error: &io::Error) -> bool {
    // EXDEV from the kernel; "permission denied" where it is emulated.
    matches!(error.kind(), io::ErrorKind::CrossesDevices | io::ErrorKind::PermissionDenied)
}

fn explain(path: &str, error: &io::Error) -> RpcError {
    let code = match error.kind() {
        io::ErrorKind::NotFound => codes::NOT_FOUND,
        io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData | io::ErrorKind::FileTooLarge => {
            codes::INVALID_PARAMS
        }
        _ => codes::INTERNAL,
    };
    RpcError::new(code, format!("{path}: {error}"))
}

#[cfg(test)]
mod tests;
