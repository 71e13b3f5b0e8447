//! One small file per live worker, for the start after a crash.
//!
//! In: who owns and who keeps a worker. Out: the same, read by the next Switchyard. A record is
//! written whole (temporary file, then rename) before the worker starts and removed after its
//! tree is gone, so a file without a worker can be, a worker without a file cannot.

use std::fmt::Write as _;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use crate::cgroup::Cgroup;
use crate::marked::Marker;
use crate::procs::Proc;

pub(crate) const EXTENSION: &str = "worker";
const FIRST_LINE: &str = "switchyard-worker 1";
// Five short lines; anything longer is not ours.
const MAX_BYTES: u64 = 8 * 1024;

/// A process that cannot be confused with a later one of the same pid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) pid: i32,
    pub(crate) start: u64,
}

impl Identity {
    pub(crate) fn of(pid: i32) -> Option<Self> {
        Proc::read(pid).map(|process| Self { pid, start: process.start })
    }

    pub(crate) fn is_alive(self) -> bool {
        Proc::read(self.pid).is_some_and(|now| now.start == self.start && !now.is_zombie)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) marker: Marker,
    pub(crate) owner: Identity,
    pub(crate) keeper: Identity,
    pub(crate) cgroup: Option<Cgroup>,
}

impl Record {
    pub(crate) fn write(&self, dir: &Path) -> io::Result<PathBuf> {
        let path = dir.join(format!("{}.{EXTENSION}", self.marker));
        let unfinished = path.with_extension("tmp");
        let mut file =
            OpenOptions::new().write(true).create_new(true).mode(0o600).open(&unfinished)?;
        file.write_all(self.to_text().as_bytes())?;
        fs::rename(&unfinished, &path)?;
        Ok(path)
    }

    pub(crate) fn read(path: &Path) -> Option<Self> {
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

/// Whoever can write here can make a sweep believe things, so it must be ours alone.
pub(crate) fn check_dir(dir: &Path) -> io::Result<()> {
    let metadata = fs::metadata(dir)?;
    let own_uid = rustix::process::geteuid().as_raw();
    if !metadata.is_dir() || metadata.uid() != own_uid || metadata.mode() & 0o022 != 0 {
        let text = format!("{} must be a directory that only this user can write", dir.display());
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, text));
    }
    Ok(())
}

fn parse_identity(text: &str) -> Option<Identity> {
    let (pid, start) = text.split_once(' ')?;
    Some(Identity { pid: pid.parse().ok()?, start: start.parse().ok()? })
}

#[cfg(test)]
mod tests;
