//! Makes a damaged log anew from everything in it that can be read and proven.
//!
//! Every intact session is copied whole, a damaged one up to its first bad event, and what is lost
//! is named. The write-ahead log is read over damaged places. The second copy of the heads goes on
//! telling of each damaged session that something is missing, until its loss is accepted.

use std::fs::{self, File};
use std::io::Read as _;
use std::os::unix::fs::{DirBuilderExt as _, FileExt as _};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use rusqlite::Connection;

use super::super::fault::SqliteFault;
use super::super::files::LogFiles;
use super::super::schema;
use super::check::{CheckReport, structure_of};
use super::copying::{CopyReport, DraftDatabase, Epochs, LogSource, copy_all, remove_if_there};
use super::swap::{draft_of, link, replace, require_space};
use super::wal_frames::{self, WalDamage};
use super::{KeptFiles, OnProgress};
use crate::StoreError;
use crate::heads::Heads;

/// `SQLite`'s default, which we never change.
const PAGE: usize = 4096;
/// In the first page: the change counter at which the size in it was written.
const VERSION_VALID_FOR: std::ops::Range<usize> = 92..96;

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
/// the log open.
pub fn repair(
    dir: &Path,
    keep: &str,
    on_progress: OnProgress<'_>,
) -> Result<RepairReport, StoreError> {
    let files = LogFiles::new(dir);
    files.require_database()?;
    let _alone = files.take_alone()?;
    repair_files(&files, keep, false, on_progress)
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
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    match repair_files(files, &format!("damaged-{}", since.as_secs()), true, &mut |_| {}) {
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

fn repair_files(
    files: &LogFiles,
    keep: &str,
    remembers_lost: bool,
    on_progress: OnProgress<'_>,
) -> Result<RepairReport, StoreError> {
    let dir = &files.dir;
    let size = |path: &Path| fs::metadata(path).map_or(0, |meta| meta.len());
    require_space(dir, size(&files.database) + 2 * size(&files.wal))?;
    let wal = wal_frames::damage(&files.wal)?;
    let reading = ReadingPlace::make(files)?;
    let (connection, is_first_page_new) = reading.open(files)?;
    let heads = if files.heads.exists() { Some(Heads::open(&files.heads)?) } else { None };
    let source = LogSource { connection, heads, path: files.database.clone() };
    let mut structure = structure_of(&source);
    if is_first_page_new {
        structure.push("the first page does not say where the tables are".into());
    }
    let (draft_path, heads_path) = (draft_of(&files.database), draft_of(&files.heads));
    let mut draft = DraftDatabase::begin(&draft_path)?;
    remove_if_there(&heads_path)?;
    let heads = Heads::open(&heads_path)?;
    let copied =
        copy_all(&source, &mut draft, Epochs::Same, (Some(&heads), remembers_lost), on_progress)?;
    let told = CheckReport {
        structure: structure.clone(),
        findings: copied.findings.clone(),
        wal,
        ..CheckReport::default()
    };
    if told.is_sound() {
        remove_if_there(&heads_path)?;
        return Ok(RepairReport { copied, structure, wal, kept: None });
    }
    draft.finish()?;
    heads.sync()?;
    let closed = source.connection.close();
    closed.map_err(|(_, error)| SqliteFault::from(error).at(&files.database))?;
    drop(reading);
    let kept = KeptFiles { dir: dir.join(keep) };
    replace(files, &draft_path, Some(&heads_path), Some(&kept.dir))?;
    Ok(RepairReport { copied, structure, wal, kept: Some(kept) })
}

/// A directory where the database has a second name, and beside it a write-ahead log without damaged
/// places. `SQLite` finds the one by the name of the other, and the real files stay as they are.
struct ReadingPlace {
    dir: PathBuf,
    database: PathBuf,
}

impl ReadingPlace {
    fn make(files: &LogFiles) -> Result<Self, StoreError> {
        let dir = draft_of(&files.dir.join("repair"));
        // What an interrupted attempt left.
        let _ = fs::remove_dir_all(&dir);
        fs::DirBuilder::new().mode(0o700).create(&dir).map_err(StoreError::io("create", &dir))?;
        let place = LogFiles::new(&dir);
        let made = Self { dir, database: place.database };
        link(&files.database, &made.database)?;
        wal_frames::mend(&files.wal, &place.wal)?;
        Ok(made)
    }

    /// The first page says where all tables are. If it is damaged, that of a new database takes its
    /// place: all logs that were made by this version have their tables in the same places.
    /// With whether that was necessary.
    fn open(&self, files: &LogFiles) -> Result<(Connection, bool), StoreError> {
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
            let mut first = [0; PAGE];
            File::open(&sample_path)?.read_exact(&mut first)?;
            // Not the size that the sample has: the file's own counts if these do not match.
            first[VERSION_VALID_FOR].fill(0xff);
            fs::remove_file(&self.database)?;
            fs::copy(&files.database, &self.database)?;
            File::options().write(true).open(&self.database)?.write_all_at(&first, 0)
        };
        replace().map_err(StoreError::io("copy", &files.database))
    }
}

impl Drop for ReadingPlace {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.dir);
    }
}
