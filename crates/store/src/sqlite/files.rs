//! The log's files, and how they come into being.
//!
//! In: the directory. Out: paths, and an empty database file that only its owner can read.
//! `SQLite` holds POSIX locks on the database file, which the kernel drops as soon as this
//! process closes *any* handle to it: so nothing here opens the file once it is in place.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::os::unix::fs::{DirBuilderExt, MetadataExt as _, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::heads::Heads;
use crate::{StoreError, private_file};

/// The beginning of the name of a copy that is saved when the files are removed under a log.
pub(super) const SAVED_COPY: &str = "switchyard-saved-";

/// The free space that a new session needs: several times what it and the write-ahead log take
/// until the first prompt.
const LEAST_SPACE: u64 = 256 << 10;

/// Attempts to share the log, with pauses between them: a check has it alone for a moment, to read
/// the write-ahead log.
const SHARE_TRIES: u32 = 50;
const SHARE_PAUSE: Duration = Duration::from_millis(20);

#[derive(Debug, Clone)]
pub(super) struct LogFiles {
    pub(super) dir: PathBuf,
    pub(super) database: PathBuf,
    pub(super) wal: PathBuf,
    pub(super) shm: PathBuf,
    pub(super) heads: PathBuf,
    pub(super) claims: PathBuf,
    /// Locked by everybody who has the log open; alone by whoever replaces its files.
    in_use: PathBuf,
    /// See [`super::spare_room`].
    pub(super) spare: PathBuf,
}

/// Which files the log has open, by device and inode: under the same names there may be others.
#[derive(Debug, Clone)]
pub(super) struct OpenFiles(Vec<(PathBuf, (u64, u64))>);

impl OpenFiles {
    /// The first of them that is no longer under its name.
    pub(super) fn first_gone(&self) -> Option<&Path> {
        let is_gone = |(path, known): &&(PathBuf, (u64, u64))| match fs::metadata(path) {
            Ok(found) => (found.dev(), found.ino()) != *known,
            // Anything else (no permission, an error of the disk) is told by whoever reads or writes.
            Err(error) => error.kind() == std::io::ErrorKind::NotFound,
        };
        self.0.iter().find(is_gone).map(|(path, _)| path.as_path())
    }
}

impl LogFiles {
    pub(super) fn new(dir: &Path) -> Self {
        Self {
            dir: dir.to_owned(),
            database: dir.join("switchyard.db"),
            wal: dir.join("switchyard.db-wal"),
            shm: dir.join("switchyard.db-shm"),
            heads: dir.join("heads"),
            claims: dir.join("claims"),
            in_use: dir.join("in-use.lock"),
            spare: dir.join("spare-room"),
        }
    }

    /// Makes the directories and keeps every other process out of `open` until the
    /// returned file is dropped: two of them must not create the same tables.
    pub(super) fn prepare(&self) -> Result<File, StoreError> {
        for dir in [&self.dir, &self.claims] {
            fs::DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(dir)
                .map_err(StoreError::io("create", dir))?;
        }
        let path = self.dir.join("open.lock");
        let lock = private_file::open(&path)?;
        lock.lock().map_err(StoreError::io("lock", &path))?;
        Ok(lock)
    }

    /// Says that the log is in use, until the returned file is dropped: its files are not replaced
    /// meanwhile.
    pub(super) fn share(&self) -> Result<File, StoreError> {
        let lock = private_file::open(&self.in_use)?;
        for _ in 0..SHARE_TRIES {
            match lock.try_lock_shared() {
                Ok(()) => return Ok(lock),
                Err(TryLockError::WouldBlock) => std::thread::sleep(SHARE_PAUSE),
                Err(TryLockError::Error(error)) => {
                    return Err(StoreError::io("lock", &self.in_use)(error));
                }
            }
        }
        let detail = "it is being repaired, compacted or restored".into();
        Err(StoreError::Busy { path: self.database.clone(), detail })
    }

    /// Keeps everybody else out until the returned file is dropped, so that files can be replaced.
    pub(super) fn take_alone(&self) -> Result<File, StoreError> {
        let lock = private_file::open(&self.in_use)?;
        match lock.try_lock() {
            Ok(()) => Ok(lock),
            Err(TryLockError::WouldBlock) => {
                Err(StoreError::LogInUse { path: self.database.clone() })
            }
            Err(TryLockError::Error(error)) => Err(StoreError::io("lock", &self.in_use)(error)),
        }
    }

    /// Refuses to go on where there is no log.
    pub(super) fn require_database(&self) -> Result<(), StoreError> {
        match fs::metadata(&self.database) {
            Ok(meta) if meta.len() > 0 => Ok(()),
            Ok(_) => {
                let detail = "it is empty".into();
                Err(StoreError::NotALog { path: self.database.clone(), detail })
            }
            Err(error) => Err(StoreError::io("find", &self.database)(error)),
        }
    }

