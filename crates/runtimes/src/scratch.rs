//! Private temporary directories, and the removal of those that a killed process left.
//!
//! Prompts, images and MCP servers pass through files that other users must not read. Each
//! directory is named after the process that made it, so that the next one can remove what a
//! `kill -9` left behind.

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// The place in which temporary directories are made.
#[derive(Debug, Clone, Default)]
pub struct Scratch {
    /// `None`: the system's temporary directory, where nothing is swept.
    parent: Option<PathBuf>,
}

impl Scratch {
    /// Below `parent`, which is made when it is needed.
    pub fn below(parent: impl Into<PathBuf>) -> Self {
        Self { parent: Some(parent.into()) }
    }

    /// A fresh directory that only this user can look into; removed when it is dropped.
    pub fn dir(&self) -> io::Result<TempDir> {
        let mut builder = tempfile::Builder::new();
        let prefix = format!("{}-", std::process::id());
        let only_us = fs::Permissions::from_mode(0o700);
        let Some(parent) = &self.parent else {
            return builder.prefix("switchyard-").permissions(only_us).tempdir();
        };
        fs::create_dir_all(parent)?;
        fs::set_permissions(parent, only_us.clone())?;
        builder.prefix(&prefix).permissions(only_us).tempdir_in(parent)
    }

    /// Removes what this process has made, because it ends without dropping it.
    pub fn clear(&self) {
        self.remove(|pid| pid == std::process::id());
    }

    /// Removes what processes left that no longer live.
    pub fn sweep(&self) {
        self.remove(|pid| !Path::new("/proc").join(pid.to_string()).exists());
    }

    fn remove(&self, is_done: impl Fn(u32) -> bool) {
        let entries = self.parent.iter().filter_map(|dir| fs::read_dir(dir).ok());
        for entry in entries.flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let pid = name.split_once('-').and_then(|(pid, _)| pid.parse().ok());
            if pid.is_some_and(&is_done)
                && let Err(error) = fs::remove_dir_all(entry.path())
            {
                tracing::warn!(path = %entry.path().display(), %error, "cannot be removed");
            }
        }
    }
}

/// Writes a file that only this user can read.
pub fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut options = fs::OpenOptions::new();
    let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(path)?;
    file.write_all(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_are_private_and_go_away() {
        let home = tempfile::tempdir().unwrap();
        let scratch = Scratch::below(home.path().join("scratch"));
        let dir = scratch.dir().unwrap();
        assert_eq!(dir.path().metadata().unwrap().permissions().mode() & 0o777, 0o700);
        let file = dir.path().join("prompt");
        write_private(&file, b"secret").unwrap();
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        let path = dir.path().to_owned();
        drop(dir);
        assert!(!path.exists());
    }

    #[test]
    fn what_the_dead_left_is_swept_and_what_the_living_have_is_not() {
        let home = tempfile::tempdir().unwrap();
        let scratch = Scratch::below(home.path());
        // No process has this number: it is above every limit.
        let dead = home.path().join("4294967295-x");
        let living = home.path().join(format!("{}-x", std::process::id()));
        let foreign = home.path().join("notes");
        for dir in [&dead, &living, &foreign] {
            fs::create_dir(dir).unwrap();
        }
        scratch.sweep();
        assert!(!dead.exists() && living.exists() && foreign.exists());
        scratch.clear();
        assert!(!living.exists() && foreign.exists());
    }
}
