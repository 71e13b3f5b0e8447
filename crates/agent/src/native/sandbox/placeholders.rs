//! Placeholders for files that must not be made while commands run: a mount needs something to be
//! mounted on.
//!
//! Always true: a placeholder is there as long as any command of any process needs it, and gone
//! afterwards. Each user holds a shared lock on it, and only who can have it alone removes it.
//! One that a killed process has left is known by its time, and is taken over by the next.

use std::collections::HashMap;
use std::fs::{self, File, Metadata};
use std::io::{self, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use rustix::fs::{FlockOperation, flock};

use crate::native::lock;

/// Placeholders that are files, with content that tells git nothing new: a directory there would
/// stop it.
const FILES: [(&str, &str); 2] = [("commondir", ".\n"), ("config.worktree", "")];
/// Modification time of placeholders: no file that anybody made is so old.
const MADE_AT: Duration = Duration::from_secs(1);
/// Somebody else may remove what we have just found.
const MAX_TRIES: usize = 10;

/// Shared by all sessions of a process.
#[derive(Debug, Clone, Default)]
pub(super) struct Placeholders(Arc<Mutex<HashMap<PathBuf, UsedPlaceholder>>>);

#[derive(Debug)]
struct UsedPlaceholder {
    n: usize,
    /// Open, with a shared lock on it.
    opened: File,
}

/// Some placeholders, needed until this is dropped.
#[derive(Debug, Default)]
pub(super) struct PlaceholderGuard {
    all: Placeholders,
    paths: Vec<PathBuf>,
}

pub(super) fn is_placeholder(path: &Path, found: &Metadata) -> bool {
    let is_ours = found.modified().is_ok_and(|time| time == SystemTime::UNIX_EPOCH + MADE_AT);
    let is_empty = || fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none());
    let is_as_made = || {
        let expected = content_of_file(path).map(str::as_bytes);
        expected.is_some() && fs::read(path).ok().as_deref() == expected
    };
    match (is_ours, found.is_dir(), found.is_file()) {
        (true, true, _) => is_empty(),
        (true, _, true) => is_as_made(),
        _ => false,
    }
}

impl Placeholders {
    pub(super) fn put(&self, absent: &[PathBuf]) -> io::Result<PlaceholderGuard> {
        let mut standing = PlaceholderGuard { all: self.clone(), paths: Vec::new() };
        for path in absent {
            let mut all = lock(&self.0);
            if let Some(in_use) = all.get_mut(path) {
                in_use.n += 1;
            } else if let Some(opened) = make_or_share(path)? {
                all.insert(path.clone(), UsedPlaceholder { n: 1, opened });
            } else {
                continue;
            }
            standing.paths.push(path.clone());
        }
        Ok(standing)
    }
}

/// Makes a placeholder or shares one; none, if somebody has put something there, whose it then is.
fn make_or_share(path: &Path) -> io::Result<Option<File>> {
    for _ in 0..MAX_TRIES {
        match make(path) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                match path.symlink_metadata() {
                    Ok(found) if is_placeholder(path, &found) => {}
                    Ok(_) => return Ok(None),
                    Err(_) => continue,
                }
            }
            Err(error) => return Err(error),
        }
        let Ok(opened) = File::open(path) else { continue };
        flock(&opened, FlockOperation::NonBlockingLockShared)?;
        // Gone between opening and locking?
        let (held, there) = (opened.metadata()?, path.symlink_metadata());
        if there.is_ok_and(|there| (there.dev(), there.ino()) == (held.dev(), held.ino())) {
            return Ok(Some(opened));
        }
    }
    Err(io::Error::other(format!("{} comes and goes", path.display())))
}

fn make(path: &Path) -> io::Result<()> {
    let made = match content_of_file(path) {
        Some(content) => {
            let mut file = File::create_new(path)?;
            file.write_all(content.as_bytes())?;
            file
        }
        None => {
            fs::create_dir(path)?;
            File::open(path)?
        }
    };
    made.set_modified(SystemTime::UNIX_EPOCH + MADE_AT)
}

impl Drop for PlaceholderGuard {
    fn drop(&mut self) {
        let mut all = lock(&self.all.0);
        for path in &self.paths {
            let Some(in_use) = all.get_mut(path) else { continue };
            in_use.n -= 1;
            if in_use.n == 0 {
                let opened = all.remove(path).map(|in_use| in_use.opened);
                let is_alone = opened.as_ref().is_some_and(|file| {
                    flock(file, FlockOperation::NonBlockingLockExclusive).is_ok()
                });
                if is_alone {
                    remove(path);
                }
            }
        }
    }
}

fn remove(path: &Path) {
    // One that somebody has put something into is theirs, and stays.
    let is_ours = path.symlink_metadata().is_ok_and(|found| is_placeholder(path, &found));
    let _ = match is_ours && content_of_file(path).is_some() {
        true => fs::remove_file(path),
        false => fs::remove_dir(path),
    };
}

/// The content of a placeholder that is a file; those of all other names are directories.
fn content_of_file(path: &Path) -> Option<&'static str> {
    let name = path.file_name()?;
    FILES.iter().find(|(file, _)| name == *file).map(|(_, content)| *content)
}

#[cfg(test)]
mod tests {
    //! Who shares, who removes, and what is left behind.

    use std::fs;

    use super::{FILES, Placeholders, is_placeholder};

    #[test]
    fn the_last_of_all_processes_removes_it() {
        let dir = tempfile::tempdir().unwrap();
        let paths = [
            dir.path().join(".mcp.json"),
            dir.path().join(FILES[0].0),
            dir.path().join(FILES[1].0),
        ];
        // Two of them are two processes: nothing is shared but the file system.
        let (one, other) = (Placeholders::default(), Placeholders::default());
        let first = one.put(&paths).unwrap();
        let second = other.put(&paths).unwrap();
        let third = other.put(&paths).unwrap();
        drop(first);
        drop(third);
        assert!(paths.iter().all(|path| path.exists()));
        drop(second);
        assert!(paths.iter().all(|path| !path.exists()));
    }

    #[test]
    fn what_a_killed_process_left_is_taken_over() {
        let dir = tempfile::tempdir().unwrap();
        let paths = [
            dir.path().join(".mcp.json"),
            dir.path().join(FILES[0].0),
            dir.path().join(FILES[1].0),
        ];
        let standing = Placeholders::default().put(&paths).unwrap();
        super::lock(&standing.all.0).clear();
        std::mem::forget(standing);
        let found = |path: &std::path::PathBuf| path.symlink_metadata().unwrap();
        assert!(paths.iter().all(|path| is_placeholder(path, &found(path))));
        drop(Placeholders::default().put(&paths).unwrap());
        assert!(paths.iter().all(|path| !path.exists()));
    }

    #[test]
    fn what_is_somebodys_stays() {
        let dir = tempfile::tempdir().unwrap();
        let (empty, filled) = (dir.path().join("empty"), dir.path().join("filled"));
        fs::create_dir(&empty).unwrap();
        let standing = Placeholders::default().put(&[empty.clone(), filled.clone()]).unwrap();
        fs::write(filled.join("note"), "mine").unwrap();
        drop(standing);
        assert!(empty.exists() && filled.join("note").exists());
    }
}
