//! The thread that makes commits survive a power cut, and the one that copies them from the WAL
//! into the database.
//!
//! In: requests that were committed before they were sent. Out: their answers, after one
//! sync for all that wait. The writer never waits for this thread unless its queue is full.
//!
//! Why a sync of the WAL file is enough, whatever `SQLite` does meanwhile: a commit is in
//! the WAL when it is handed over. Then either its frames are still there, and syncing the
//! file covers them and all before them; or a checkpoint has copied them and the WAL was
//! started over. `SQLite` starts it over only when every frame is copied (`nBackfill ==
//! mxFrame`), sets that mark only after it has synced first the WAL and then the database
//! (at `synchronous=NORMAL` too; a partial checkpoint skips the second sync but does not
//! free the WAL), and syncs the new WAL header before it writes a frame behind it. The file
//! itself is deleted only by the last connection that closes, and this thread's handle is
//! older than any close: the log's connections outlive it. No POSIX lock is lost when the
//! handle closes, because `SQLite` locks the database and the `-shm` file, never the WAL.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rusqlite::Connection;
use tokio::sync::mpsc;

use super::fault::{SqliteFault, SqliteResult};
use super::schema::BUSY_TIMEOUT;
use crate::heads::Heads;
use crate::health::HealthNotes;
use crate::{StoreError, TroubleKind};

/// Requests beyond this hold the writer up, which is what bounds them.
pub(super) const QUEUED_SYNCS: usize = 1024;

/// Nudges while one is waiting already say nothing new.
pub(super) const QUEUED_NUDGES: usize = 1;

/// Between two attempts to empty the WAL: readers are done in a few milliseconds.
const EMPTY_AGAIN: Duration = Duration::from_millis(50);

pub(super) type SyncRequest = Box<dyn FnOnce(Result<(), StoreError>) + Send>;

pub(super) struct Syncer {
    pub(super) wal: File,
    pub(super) wal_path: PathBuf,
    pub(super) heads: Arc<Heads>,
    pub(super) is_broken: Arc<AtomicBool>,
    pub(super) health: Arc<HealthNotes>,
}

impl Syncer {
    pub(super) fn run(self, mut queue: mpsc::Receiver<SyncRequest>) {
        let mut waiting = Vec::new();
        while queue.blocking_recv_many(&mut waiting, QUEUED_SYNCS) > 0 {
            let synced = self.sync();
            self.health.note(TroubleKind::Syncing, &synced);
            for request in waiting.drain(..) {
                request(synced.clone());
            }
        }
    }

    fn sync(&self) -> Result<(), StoreError> {
        let failed = |detail| StoreError::SyncFailed { path: self.wal_path.clone(), detail };
        if self.is_broken.load(Ordering::Acquire) {
            return Err(failed("an earlier sync did not succeed".into()));
        }
        if let Err(error) = self.wal.sync_data() {
            self.is_broken.store(true, Ordering::Release);
            tracing::error!(path = %self.wal_path.display(), %error, "the disk refused a sync");
            return Err(failed(error.to_string()));
        }
        // The events are safe now; without this copy only the proof of a later loss is
        // weaker.
        if let Err(error) = self.heads.sync() {
            tracing::error!(%error, "the second copy of the heads was not synced");
        }
        Ok(())
    }
}

/// The writer's end of the checkpointer.
#[derive(Debug, Clone)]
pub(super) struct Checkpointer {
    nudges: mpsc::Sender<()>,
    /// The WAL is to be emptied, because it may hold what was deleted.
    is_to_empty: Arc<AtomicBool>,
}

impl Checkpointer {
    /// With the queue and the flag that its thread takes.
    pub(super) fn new() -> (Self, mpsc::Receiver<()>, Arc<AtomicBool>) {
        let (nudges, queue) = mpsc::channel(QUEUED_NUDGES);
        let is_to_empty = Arc::<AtomicBool>::default();
        (Self { nudges, is_to_empty: Arc::clone(&is_to_empty) }, queue, is_to_empty)
    }

    /// False if a nudge waits already.
    pub(super) fn nudge(&self) -> bool {
        self.nudges.try_send(()).is_ok()
    }

    /// Asks for the WAL to be emptied as soon as no reader is in the way.
    pub(super) fn empty_wal(&self) {
        self.is_to_empty.store(true, Ordering::Release);
        // A nudge that waits already finds the flag.
        self.nudge();
    }
}

/// The thread that copies the WAL back into the database, when the writer nudges it. It works
/// beside the writer, which therefore does not wait for the disk. It frees the WAL only if nobody
/// writes for a moment; under unbroken load the writer does the last bit itself when the WAL has
/// grown large. What was deleted has to leave the WAL, so it is emptied then, however often that
/// has to be tried.
pub(super) fn run_checkpointer(
    connection: &Connection,
    path: &Path,
    mut nudges: mpsc::Receiver<()>,
    is_to_empty: &AtomicBool,
) {
    while nudges.blocking_recv().is_some() {
        let sql = "PRAGMA wal_checkpoint(PASSIVE)";
        let mut copied = connection.query_row(sql, [], |_| Ok(())).map_err(SqliteFault::from);
        while copied.is_ok() && is_to_empty.swap(false, Ordering::AcqRel) {
            match empty_wal(connection) {
                Ok(true) => {}
                Ok(false) => {
                    is_to_empty.store(true, Ordering::Release);
                    // Nobody is left to write: closing the log empties it.
                    if nudges.is_closed() {
                        return;
                    }
                    std::thread::sleep(EMPTY_AGAIN);
                }
                Err(fault) => {
                    // The next nudge tries again.
                    is_to_empty.store(true, Ordering::Release);
                    copied = Err(fault);
                }
            }
        }
        if let Err(fault) = copied {
            // Nothing is lost: the WAL keeps what could not be copied.
            let error = fault.at(path);
            tracing::warn!(%error, "the log could not be copied back into its database");
        }
    }
}

/// Copies all of the WAL into the database and empties it. Waits for nobody: false if a reader or a
/// writer is in the way.
pub(super) fn empty_wal(connection: &Connection) -> SqliteResult<bool> {
    connection.busy_timeout(Duration::ZERO)?;
    let sql = "PRAGMA wal_checkpoint(TRUNCATE)";
    let is_busy = connection.query_row(sql, [], |row| row.get::<_, bool>(0));
    connection.busy_timeout(BUSY_TIMEOUT)?;
    Ok(!is_busy?)
}
