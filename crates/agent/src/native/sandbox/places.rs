//! The places in a workspace that make other programs run things.
//!
//! What is written there runs later, outside the sandbox and with all of somebody's rights: a
//! hook of git, a server that an editor or another agent starts. So it cannot be changed from
//! inside, nor made where it is not there yet.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Relative to a root.
const PROTECTED: [&str; 15] = [
    ".git/hooks",
    ".git/config",
    ".git/modules",
    ".mcp.json",
    ".claude",
    ".codex",
    ".gemini",
    ".qwen",
    ".cursor",
    ".opencode",
    "opencode.json",
    ".vscode",
    ".idea",
    ".zed",
    ".switchyard",
];

/// Also protected where a root is somebody's home.
const PROTECTED_AT_HOME: [&str; 12] = [
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".zlogin",
    ".gitconfig",
    ".ssh",
    ".config",
    ".local",
];

/// The protected places of some roots, absolute.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Places {
    /// Directories above protected places: may be changed but not moved away.
    pub(super) anchors: Vec<PathBuf>,
    /// There, and not to be changed.
    pub(super) sealed: Vec<PathBuf>,
    /// Not there, and not to be made.
    pub(super) absent: Vec<PathBuf>,
    /// There as a symbolic link, which something else could be put in place of.
    pub(super) links: Vec<PathBuf>,
}

impl Places {
    /// `roots` without symbolic links in them.
    pub(super) fn survey(roots: &[PathBuf]) -> Self {
        let home = std::env::home_dir().and_then(|home| home.canonicalize().ok());
        let mut places = Self::default();
        for root in roots {
            let is_home = home.as_ref() == Some(root);
            let at_home = PROTECTED_AT_HOME.iter().filter(|_| is_home);
            for name in PROTECTED.iter().chain(at_home) {
                places.look(root, Path::new(name));
            }
        }
        for list in [&mut places.anchors, &mut places.sealed, &mut places.absent, &mut places.links]
        {
            list.sort();
            list.dedup();
        }
        places
    }

    fn look(&mut self, root: &Path, name: &Path) {
        let mut path = root.to_path_buf();
        let mut parts = name.components().peekable();
        while let Some(part) = parts.next() {
            path.push(part);
            let is_last = parts.peek().is_none();
            match path.symlink_metadata() {
                // Also what cannot be looked at cannot be made a mount point of; it is then
                // refused as it is being made.
                Err(_) => return self.absent.push(path),
                Ok(found) if found.is_symlink() => return self.links.push(path),
                Ok(found) if found.is_dir() && !is_last => self.anchors.push(path.clone()),
                Ok(_) => return self.sealed.push(path),
            }
        }
    }
}

/// Empty directories that stand where something must not be made, while commands run. Shared by
/// all sessions of a process: a place is cleared when the last command that needs it has ended.
#[derive(Debug, Clone, Default)]
pub(super) struct Placeholders(Arc<Mutex<HashMap<PathBuf, usize>>>);

/// Some placeholders; they are gone when this is dropped.
#[derive(Debug, Default)]
pub(super) struct Standing {
    all: Placeholders,
    paths: Vec<PathBuf>,
}

impl Placeholders {
    pub(super) fn put(&self, absent: &[PathBuf]) -> io::Result<Standing> {
        let mut standing = Standing { all: self.clone(), paths: Vec::new() };
        for path in absent {
            let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            match std::fs::create_dir(path) {
                Ok(()) => {}
                // By another command between the survey and now, or by somebody else, whose it
                // then is.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    if !all.contains_key(path) {
                        continue;
                    }
                }
                Err(error) => return Err(error),
            }
            *all.entry(path.clone()).or_default() += 1;
            standing.paths.push(path.clone());
        }
        Ok(standing)
    }
}

impl Drop for Standing {
    fn drop(&mut self) {
        let mut all = self.all.0.lock().unwrap_or_else(PoisonError::into_inner);
        for path in &self.paths {
            let Some(n) = all.get_mut(path) else { continue };
            *n -= 1;
            if *n == 0 {
                all.remove(path);
                // One that somebody has put something into is theirs, and stays.
                let _ = std::fs::remove_dir(path);
            }
        }
    }
}
