//! Checks a log: the database's structure, every record, event and origin, and the second copy of
//! the heads.
//!
//! Works beside a running daemon, and on the file of a backup. Nothing is changed.

use std::path::Path;

use rusqlite::Connection;

use super::super::fault::SqliteFault;
use super::super::files::LogFiles;
use super::super::schema;
use super::copying::{LogSource, Nowhere};
use super::reading_place::ReadingPlace;
use super::swap::plainly;
use super::wal_frames::{self, WalDamage};
use super::{OnProgress, Progress, SessionFinding};
use crate::StoreError;
use crate::heads::Heads;

/// Complaints of `SQLite` that are listed; damage to one page makes hundreds.
const MAX_COMPLAINTS: usize = 20;
/// The structure of all tables is checked from one snapshot, which keeps the write-ahead log from
/// being emptied: beside others only if it takes no more than a second or two.
const CHECKED_BESIDE_OTHERS: u64 = 512 << 20;

/// What is wrong with the structure of a log that has no database.
pub(super) const DATABASE_MISSING: &str = "the database is missing or empty";

#[derive(Debug, Clone, Copy, Default)]
pub struct CheckOptions {
    /// Check the whole structure also if the log is large and in use.
    pub is_full: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CheckReport {
    pub n_sessions: u64,
    pub n_events: u64,
    pub bytes: u64,
    /// Whether the structure of the largest table was checked as well.
    pub is_structure_complete: bool,
    /// What `SQLite` says is wrong with the structure, the first complaints.
    pub structure: Vec<String>,
    /// Pages that were committed behind a damaged place of the write-ahead log. They are checked as
    /// well, and saved when the log is next opened or repaired.
    pub wal: Option<WalDamage>,
    pub findings: Vec<SessionFinding>,
    /// Slots of the second copy that cannot be read. They say nothing, and harm nobody.
    pub n_unreadable_slots: u64,
}

impl CheckReport {
    pub fn is_sound(&self) -> bool {
        self.structure.is_empty() && self.findings.is_empty() && self.wal.is_none()
    }
}

/// Checks the log in `dir`, or the database in `file` alone.
pub fn check(
    place: CheckedPlace<'_>,
    options: CheckOptions,
    on_progress: OnProgress<'_>,
) -> Result<CheckReport, StoreError> {
    match place {
        CheckedPlace::Log(dir) => {
            let files = LogFiles::new(dir);
            let has_database = files.require_database();
            if !files.has_traces() {
                has_database.clone()?;
            }
            let (wal, is_in_use, mended) = match files.take_alone() {
                Ok(_alone) => {
                    let wal = wal_frames::damage(&files.wal)?;
                    // What lies behind the damage is saved when the log is next opened.
                    let is_to_mend = wal.is_some() || has_database.is_err();
                    let mended = is_to_mend.then(|| ReadingPlace::make(&files, "check"));
                    (wal, false, mended.transpose().map_err(plainly)?)
                }
                // Whoever has it open has read the write-ahead log already.
                Err(StoreError::LogInUse { .. }) => (None, true, None),
                Err(error) => return Err(error),
            };
            let _in_use = files.share()?;
            let at = |fault: SqliteFault| fault.at(&files.database);
            let connection = match &mended {
                Some(mended) => mended.open(&files)?.0,
                None => schema::open_for_check(&files.database).map_err(at)?,
            };
            let heads = if files.heads.exists() { Some(Heads::open(&files.heads)?) } else { None };
            let size = std::fs::metadata(&files.database).map_or(0, |meta| meta.len());
            let is_full = options.is_full || !is_in_use || size <= CHECKED_BESIDE_OTHERS;
            let source = LogSource { connection, heads, path: files.database.clone() };
            let mut report = CheckReport { wal, ..check_source(&source, is_full, on_progress)? };
            if has_database.is_err() {
                report.structure.push(DATABASE_MISSING.into());
            }
            Ok(report)
        }
        CheckedPlace::File(file) => {
            let source = open_file(file)?;
            check_source(&source, true, on_progress)
        }
    }
}

/// What to check.
#[derive(Debug, Clone, Copy)]
pub enum CheckedPlace<'a> {
    /// A log's directory.
    Log(&'a Path),
    /// A database alone, such as a backup.
    File(&'a Path),
}

/// A database that nobody writes to, without the files of a log beside it.
pub(super) fn open_file(file: &Path) -> Result<LogSource, StoreError> {
    // Otherwise `SQLite` would say no more than that it cannot open it.
    let opened = std::fs::File::open(file).and_then(|file| file.metadata());
    if opened.map_err(StoreError::io("open", file))?.is_dir() {
        let detail = "it is a directory; name a file in it".into();
        return Err(StoreError::Io { action: "read", path: file.into(), detail });
    }
    let connection = schema::open_file(file).map_err(|fault| fault.at(file))?;
    schema::require_log(&connection, file).map_err(|fault| fault.at(file))?;
    Ok(LogSource { connection, heads: None, path: file.to_owned() })
}

fn check_source(
    source: &LogSource,
    is_full: bool,
    on_progress: OnProgress<'_>,
) -> Result<CheckReport, StoreError> {
    let mut report = CheckReport { is_structure_complete: is_full, ..CheckReport::default() };
    let at = |fault: SqliteFault| fault.at(&source.path);
    let total = source.weight();
    on_progress(Progress { done: 0, total });
    let tables: &[&str] = if is_full { &[""] } else { &["doomed", "origins", "sessions"] };
    for table in tables {
        complaints(&source.connection, table, &mut report.structure);
    }
    report.n_unreadable_slots = source.heads.as_ref().map_or(0, Heads::n_unreadable);
    for key in source.keys() {
        let Some(walked) = source.walk(key, &mut Nowhere).map_err(at)? else { continue };
        report.findings.extend(walked.finding);
        if let Some(row) = walked.row {
            report.n_sessions += 1;
            report.n_events += row.record.head.0;
            report.bytes += row.record.bytes;
        }
        on_progress(Progress { done: report.bytes, total: total.max(report.bytes) });
    }
    Ok(report)
}

/// What `SQLite` finds wrong with the structure of the whole database.
pub(super) fn structure_of(source: &LogSource) -> Vec<String> {
    let mut all = Vec::new();
    complaints(&source.connection, "", &mut all);
    all
}

/// Adds what `SQLite` finds wrong with the structure of a table, or of all. Not being able to look
/// is a complaint, too.
fn complaints(connection: &Connection, table: &str, all: &mut Vec<String>) {
    let sql = match table {
        "" => format!("PRAGMA integrity_check({MAX_COMPLAINTS})"),
        table => format!("PRAGMA integrity_check('{table}')"),
    };
    let mut look = || -> rusqlite::Result<()> {
        let mut check = connection.prepare(&sql)?;
        let mut found = check.query([])?;
        while let Some(row) = found.next()? {
            let complaint: String = row.get(0)?;
            if complaint != "ok" && all.len() < MAX_COMPLAINTS {
                all.push(complaint);
            }
        }
        Ok(())
    };
    if let Err(error) = look() {
        all.push(error.to_string());
    }
}
