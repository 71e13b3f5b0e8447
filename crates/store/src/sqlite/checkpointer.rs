//! The thread that copies the WAL back into the database.
//!
//! In: nudges from the writer. It works beside the writer, which therefore does not wait
//! for the disk. It frees the WAL only if nobody writes for a moment; under unbroken load
//! the writer does the last bit itself when the WAL has grown large.

use std::path::Path;

use rusqlite::Connection;
use tokio::sync::mpsc;

use super::fault::Fault;

/// Nudges while one is waiting already say nothing new.
pub(super) const QUEUED_NUDGES: usize = 1;

pub(super) fn run(connection: &Connection, path: &Path, mut nudges: mpsc::Receiver<()>) {
    while nudges.blocking_recv().is_some() {
        let sql = "PRAGMA wal_checkpoint(PASSIVE)";
        if let Err(error) = connection.query_row(sql, [], |_| Ok(())) {
            // Nothing is lost: the WAL keeps what could not be copied.
            let error = Fault::from(error).at(path);
            tracing::warn!(%error, "the log could not be copied back into its database");
        }
    }
}
