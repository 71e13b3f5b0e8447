//! The places in a workspace that make other programs run things.
//!
//! What is written there runs later, outside the sandbox and with all of somebody's rights: a
//! hook of git, a server that an editor or another agent starts. So it cannot be changed from
//! inside, nor made where it is not there yet.

use std::path::{Path, PathBuf};

use super::placeholders::is_placeholder;

/// The protected places of some roots, absolute.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ProtectedPlaces {
    /// Directories above protected places: may be changed but not moved away.
    pub(super) anchors: Vec<PathBuf>,
    /// Paths that exist and may not be changed.
    pub(super) sealed: Vec<PathBuf>,
    /// Paths that do not exist and may not be created.
    pub(super) absent: Vec<PathBuf>,
    /// Paths that are symbolic links, which something else could be put in place of.
    pub(super) links: Vec<PathBuf>,
}

impl ProtectedPlaces {
    /// The places in `roots`, and what of `more` is in them; both without symbolic links.
    pub(super) fn survey(roots: &[PathBuf], more: &[PathBuf]) -> Self {
        let mut places = Self::default();
        for root in roots {
            for (name, is_kept_absent) in roots::sandboxed_places(root) {
                if is_kept_absent || root.join(&name).symlink_metadata().is_ok() {
                    places.look(root, &name);
                }
            }
            for below in more.iter().filter_map(|path| path.strip_prefix(root).ok()) {
                places.look(root, below);
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
