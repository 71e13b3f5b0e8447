//! A log file with rotation: renamed when it is full, opened anew when somebody has moved it.
//!
//! `x.log` is written, `x.log.1` is the one before, up to `x.log.N`; older ones are
//! removed. Several processes may write one file: the one that rotates it holds its lock, and the
//! others notice that the name leads to another file.
//!
//! Always true: the file is a regular one, only its user can read it (mode 0600), and a line is
//! written whole or not at all, unless the disk fills up in its middle.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::FlockOperation;

use super::writer::LogSink;

/// The default size of a file: weeks of a quiet daemon, an hour of one at `trace`.
const MAX_BYTES: u64 = 16 * 1024 * 1024;
const KEEP: u32 = 5;
/// The least size of a file: less would be rotated with every few lines.
const LEAST_MAX_BYTES: u64 = 4096;
/// The most rotated files: more than anybody reads.
const MOST_KEPT: u32 = 1000;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Rotation {
    pub(crate) max_bytes: u64,
    pub(crate) keep: u32,
}

impl Rotation {
    pub(super) fn new(max_bytes: Option<u64>, keep: Option<u32>) -> Self {
        Self {
            max_bytes: max_bytes.unwrap_or(MAX_BYTES).max(LEAST_MAX_BYTES),
            keep: keep.unwrap_or(KEEP).min(MOST_KEPT),
        }
    }
}

#[derive(Debug)]
pub(super) struct LogFile {
    path: PathBuf,
    rotation: Rotation,
    file: File,
    /// The last write stopped in the middle of a line.
    is_torn: bool,
}

impl LogFile {
    pub(super) fn open(path: PathBuf, rotation: Rotation) -> io::Result<Self> {
        let path = std::path::absolute(path)?;
        let file = open(&path)?;
        Ok(Self { path, rotation, file, is_torn: false })
    }

    /// Whether the name still leads to the file that is open.
    fn is_in_place(&self) -> bool {
        let (Ok(open), Ok(named)) = (self.file.metadata(), self.path.metadata()) else {
            return false;
        };
        (open.dev(), open.ino()) == (named.dev(), named.ino())
    }

    fn rotate(&mut self) -> io::Result<()> {
        // Another process rotates it, or has done so: the next batch will see.
        if rustix::fs::flock(&self.file, FlockOperation::NonBlockingLockExclusive).is_err() {
            return Ok(());
        }
        if self.is_in_place() {
            let aside = |n: u32| numbered(&self.path, n);
            match self.rotation.keep {
                0 => std::fs::remove_file(&self.path)?,
                keep => {
                    for n in (1..keep).rev() {
                        // Most of them do not exist yet.
                        let _ = std::fs::rename(aside(n), aside(n + 1));
                    }
                    std::fs::rename(&self.path, aside(1))?;
                }
            }
        }
        // The lock goes with the old file.
        self.reopen()
    }
}

impl LogSink for LogFile {
    fn write(&mut self, lines: &[u8]) -> io::Result<()> {
        if !self.is_in_place() {
            self.reopen()?;
        }
        let n_bytes = self.file.metadata()?.len();
        if n_bytes > 0 && n_bytes + lines.len() as u64 > self.rotation.max_bytes {
            self.rotate()?;
        }
        if self.is_torn {
            self.file.write_all(b"\n")?;
            self.is_torn = false;
        }
        self.file.write_all(lines).inspect_err(|_| self.is_torn = true)
    }

    fn reopen(&mut self) -> io::Result<()> {
        self.file = open(&self.path)?;
        self.is_torn = false;
        Ok(())
    }
}

fn open(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new()
        .append(true)
        .create(true)
        .mode(0o600)
        // A pipe that nobody reads must not hold us up, it is no log anyway.
        .custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed())
        .open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    if metadata.permissions().mode() & 0o077 != 0 {
        file.set_permissions(std::fs::Permissions::from_mode(0o600))?;
    }
    Ok(file)
}

fn numbered(path: &Path, n: u32) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{n}"));
    name.into()
}

#[cfg(test)]
mod tests;
