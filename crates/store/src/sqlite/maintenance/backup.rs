//! Backups: a log as one file, made while others write, and the way back.
//!
//! A backup is a database with every session as it was at some moment while it was made, each
//! proven by its checksums on the way. The second copy of the heads is not in it: a log without
//! one refuses nothing, and a restored one gets a new one.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use super::super::files::LogFiles;
use super::super::schema;
use super::check::open_file;
use super::copying::{CopyReport, DraftDatabase, Epochs, LogSource, copy_all, remove_if_there};
use super::swap::{draft_of, plainly, replace, require_space, unused};
use super::{KeptFiles, OnProgress};
use crate::StoreError;
use crate::heads::Heads;

#[derive(Debug, Clone, Copy, Default)]
pub struct BackupOptions {
    /// Replace a file that is there.
    pub overwrites: bool,
}

/// Writes a backup of the log in `dir` to `file`, which appears there when it is complete.
///
/// Of a damaged session the backup has what is intact; the report names it.
pub fn backup(
    dir: &Path,
    file: &Path,
    options: BackupOptions,
    on_progress: OnProgress<'_>,
) -> Result<CopyReport, StoreError> {
    let files = LogFiles::new(dir);
    files.require_database()?;
    let refused = |detail: &str| {
        let (path, detail) = (file.to_owned(), detail.to_owned());
        Err(StoreError::Io { action: "write the backup to", path, detail })
    };
    if is_within(file, dir) && files.is_own(file) {
        return refused("it is a file of the log itself");
    }
    if file.is_dir() {
        return refused("it is a directory; name a file in it");
    }
    if !options.overwrites && file.exists() {
        return Err(StoreError::FileExists { path: file.into() });
    }
    write_backup(&files, file, on_progress).map_err(plainly)
}

fn write_backup(
    files: &LogFiles,
    file: &Path,
    on_progress: OnProgress<'_>,
) -> Result<CopyReport, StoreError> {
    let _in_use = files.share()?;
    let connection =
        schema::open_for_check(&files.database).map_err(|fault| fault.at(&files.database))?;
    let heads = if files.heads.exists() { Some(Heads::open(&files.heads)?) } else { None };
    let source = LogSource { connection, heads, path: files.database.clone() };
    let place = parent_of(file);
    require_space(&place, source.weight())?;
    let draft_path = draft_of(file);
    let mut draft = DraftDatabase::begin(&draft_path)?;
    let report = copy_all(&source, &mut draft, Epochs::Same, None, on_progress)?;
    draft.finish()?;
    fs::rename(&draft_path, file).map_err(StoreError::io("create", file))?;
    File::open(&place).and_then(|dir| dir.sync_all()).map_err(StoreError::io("sync", &place))?;
    Ok(report)
}

/// Replaces the log in `dir` by the backup in `file`; the old files are kept in a directory `keep`
/// beside it. Nobody may have the log open. All sessions get a new epoch: what follows in them is
/// not what followed after the backup was made.
pub fn restore(
    dir: &Path,
    file: &Path,
    keep: &str,
    on_progress: OnProgress<'_>,
) -> Result<(CopyReport, Option<KeptFiles>), StoreError> {
    let files = LogFiles::new(dir);
    if is_within(file, dir) && files.is_own(file) {
        let detail = "it is a file of the log itself, not a backup".into();
        return Err(StoreError::Io { action: "restore", path: file.into(), detail });
    }
    let _alone_in_open = files.prepare()?;
    let _alone = files.take_alone()?;
    restore_files(&files, file, keep, on_progress).map_err(plainly)
}

fn restore_files(
    files: &LogFiles,
    file: &Path,
    keep: &str,
    on_progress: OnProgress<'_>,
) -> Result<(CopyReport, Option<KeptFiles>), StoreError> {
    let dir = &files.dir;
    let source = open_file(file)?;
    schema::require_current(&source.connection, file).map_err(|fault| fault.at(file))?;
    require_space(dir, source.weight())?;
    let (draft_path, heads_path) = (draft_of(&files.database), draft_of(&files.heads));
    let mut draft = DraftDatabase::begin(&draft_path)?;
    remove_if_there(&heads_path)?;
    let heads = Heads::open(&heads_path)?;
    let report = copy_all(&source, &mut draft, Epochs::New, Some(&heads), on_progress)?;
    if let Some(finding) = report.findings.first() {
        let n = report.findings.len();
        let first = finding.problems.first().map(ToString::to_string).unwrap_or_default();
        remove_if_there(&heads_path)?;
        let detail = format!("{n} of its sessions are not whole ({first})");
        return Err(StoreError::DamagedBackup { path: file.into(), detail });
    }
    draft.finish()?;
    heads.sync()?;
    let had_log = files.database.exists();
    let kept = had_log.then(|| KeptFiles { dir: unused(dir, keep) });
    replace(files, &draft_path, Some(&heads_path), kept.as_ref().map(|kept| kept.dir.as_path()))?;
    Ok((report, kept))
}

fn parent_of(file: &Path) -> PathBuf {
    match file.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    }
}

fn is_within(file: &Path, dir: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().ok();
    real(&parent_of(file)).is_some_and(|parent| Some(parent) == real(dir))
}
