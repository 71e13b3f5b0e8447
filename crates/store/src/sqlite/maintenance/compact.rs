//! Gives the space of deleted sessions back to the file system.
//!
//! A database that can give pages back does so in small steps, beside whoever writes. One that was
//! made before it could is made anew, once, for which nobody may have it open.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, TransactionBehavior};

use super::super::fault::{SqliteFault, SqliteResult};
use super::super::files::LogFiles;
use super::super::schema::{self, SEQ_BITS};
use super::super::sweeper::{INCREMENTAL, return_pages};
use super::super::syncer::empty_wal;
use super::check::structure_of;
use super::copying::{DraftDatabase, Epochs, LogSource, copy_all};
use super::swap::{draft_of, plainly, replace, require_space};
use super::{OnProgress, Progress};
use crate::StoreError;
use crate::heads::Heads;

/// Attempts to empty the write-ahead log, with pauses between them: readers are done in a moment. If
/// one is not, the log is emptied later by whoever uses it.
const ATTEMPTS: u32 = 100;
const PAUSE: Duration = Duration::from_millis(20);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CompactReport {
    /// What the files took on the disk before and after.
    pub bytes_before: u64,
    pub bytes_after: u64,
    /// Whether the database was made anew.
    pub is_rebuilt: bool,
}

/// Compacts the log in `dir`.
pub fn compact(dir: &Path, on_progress: OnProgress<'_>) -> Result<CompactReport, StoreError> {
    let files = LogFiles::new(dir);
    files.require_database()?;
    let bytes_before = bytes_on_disk(&files);
    let is_rebuilt = !give_pages_back(&files, on_progress)?;
    if is_rebuilt {
        rebuild(&files, on_progress).map_err(plainly)?;
    }
    if files.heads.exists() {
        let _in_use = files.share()?;
        let heads = Heads::open(&files.heads)?;
        forget_cleared(&files, &heads).map_err(|fault| fault.at(&files.database))?;
    }
    Ok(CompactReport { bytes_before, bytes_after: bytes_on_disk(&files), is_rebuilt })
}

/// Blocks, not lengths: `heads` has holes.
fn bytes_on_disk(files: &LogFiles) -> u64 {
    const BLOCK: u64 = 512;
    let size = |path: &Path| fs::metadata(path).map_or(0, |meta| meta.blocks() * BLOCK);
    size(&files.database) + size(&files.wal) + size(&files.heads)
}

/// False if the database was made before it could do so.
fn give_pages_back(files: &LogFiles, on_progress: OnProgress<'_>) -> Result<bool, StoreError> {
    let _in_use = files.share()?;
    let mut work = || -> SqliteResult<bool> {
        let connection = schema::open_checkpointer(&files.database)?;
        let number = |name: &str| -> SqliteResult<u64> {
            let found = connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0))?;
            Ok(found.cast_unsigned())
        };
        if number("auto_vacuum")?.cast_signed() != INCREMENTAL {
            return Ok(false);
        }
        let (total, page) = (number("freelist_count")?, number("page_size")?);
        while return_pages(&connection)? {
            let done = total.saturating_sub(number("freelist_count")?);
            on_progress(Progress { done: done * page, total: total * page });
        }
        for _ in 0..ATTEMPTS {
            if empty_wal(&connection)? {
                break;
            }
            std::thread::sleep(PAUSE);
        }
        Ok(true)
    };
    work().map_err(|fault| fault.at(&files.database))
}

fn rebuild(files: &LogFiles, on_progress: OnProgress<'_>) -> Result<(), StoreError> {
    let _alone = files.take_alone()?;
    let at = |fault: SqliteFault| fault.at(&files.database);
    let connection = schema::open_writer(&files.database).map_err(at)?;
    empty_wal(&connection).map_err(at)?;
    let heads = if files.heads.exists() { Some(Heads::open(&files.heads)?) } else { None };
    let source = LogSource { connection, heads, path: files.database.clone() };
    require_space(&files.dir, source.weight())?;
    let draft_path = draft_of(&files.database);
    let mut draft = DraftDatabase::begin(&draft_path)?;
    let copied = copy_all(&source, &mut draft, Epochs::Same, None, on_progress)?;
    let is_damaged = copied.findings.iter().any(|finding| !finding.is_lost());
    if is_damaged || !structure_of(&source).is_empty() {
        let detail = "what is damaged would not be copied".into();
        return Err(StoreError::CorruptDatabase { path: files.database.clone(), detail });
    }
    draft.finish()?;
    source.connection.close().map_err(|(_, error)| at(error.into()))?;
    replace(files, &draft_path, None, None)
}

/// Frees the space of slots in `heads` that will never be used again: their sessions are gone, and
/// no key is used twice.
fn forget_cleared(files: &LogFiles, heads: &Heads) -> SqliteResult<()> {
    // Every key up to here was given out before the transaction below begins.
    let last_key = heads.last_key();
    let mut connection = schema::open_checkpointer(&files.database)?;
    // While this holds the lock no session is being made, so what is not there will not be.
    let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    heads.punch_cleared(last_key, |first, last| has_session(&tx, first, last))?;
    Ok(())
}

fn has_session(connection: &Connection, first: i64, last: i64) -> bool {
    let sql = "SELECT EXISTS (SELECT 1 FROM sessions WHERE key BETWEEN ?1 AND ?2) OR \
               EXISTS (SELECT 1 FROM events WHERE key >= ?1 << ?3 AND key < (?2 + 1) << ?3)";
    let found = connection
        .prepare_cached(sql)
        .and_then(|mut select| select.query_row((first, last, SEQ_BITS), |row| row.get(0)));
    // What cannot be looked up stays.
    found.unwrap_or(true)
}
