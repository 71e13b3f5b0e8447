//! Record files, one per live worker, and the sweep of those that a crash left behind.
//!
//! In: who owns and who keeps a worker. Out: the same, read by the next Switchyard. A record is
//! written whole (temporary file, then rename) before the worker starts and removed after its
//! tree is gone, so a file without a worker can be, a worker without a file cannot.
//!
//! A sweep acts only upon a record whose owner *and* keeper are dead: a living owner still needs
//! its worker, and a living keeper is already ending its tree. Processes are found by marker, never
//! by pid alone, so a reused pid is never killed.

use std::fmt::Write as _;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use super::cgroup::Cgroup;
use super::marked_processes::{LostWorker, MarkedCleanup, end_marked, find_mark};
use super::marker::Marker;
use super::procs::Proc;

const EXTENSION: &str = "worker";
const FIRST_LINE: &str = "switchyard-worker 1";
// Five short lines; anything longer is not ours.
const MAX_BYTES: u64 = 8 * 1024;

/// A process that cannot be confused with a later one of the same pid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ProcessIdentity {
    pub(crate) pid: i32,
    pub(crate) start: u64,
}

impl ProcessIdentity {
    pub(crate) fn of(pid: i32) -> Option<Self> {
        Proc::read(pid).map(|process| Self { pid, start: process.start })
    }

    pub(crate) fn is_alive(self) -> bool {
        Proc::read(self.pid).is_some_and(|now| now.start == self.start && now.has_main_thread)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WorkerRecord {
    pub(crate) marker: Marker,
    pub(crate) owner: ProcessIdentity,
    pub(crate) keeper: ProcessIdentity,
    pub(crate) cgroup: Option<Cgroup>,
}

impl WorkerRecord {
    fn is_supervised(&self) -> bool {
        self.owner.is_alive() || self.keeper.is_alive()
    }

    pub(crate) fn write(&self, dir: &Path) -> io::Result<PathBuf> {
        let path = dir.join(format!("{}.{EXTENSION}", self.marker));
        let unfinished = path.with_extension("tmp");
        let mut file =
            OpenOptions::new().write(true).create_new(true).mode(0o600).open(&unfinished)?;
        file.write_all(self.to_text().as_bytes())?;
        fs::rename(&unfinished, &path)?;
        Ok(path)
    }

    fn read(path: &Path) -> Option<Self> {
        if fs::symlink_metadata(path).ok().is_none_or(|is| !is.is_file() || is.len() > MAX_BYTES) {
            return None;
        }
        Self::parse(&fs::read_to_string(path).ok()?)
    }

    fn to_text(&self) -> String {
        let Self { marker, owner, keeper, cgroup } = self;
        let mut text = format!(
            "{FIRST_LINE}\nmarker {marker}\nowner {} {}\nkeeper {} {}\n",
            owner.pid, owner.start, keeper.pid, keeper.start
        );
        // A path that text cannot hold is left out: the sweep then works without the group.
        if let Some(dir) = cgroup.as_ref().and_then(|group| group.dir().to_str())
            && !dir.as_bytes().contains(&b'\n')
        {
            let _infallible = writeln!(text, "cgroup {dir}");
        }
        text
    }

    fn parse(text: &str) -> Option<Self> {
        let mut lines = text.lines();
        if lines.next()? != FIRST_LINE {
            return None;
        }
        let marker = Marker::parse(lines.next()?.strip_prefix("marker ")?)?;
        let owner = parse_identity(lines.next()?.strip_prefix("owner ")?)?;
        let keeper = parse_identity(lines.next()?.strip_prefix("keeper ")?)?;
        let cgroup = lines
            .next()
            .and_then(|line| Cgroup::existing(line.strip_prefix("cgroup ")?.into(), &marker));
        Some(Self { marker, owner, keeper, cgroup })
    }
}

/// Makes the directory for records, closed to everybody else.
pub(crate) fn prepare_dir(dir: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
    check_dir(dir)
}

/// Checks that the directory is ours alone: whoever can write here can make a sweep believe things.
fn check_dir(dir: &Path) -> io::Result<()> {
    let metadata = fs::metadata(dir)?;
    let own_uid = rustix::process::geteuid().as_raw();
    if !metadata.is_dir() || metadata.uid() != own_uid || metadata.mode() & 0o022 != 0 {
        let text = format!("{} must be a directory that only this user can write", dir.display());
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, text));
    }
    Ok(())
}

fn parse_identity(text: &str) -> Option<ProcessIdentity> {
    let (pid, start) = text.split_once(' ')?;
    Some(ProcessIdentity { pid: pid.parse().ok()?, start: start.parse().ok()? })
}

/// The result of a [`sweep`].
#[derive(Debug, Default)]
pub struct SweepReport {
    /// Workers whose record is gone now.
    pub ended: Vec<SweptWorker>,
    /// Records that were left because their owner or keeper lives.
    pub n_alive: usize,
    /// Files that are called like a record and are none; they were left.
    pub n_unreadable: usize,
}

/// One worker that was left behind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SweptWorker {
    pub id: String,
    /// The processes that were still there, and were killed.
    pub pids: Vec<u32>,
    /// How many of them would not die; then the record stays for the next sweep.
    pub n_left: usize,
}

/// Ends what dead Switchyards left behind. Blocks: call it before serving, or on a blocking
/// thread. A directory that is not there means there is nothing to do.
pub fn sweep(dir: &Path) -> io::Result<SweepReport> {
    let mut swept = SweepReport::default();
    if !dir.exists() {
        return Ok(swept);
    }
    check_dir(dir)?;
    let own_marks = own_marks();
    let mut left: Vec<(WorkerRecord, PathBuf)> = Vec::new();
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        if path.extension().is_none_or(|extension| extension != EXTENSION) {
            continue;
        }
        match WorkerRecord::read(&path) {
            // Gone since we listed it: its owner removed it.
            None if !path.exists() => {}
            None => swept.n_unreadable += 1,
            // A Switchyard that itself ran inside a worker must not end itself.
            Some(record) if own_marks.contains(&record.marker) => swept.n_alive += 1,
            Some(record) if record.is_supervised() => swept.n_alive += 1,
            Some(record) => left.push((record, path)),
        }
    }
    if left.is_empty() {
        return Ok(swept);
    }
    let lost = left.iter().map(|(WorkerRecord { marker, cgroup, .. }, _)| LostWorker {
        marker: marker.clone(),
        keeper: None,
        cgroup: cgroup.clone(),
    });
    let cleanups = end_marked(lost);
    for ((record, path), MarkedCleanup { pids, n_left }) in left.iter().zip(cleanups) {
        if let Some(cgroup) = &record.cgroup {
            cgroup.remove();
        }
        if n_left == 0 {
            let _gone = fs::remove_file(path);
        }
        let pids = pids.iter().map(|pid| pid.cast_unsigned()).collect();
        swept.ended.push(SweptWorker { id: record.marker.to_string(), pids, n_left });
    }
    Ok(swept)
}

/// The markers of workers that this process runs in.
fn own_marks() -> Vec<Marker> {
    let mut own = Vec::new();
    let mut note = |mark: &[u8]| {
        own.extend(str::from_utf8(mark).ok().and_then(Marker::parse));
        None::<()>
    };
    find_mark(std::process::id().cast_signed(), &mut note);
    own
}

#[cfg(test)]
mod tests;
