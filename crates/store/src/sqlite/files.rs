//! The log's files, and how they come into being.
//!
//! In: the directory. Out: paths, and an empty database file that only its owner can read.
//! `SQLite` holds POSIX locks on the database file, which the kernel drops as soon as this
//! process closes *any* handle to it: so nothing here opens the file once it is in place.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::{DirBuilderExt, MetadataExt as _, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::heads::Heads;
use crate::{StoreError, private_file};

/// The free space that a new session needs: several times what it and the write-ahead log take
/// until the first prompt.
const LEAST_SPACE: u64 = 256 << 10;

#[derive(Debug, Clone)]
pub(super) struct LogFiles {
    pub(super) dir: PathBuf,
    pub(super) database: PathBuf,
    pub(super) wal: PathBuf,
    pub(super) heads: PathBuf,
    pub(super) claims: PathBuf,
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
            heads: dir.join("heads"),
            claims: dir.join("claims"),
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
        let has_wal = fs::metadata(&self.wal).is_ok_and(|meta| meta.len() > 0);
        let has_heads = self.heads.exists();
        let n_known = if has_heads { Heads::open(&self.heads)?.all().len() } else { 0 };
        if !has_wal && n_known == 0 {
            return Ok(());
        }
        let detail = format!(
            "it is missing or empty, but the files beside it know of {n_known} sessions; restore \
             it, or move `heads` and `switchyard.db-wal` away to start anew"
        );
        Err(StoreError::NotALog { path: self.database.clone(), detail })
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
        let Ok(found) = rustix::fs::statvfs(&self.dir) else { return Ok(()) };
        // Some file systems do not say how large they are.
        let is_known = found.f_blocks > 0;
        match is_known && found.f_bavail.saturating_mul(found.f_frsize) < LEAST_SPACE {
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
