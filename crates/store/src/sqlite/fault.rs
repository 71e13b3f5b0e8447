//! `SQLite`'s errors, translated into the log's.
//!
//! In: whatever a statement returned. Out: a [`StoreError`] that names the file. Disk full is told
//! apart from other errors, because it passes.

use std::path::Path;

use rusqlite::ErrorCode;

use crate::StoreError;

/// Growing the shared-memory file failed, for which `SQLite` has no "disk full".
const IOERR_SHMSIZE: i32 = rusqlite::ffi::SQLITE_IOERR_SHMSIZE;

/// An error of a statement or a transaction, before the path is known.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub(super) enum SqliteFault {
    Sql(#[from] rusqlite::Error),
    Store(#[from] StoreError),
}

pub(super) type SqliteResult<T> = Result<T, SqliteFault>;

impl SqliteFault {
    pub(super) fn at(self, path: &Path) -> StoreError {
        let error = match self {
            Self::Store(error) => return error,
            Self::Sql(error) => error,
        };
        let path = path.to_owned();
        let detail = error.to_string();
        let extended = error.sqlite_error().map(|error| error.extended_code);
        match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => StoreError::DiskFull { path },
            Some(ErrorCode::SystemIoFailure) if extended == Some(IOERR_SHMSIZE) => {
                StoreError::DiskFull { path }
            }
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
                StoreError::Busy { path, detail }
            }
            Some(ErrorCode::NotADatabase) => StoreError::NotALog { path, detail },
            // Without a code it is a column of the wrong type, which can only come from
            // damage: the tables are strict.
            Some(ErrorCode::DatabaseCorrupt) | None => StoreError::CorruptDatabase { path, detail },
            Some(_) => StoreError::Io { action: "use", path, detail },
        }
    }
}