    /// Whether anything is left of a log, with or without its database.
    pub(super) fn has_traces(&self) -> bool {
        let has = |path: &Path| fs::metadata(path).is_ok_and(|meta| meta.len() > 0);
        [&self.database, &self.wal, &self.heads].into_iter().any(|path| has(path))
    }

    /// Whether this path has the name of one of the log's own files.
    pub(super) fn is_own(&self, path: &Path) -> bool {
        let own = [&self.database, &self.wal, &self.shm, &self.heads, &self.in_use, &self.spare];
        own.iter().any(|own| own.file_name() == path.file_name())
    }

    /// Whether the write-ahead log holds anything.
    pub(super) fn has_wal(&self) -> bool {
        fs::metadata(&self.wal).is_ok_and(|meta| meta.len() > 0)
    }

    /// Makes sure that there is a database file and that starting from it destroys nothing.
    pub(super) fn ensure_database(&self) -> Result<(), StoreError> {
        match fs::metadata(&self.database) {
            Ok(meta) if meta.len() > 0 => Ok(()),
            Ok(_) => self.refuse_to_start_over(),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                self.refuse_to_start_over()?;
                self.create_database()
            }
            Err(error) => Err(StoreError::io("look at", &self.database)(error)),
        }
    }

    /// `SQLite` takes an empty file for a new database and deletes the WAL beside it.
    fn refuse_to_start_over(&self) -> Result<(), StoreError> {
        let has_wal = self.has_wal();
        let has_heads = self.heads.exists();
        let n_known = if has_heads { Heads::open(&self.heads)?.all().len() } else { 0 };
        if !has_wal && n_known == 0 {
            return Ok(());
        }
        let backup = match self.saved_copy() {
            Some(copy) => format!("`switchyard store restore {}` brings back", copy.display()),
            None => "`switchyard store restore FILE` goes back to a backup".to_owned(),
        };
        let of_copy = self.saved_copy().map_or("", |_| " what was saved when it was removed");
        let detail = format!(
            "it is missing or empty, but the files beside it know of {n_known} sessions; \
             {backup}{of_copy}, `switchyard store repair` starts anew and names what is lost"
        );
        Err(StoreError::NotALog { path: self.database.clone(), detail })
    }

    /// The newest copy that was saved when the files were removed under a log.
    fn saved_copy(&self) -> Option<PathBuf> {
        let entries = fs::read_dir(&self.dir).ok()?.flatten().map(|entry| entry.path());
        let is_copy = |path: &PathBuf| {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            name.starts_with(SAVED_COPY) && path.extension().is_some_and(|kind| kind == "db")
        };
        // The time in their names has as many digits in each.
        entries.filter(is_copy).max()
    }

    /// To be called when they are open.
    pub(super) fn opened(&self) -> Result<OpenFiles, StoreError> {
        let identity = |path: &PathBuf| {
            let found = fs::metadata(path).map_err(StoreError::io("look at", path))?;
            Ok((path.clone(), (found.dev(), found.ino())))
        };
        let open = [&self.database, &self.wal, &self.heads].map(identity);
        Ok(OpenFiles(open.into_iter().collect::<Result<_, StoreError>>()?))
    }

    /// The file appears under its name already closed and with its final mode.
    fn create_database(&self) -> Result<(), StoreError> {
        let draft = self.dir.join("switchyard.db.new");
        let path = &self.database;
        OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&draft)
            .map_err(StoreError::io("create", &draft))?;
        fs::rename(&draft, path).map_err(StoreError::io("create", path))
    }

    /// Whether there is room for a new session: one that could not log its first events would stay
    /// as an empty one, for which there is hardly room to delete it.
    pub(super) fn check_space(&self) -> Result<(), StoreError> {
        match free_space(&self.dir).is_some_and(|free| free < LEAST_SPACE) {
            true => Err(StoreError::DiskFull { path: self.database.clone() }),
            false => Ok(()),
        }
    }

    /// A new file survives a power cut only when its directory entry does.
    pub(super) fn sync_dir(&self) -> Result<(), StoreError> {
        File::open(&self.dir)
            .and_then(|dir| dir.sync_all())
            .map_err(StoreError::io("sync", &self.dir))
    }
}

/// The bytes that we may still write into `dir`, if its file system says how large it is.
pub(super) fn free_space(dir: &Path) -> Option<u64> {
    let found = rustix::fs::statvfs(dir).ok()?;
    (found.f_blocks > 0).then(|| found.f_bavail.saturating_mul(found.f_frsize))
}
