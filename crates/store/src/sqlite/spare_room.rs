//! Space that is kept for the day when the disk is full.
//!
//! Deleting needs space before it gives some: the change itself goes to the write-ahead log, and the
//! log can be emptied only when the database has room for what is in it. So a file of zeros
//! takes that much while there is plenty, and is removed when a deletion finds none.

use std::path::PathBuf;

use rustix::fs::FallocateFlags;

use super::files::{LogFiles, free_space};
use crate::private_file;

/// Enough for all that the database may have to grow by (where space is scarce, the write-ahead log
/// is copied into it every 4 MiB and one group of jobs) and for a portion of what is deleted.
const SPARE_BYTES: u64 = 16 << 20;
/// It is taken only where this many times its size is free.
const PLENTY: u64 = 4;

#[derive(Debug)]
pub(super) struct SpareRoom {
    file: PathBuf,
    database: PathBuf,
}

impl SpareRoom {
    pub(super) fn of(files: &LogFiles) -> Self {
        Self { file: files.spare.clone(), database: files.database.clone() }
    }

    /// Takes the space if it is not taken yet, there is plenty, and the log is large enough for
    /// deletions to matter. Nothing depends on it, so failures are not told.
    pub(super) fn take(&self) {
        let len = |path: &PathBuf| path.metadata().map_or(0, |meta| meta.len());
        if len(&self.file) >= SPARE_BYTES || len(&self.database) < SPARE_BYTES || self.is_scarce() {
            return;
        }
        let Ok(file) = private_file::open(&self.file) else { return };
        if rustix::fs::fallocate(&file, FallocateFlags::empty(), 0, SPARE_BYTES).is_err() {
            self.release();
        }
    }

    /// Gives the space back; whether there was any.
    pub(super) fn release(&self) -> bool {
        std::fs::remove_file(&self.file).is_ok()
    }

    /// Whether there is less than plenty.
    pub(super) fn is_scarce(&self) -> bool {
        let dir = self.file.parent().unwrap_or(&self.file);
        free_space(dir).is_none_or(|free| free <= PLENTY * SPARE_BYTES)
    }
}
