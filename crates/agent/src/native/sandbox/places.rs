//! The places in a workspace that make other programs run things.
//!
//! What is written there runs later, outside the sandbox and with all of somebody's rights: a
//! hook of git, a server that an editor or another agent starts. So it cannot be changed from
//! inside, nor made where it is not there yet.

use std::path::{Path, PathBuf};

use super::placeholders::is_placeholder;

/// Relative to a root.
const PROTECTED: [&str; 16] = [
    ".git/hooks",
    ".git/config",
    // Leads git to another directory for its configuration.
    ".git/commondir",
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

/// Not to be changed where they are there; making them is harmless, or in vain until somebody
/// agrees to them.
const PROTECTED_IF_THERE: [&str; 7] = [
    ".husky",
    ".envrc",
    ".gitmodules",
    ".devcontainer",
    ".kiro",
    ".claude.json",
    "switchyard.toml",
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
            for name in PROTECTED_IF_THERE {
                if root.join(name).symlink_metadata().is_ok() {
                    places.look(root, Path::new(name));
                }
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
                Ok(found) if is_placeholder(&path, &found) => return self.absent.push(path),
                Ok(found) if found.is_symlink() => return self.links.push(path),
                Ok(found) if found.is_dir() && !is_last => self.anchors.push(path.clone()),
                Ok(_) => return self.sealed.push(path),
            }
        }
    }
}
