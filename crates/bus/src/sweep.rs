//! What a crash left behind, ended at the next start.
//!
//! In: the directory of records. Out: which workers were ended. Only a record whose owner *and*
//! keeper are dead is acted upon: a living owner still needs its worker, and a living keeper is
//! already ending its tree. Processes are found by marker, never by pid alone, so a reused pid is
//! never killed.

use std::fs;
use std::io;
use std::path::Path;

use crate::marked::{Marker, end_marked};
use crate::procs::Proc;
use crate::record::{EXTENSION, Record, check_dir};

/// The result of a [`sweep`].
#[derive(Debug, Default)]
pub struct Swept {
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
pub fn sweep(dir: &Path) -> io::Result<Swept> {
    let mut swept = Swept::default();
    if !dir.exists() {
        return Ok(swept);
    }
    check_dir(dir)?;
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        if path.extension().is_none_or(|extension| extension != EXTENSION) {
            continue;
        }
        match Record::read(&path) {
            // Gone since we listed it: its owner removed it.
            None if !path.exists() => {}
            None => swept.n_unreadable += 1,
            Some(record) if is_in_good_hands(&record) => swept.n_alive += 1,
            Some(record) => swept.ended.push(end(&record, &path)),
        }
    }
    Ok(swept)
}

fn is_in_good_hands(record: &Record) -> bool {
    record.owner.is_alive() || record.keeper.is_alive() || are_we_part_of(&record.marker)
}

/// A Switchyard that itself ran inside a worker must not end itself.
fn are_we_part_of(marker: &Marker) -> bool {
    Proc::read(std::process::id().cast_signed())
        .is_some_and(|own| own.has_environment_entry(&marker.environment_entry()))
}

fn end(record: &Record, path: &Path) -> SweptWorker {
    let end = end_marked(&record.marker, None, record.cgroup.as_ref());
    if let Some(cgroup) = &record.cgroup {
        cgroup.remove();
    }
    if end.n_left == 0 {
        let _gone = fs::remove_file(path);
    }
    SweptWorker {
        id: record.marker.to_string(),
        pids: end.pids.iter().map(|pid| pid.cast_unsigned()).collect(),
        n_left: end.n_left,
    }
}
