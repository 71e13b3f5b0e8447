//! Whose files count as a project's.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Who may say something about a project: the user we run as, root, and whoever owns the
/// directory that the session works in. In a directory above it, anybody may have left something.
#[derive(Debug, Clone, Copy)]
pub struct Owners([u32; 3]);

impl Owners {
    pub fn of(directory: &Path) -> Self {
        let own = rustix::process::geteuid().as_raw();
        Self([own, 0, directory.metadata().map_or(own, |found| found.uid())])
    }

    /// Whether `path` is there and theirs; a link counts as itself.
    pub fn own(self, path: &Path) -> bool {
        path.symlink_metadata().is_ok_and(|found| self.0.contains(&found.uid()))
    }

    /// How many directories from `directory` up belong to the same repository, with its top;
    /// just one, if it is in none.
    pub fn n_in_repository(self, directory: &Path) -> usize {
        let above = directory.ancestors().take_while(|dir| self.own(dir));
        above.map(|dir| dir.join(".git")).position(|git| self.own(&git)).map_or(1, |n| n + 1)
    }
}
