//! Saves what an open log holds when its files have lost their names.
//!
//! In: a connection that still has the files open. Out: a whole database under another name, once.
//! The files themselves go with the process that has them open.

use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

use rusqlite::Connection;

use super::fault::{SqliteFault, SqliteResult};
use super::files::{LogFiles, OpenFiles, SAVED_COPY};
use crate::{StoreError, mint};

/// Looks after the files that a log has open.
#[derive(Debug)]
pub(super) struct FileWatch {
    pub(super) files: LogFiles,
    pub(super) open: OpenFiles,
    /// Where the log was saved to when files were first found gone, or why it was not.
    saved: Option<Result<PathBuf, String>>,
}

impl FileWatch {
    pub(super) fn new(files: LogFiles, open: OpenFiles) -> Self {
        Self { files, open, saved: None }
    }

    /// Refuses to go on where the log's files are gone: what was written then would be lost with
    /// this process. All that was acknowledged is saved first.
    pub(super) fn check(&mut self, connection: &Connection) -> Result<(), StoreError> {
        let Some(path) = self.open.first_gone() else { return Ok(()) };
        let files = &self.files;
        let saved = self.saved.get_or_insert_with(|| {
            let saved = save(connection, files);
            saved.map_err(|fault| fault.at(&files.dir).to_string())
        });
        let saved = match saved {
            Ok(copy) => format!(
                "the log was saved; end Switchyard, then `switchyard store restore {}`",
                copy.display()
            ),
            Err(error) => format!(
                "its contents are in memory of process {} alone, and could not be saved: {error}",
                std::process::id()
            ),
        };
        Err(StoreError::FilesGone { path: path.to_owned(), saved })
    }
}

fn save(connection: &Connection, files: &LogFiles) -> SqliteResult<PathBuf> {
    let copy = files.dir.join(format!("{SAVED_COPY}{}.db", mint::now().0));
    // SQLite makes new files readable for all, but fills an empty one as it is.
    let mut options = OpenOptions::new();
    let opened = options.write(true).create_new(true).mode(0o600).open(&copy);
    opened.map_err(StoreError::io("create", &copy))?;
    let Some(name) = copy.to_str() else {
        let detail = "its name is not UTF-8".into();
        return Err(StoreError::Io { action: "create", path: copy, detail }.into());
    };
    connection.execute("VACUUM INTO ?1", [name]).map_err(SqliteFault::from)?;
    Ok(copy)
}
