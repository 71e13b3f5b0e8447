//! Makes a damaged log anew from everything in it that can be read and proven.
//!
//! Every intact session is copied whole, a damaged one up to its first bad event, and what is lost
//! is named. The write-ahead log is read over damaged places. The second copy of the heads goes on
//! telling of each damaged session that something is missing, until its loss is accepted, and of each
//! lost one that it is, until it is deleted.

use std::fs;
use std::path::Path;

use rusqlite::Connection;

use super::super::fault::SqliteFault;
use super::super::files::LogFiles;
use super::check::{DATABASE_MISSING, structure_of};
use super::copying::{CopyReport, DraftDatabase, Epochs, LogSource, copy_all, remove_if_there};
use super::reading_place::ReadingPlace;
use super::swap::{draft_of, plainly, replace, require_space, unused};
use super::wal_frames::{self, WalDamage};
use super::{KeptFiles, OnProgress};
use crate::heads::Heads;
use crate::{StoreError, mint};

/// What was done about a damaged log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepairReport {
    pub copied: CopyReport,
    pub structure: Vec<String>,
    pub wal: Option<WalDamage>,
    /// `None` when nothing was wrong, and nothing was replaced.
    pub kept: Option<KeptFiles>,
}

/// Repairs the log in `dir`; its old files are kept in a directory `keep` beside it. Nobody may have
/// the log open. Sessions that are lost are named, and are no reason to replace files.
pub fn repair(
    dir: &Path,
    keep: &str,
    on_progress: OnProgress<'_>,
) -> Result<RepairReport, StoreError> {
    let files = LogFiles::new(dir);
    if !files.has_traces() {
        files.require_database()?;
    }
    let _alone = files.take_alone()?;
    repair_files(&files, keep, on_progress).map_err(plainly)
}

/// Repairs a log that is about to be opened if its write-ahead log is damaged where `SQLite` would
/// drop intact pages behind the damage: after that nobody could save them. What is lost all the same
/// stays known to the second copy of the heads.
pub(in super::super) fn repair_before_open(files: &LogFiles) {
    // Whoever has it open has read the write-ahead log already.
    let Ok(_alone) = files.take_alone() else { return };
    let wal = match wal_frames::damage(&files.wal) {
        Ok(Some(wal)) if files.require_database().is_ok() => wal,
        _ => return,
    };
    let path = files.wal.display();
    let (n_damaged, n_behind) = (wal.n_damaged, wal.n_behind);
    tracing::error!(%path, n_damaged, n_behind, "the write-ahead log is damaged: repairing the log");
    match repair_files(files, &kept_now(), &mut |_| {}) {
        Ok(RepairReport { copied, kept, .. }) => {
            let n_damaged = copied.findings.len();
            let kept = kept.map(|kept| kept.dir);
            tracing::warn!(n_sessions = copied.n_sessions, n_damaged, ?kept, "the log is repaired");
        }
        Err(error) => {
            tracing::error!(%error, "the log cannot be repaired; what lies behind the damage is lost");
        }
    }
}

/// The name of a directory for files that are replaced now.
fn kept_now() -> String {
    let now = || -> rusqlite::Result<String> {
        let sql = "SELECT strftime('damaged-%Y-%m-%dT%H-%M-%SZ')";
        Connection::open_in_memory()?.query_row(sql, [], |row| row.get(0))
    };
    now().unwrap_or_else(|_| format!("damaged-{}", mint::now().0))
}

fn repair_files(
    files: &LogFiles,
    keep: &str,
    on_progress: OnProgress<'_>,
) -> Result<RepairReport, StoreError> {
    let dir = &files.dir;
    let size = |path: &Path| fs::metadata(path).map_or(0, |meta| meta.len());
    require_space(dir, size(&files.database) + 2 * size(&files.wal))?;
    let wal = wal_frames::damage(&files.wal)?;
    let reading = ReadingPlace::make(files, "repair")?;
    let (connection, is_first_page_new) = reading.open(files)?;
    let heads = if files.heads.exists() { Some(Heads::open(&files.heads)?) } else { None };
    let source = LogSource { connection, heads, path: files.database.clone() };
    let mut structure = structure_of(&source);
    if reading.is_database_missing {
        structure.push(DATABASE_MISSING.into());
    }
    if is_first_page_new {
        structure.push("the first page does not say where the tables are".into());
    }
    let (draft_path, heads_path) = (draft_of(&files.database), draft_of(&files.heads));
    let mut draft = DraftDatabase::begin(&draft_path)?;
    remove_if_there(&heads_path)?;
    let heads = Heads::open(&heads_path)?;
    let copied = copy_all(&source, &mut draft, Epochs::Same, Some(&heads), on_progress)?;
    let is_damaged = copied.findings.iter().any(|finding| !finding.is_lost());
    if structure.is_empty() && wal.is_none() && !is_damaged {
        remove_if_there(&heads_path)?;
        return Ok(RepairReport { copied, structure, wal, kept: None });
    }
    draft.finish()?;
    heads.sync()?;
    let closed = source.connection.close();
    closed.map_err(|(_, error)| SqliteFault::from(error).at(&files.database))?;
    drop(reading);
    let kept = KeptFiles { dir: unused(dir, keep) };
    replace(files, &draft_path, Some(&heads_path), Some(&kept.dir))?;
    Ok(RepairReport { copied, structure, wal, kept: Some(kept) })
}
