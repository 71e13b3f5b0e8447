//! Puts new files in the place of a log's old ones.
//!
//! In: the log, which the caller has for itself, and drafts that are complete and on the disk. At no
//! moment is there a log that is silently empty or wrong: if this is interrupted, the old
//! database is there, and either all of it, or the second copy of the heads tells what it lacks.

use std::fs::{self, File};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use super::super::files::{LogFiles, free_space};
use super::copying::remove_if_there;
use crate::StoreError;

/// Beside the data itself: tables, indexes, and what else happens on the disk meanwhile.
const MARGIN: u64 = 16 << 20;

const DRAFT: &str = "draft";

/// The name of the database while it is made.
pub(super) fn draft_of(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".");
    name.push(DRAFT);
    path.with_file_name(name)
}

/// An error about a file in the making, as one about the file that was to be made.
pub(super) fn plainly(mut error: StoreError) -> StoreError {
    if let Some(path) = error.path_mut()
        && path.extension().is_some_and(|extension| extension == DRAFT)
    {
        *path = path.with_extension("");
    }
    error
}

/// Refuses what would not fit beside the log.
pub(super) fn require_space(dir: &Path, needed: u64) -> Result<(), StoreError> {
    let needed = needed.saturating_add(MARGIN);
    match free_space(dir) {
        Some(free) if free < needed => {
            Err(StoreError::NoRoom { path: dir.to_owned(), needed, free })
        }
        _ => Ok(()),
    }
}

/// Replaces the database by its draft, `heads` by `heads`, if any, and keeps the old files in
/// `keep`.
pub(super) fn replace(
    files: &LogFiles,
    draft: &Path,
    heads: Option<&Path>,
    keep: Option<&Path>,
) -> Result<(), StoreError> {
    if let Some(keep) = keep {
        keep_files(files, keep)?;
    }
    let rename =
        |from: &Path, to: &Path| fs::rename(from, to).map_err(StoreError::io("replace", to));
    // The heads first: those of later beside a database of earlier tell what is missing.
    if let Some(heads) = heads {
        rename(heads, &files.heads)?;
        files.sync_dir()?;
    }
    // The old write-ahead log would be read into the new database.
    for path in [&files.wal, &files.shm] {
        remove_if_there(path)?;
    }
    files.sync_dir()?;
    rename(draft, &files.database)?;
    files.sync_dir()
}

/// A name that no file has: two repairs can come within a second.
pub(super) fn unused(dir: &Path, name: &str) -> PathBuf {
    let numbered = (2..).map(|n| dir.join(format!("{name}-{n}")));
    let mut names = std::iter::once(dir.join(name)).chain(numbered);
    names.find(|path| !path.exists()).unwrap_or_else(|| dir.join(name))
}

/// Gives the files a second name in a directory of their own, which costs no space.
fn keep_files(files: &LogFiles, keep: &Path) -> Result<(), StoreError> {
    fs::DirBuilder::new().mode(0o700).create(keep).map_err(StoreError::io("create", keep))?;
    for path in [&files.database, &files.wal, &files.heads] {
        if !path.exists() {
            continue;
        }
        let name = keep.join(path.file_name().unwrap_or_default());
        link(path, &name)?;
    }
    File::open(keep).and_then(|dir| dir.sync_all()).map_err(StoreError::io("sync", keep))?;
    files.sync_dir()
}

/// A second name; a copy where the file system has no such thing.
pub(super) fn link(path: &Path, name: &Path) -> Result<(), StoreError> {
    if fs::hard_link(path, name).is_ok() {
        return Ok(());
    }
    fs::copy(path, name).map_err(StoreError::io("copy", path))?;
    File::open(name).and_then(|copy| copy.sync_all()).map_err(StoreError::io("sync", name))
}
