//! A place where a log can be read whose write-ahead log is damaged, while its files stay as they are.
//!
//! In: the log's files, which nobody may have open while the place is made. Out: a connection that
//! reads all intact pages of the write-ahead log, also those behind damaged ones, over the database,
//! or over a new one if that is missing.

use std::fs::{self, File};
use std::os::unix::fs::{DirBuilderExt as _, FileExt as _};
use std::path::PathBuf;

use rusqlite::Connection;

use super::super::fault::SqliteFault;
use super::super::files::LogFiles;
use super::super::schema;
use super::copying::DraftDatabase;
use super::swap::{draft_of, link};
use super::wal_frames;
use crate::StoreError;

/// `SQLite`'s default, which we never change.
const PAGE: usize = 4096;
/// In the first page: the change counter at which the size in it was written.
const VERSION_VALID_FOR: std::ops::Range<usize> = 92..96;

/// A directory where the database has a second name, and beside it a write-ahead log without damaged
/// places. `SQLite` finds the one by the name of the other, and the real files stay as they are.
pub(super) struct ReadingPlace {
    dir: PathBuf,
    database: PathBuf,
    /// There is none, and what the write-ahead log has is read into a new one.
    pub(super) is_database_missing: bool,
}

impl ReadingPlace {
    /// Makes one for the purpose that is named.
    pub(super) fn make(files: &LogFiles, purpose: &str) -> Result<Self, StoreError> {
        let dir = draft_of(&files.dir.join(purpose));
        // What an interrupted attempt left.
        let _ = fs::remove_dir_all(&dir);
        fs::DirBuilder::new().mode(0o700).create(&dir).map_err(StoreError::io("create", &dir))?;
        let place = LogFiles::new(&dir);
        let is_database_missing = files.require_database().is_err();
        let made = Self { dir, database: place.database, is_database_missing };
        if is_database_missing {
            // SQLite would delete the write-ahead log of an empty one.
            DraftDatabase::begin(&made.database)?.finish()?;
        } else {
            link(&files.database, &made.database)?;
        }
        wal_frames::mend(&files.wal, &place.wal)?;
        Ok(made)
    }

    /// The first page says where all tables are. If it is damaged, that of a new database takes its
    /// place: all logs that were made by this version have their tables in the same places.
    /// With whether that was necessary.
    pub(super) fn open(&self, files: &LogFiles) -> Result<(Connection, bool), StoreError> {
        let at = |fault: SqliteFault| fault.at(&files.database);
        match schema::open_for_check(&self.database) {
            Ok(connection) if schema::is_current(&connection) => Ok((connection, false)),
            _ => {
                self.replace_first_page(files)?;
                Ok((schema::open_for_check(&self.database).map_err(at)?, true))
            }
        }
    }

    fn replace_first_page(&self, files: &LogFiles) -> Result<(), StoreError> {
        let sample_path = draft_of(&self.database);
        DraftDatabase::begin(&sample_path)?.finish()?;
        let replace = || -> std::io::Result<()> {
            let mut sample = fs::read(&sample_path)?;
            // Not the size that the sample has: the file's own counts if these do not match.
            sample[VERSION_VALID_FOR].fill(0xff);
            fs::remove_file(&self.database)?;
            let n_bytes = usize::try_from(fs::copy(&files.database, &self.database)?);
            // Of a file that was cut off the other tables are missing as well.
            let end = n_bytes.unwrap_or(usize::MAX) / PAGE * PAGE;
            let file = File::options().write(true).open(&self.database)?;
            file.write_all_at(&sample[..PAGE], 0)?;
            let missing = sample.get(end.max(PAGE)..).unwrap_or_default();
            file.write_all_at(missing, end.max(PAGE) as u64)
        };
        replace().map_err(StoreError::io("copy", &files.database))
    }
}

impl Drop for ReadingPlace {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.dir);
    }
}
