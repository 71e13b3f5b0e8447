//! A directory handle that takes single names and follows no link.
//!
//! Always true: nothing outside the directory can be reached through it, whatever others do to
//! the directory meanwhile; opening never waits, also not for a FIFO.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::fs::{
    AtFlags, Dir, FileType, Mode, OFlags, RenameFlags, Stat, fchmod, fstat, mkdirat, openat,
    readlinkat, renameat, renameat_with, statat, unlinkat,
};
use rustix::io::Errno;

use crate::ForbiddenDirs;

#[derive(Debug)]
pub struct Folder {
    fd: OwnedFd,
    forbidden: ForbiddenDirs,
}

/// The treatment of directories that do not exist on the way down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MissingDirectories {
    IsAnError,
    IsMade,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct DirectoryEntry {
    pub name: OsString,
    pub kind: FileKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FileKind {
    Directory,
    File,
    Link,
    /// A socket, a FIFO, a device.
    Other,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileFacts {
    pub kind: FileKind,
    pub len: u64,
    pub modified: SystemTime,
    /// The permission bits.
    pub mode: u32,
}

impl Folder {
    /// The directory at `path` below `root`, reached name by name.
    pub(crate) fn below(
        root: impl AsFd,
        path: &Path,
        missing: MissingDirectories,
        forbidden: &ForbiddenDirs,
    ) -> io::Result<Self> {
        let fd = openat(root, ".", PASS, Mode::empty())?;
        let mut at = Self { fd, forbidden: forbidden.clone() };
        for part in path.components() {
            let Component::Normal(name) = part else {
                return Err(io::ErrorKind::InvalidInput.into());
            };
            at = match at.folder(name) {
                Err(error)
                    if missing == MissingDirectories::IsMade
                        && error.kind() == io::ErrorKind::NotFound =>
                {
                    match mkdirat(&at.fd, name, Mode::from_raw_mode(0o777)) {
                        Ok(()) | Err(Errno::EXIST) => at.folder(name)?,
                        Err(error) => return Err(error.into()),
                    }
                }
                below => below?,
            };
        }
        Ok(at)
    }

    /// The directory `name`; a link is an error.
    pub fn folder(&self, name: &OsStr) -> io::Result<Self> {
        let fd = openat(&self.fd, single(name)?, PASS, Mode::empty())?;
        self.forbidden.check(&fd)?;
        Ok(Self { fd, forbidden: self.forbidden.clone() })
    }

    /// At most `max` entries in no order, and whether there are more.
    pub fn entries(&self, max: usize) -> io::Result<(Vec<DirectoryEntry>, bool)> {
        let mut entries = Vec::new();
        let readable = openat(&self.fd, ".", LIST, Mode::empty())?;
        for entry in Dir::new(readable)? {
            let entry = entry?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name == "." || name == ".." {
                continue;
            }
            if entries.len() == max {
                return Ok((entries, true));
            }
            let kind = match entry.file_type() {
                // Some file systems do not say.
                FileType::Unknown => self.look(name).map_or(FileKind::Other, |facts| facts.kind),
                known => kind_of(known),
            };
            entries.push(DirectoryEntry { name: name.to_owned(), kind });
        }
        Ok((entries, false))
    }

    /// Facts about the directory itself.
    pub fn facts(&self) -> io::Result<FileFacts> {
        Ok(facts_of(&fstat(&self.fd)?))
    }

    /// Facts about `name`; about a link itself if it is one.
    pub fn look(&self, name: &OsStr) -> io::Result<FileFacts> {
        Ok(facts_of(&statat(&self.fd, single(name)?, AtFlags::SYMLINK_NOFOLLOW)?))
    }

    /// The target of a link; it may lead anywhere.
    pub fn link(&self, name: &OsStr) -> io::Result<PathBuf> {
        let target = readlinkat(&self.fd, single(name)?, Vec::new())?;
        Ok(OsString::from_vec(target.into_bytes()).into())
    }

    /// Opens a regular file for reading.
    pub fn open(&self, name: &OsStr) -> io::Result<File> {
        let file = File::from(openat(&self.fd, single(name)?, READ, Mode::empty())?);
        match file.metadata()?.is_file() {
            true => Ok(file),
            false => Err(not_regular()),
        }
    }

    /// A whole regular file of no more than `max_bytes`.
    pub fn read(&self, name: &OsStr, max_bytes: u64) -> io::Result<Vec<u8>> {
        let file = self.open(name)?;
        let len = file.metadata()?.len();
        if len > max_bytes {
            return Err(too_large(max_bytes));
        }
        let mut bytes = Vec::with_capacity(usize::try_from(len).unwrap_or_default());
        // The file may grow while we read.
        file.take(max_bytes.saturating_add(1)).read_to_end(&mut bytes)?;
        match bytes.len() as u64 > max_bytes {
            true => Err(too_large(max_bytes)),
            false => Ok(bytes),
        }
    }

    /// Replaces a regular file as a whole, keeping its mode, or makes it.
    pub fn replace(&self, name: &OsStr, bytes: &[u8]) -> io::Result<()> {
        let old = match self.look(name) {
            Ok(old) if old.kind != FileKind::File => return Err(not_regular()),
            Ok(old) => Some(old.mode),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        self.put(bytes, old, |temporary| {
            Ok(renameat(&self.fd, temporary, &self.fd, single(name)?)?)
        })
    }

    /// Makes a file where nothing is.
    pub fn create(&self, name: &OsStr, bytes: &[u8], mode: Option<u32>) -> io::Result<()> {
        self.put(bytes, mode, |temporary| self.rename(temporary, self, name))
    }

    /// Removes whatever is not a directory.
    pub fn remove(&self, name: &OsStr) -> io::Result<()> {
        Ok(unlinkat(&self.fd, single(name)?, AtFlags::empty())?)
    }

    /// Gives an entry another name; never replaces anything.
    pub fn rename(&self, name: &OsStr, to: &Self, new_name: &OsStr) -> io::Result<()> {
        let (name, new_name) = (single(name)?, single(new_name)?);
        match renameat_with(&self.fd, name, &to.fd, new_name, RenameFlags::NOREPLACE) {
            // Not every file system can; a hard link replaces nothing either.
            Err(Errno::INVAL | Errno::NOSYS) => {
                rustix::fs::linkat(&self.fd, name, &to.fd, new_name, AtFlags::empty())?;
                self.remove(name)
            }
            done => Ok(done?),
        }
    }

    /// Writes a temporary file, which `settle` gives its name.
    fn put(
        &self,
        bytes: &[u8],
        mode: Option<u32>,
        settle: impl FnOnce(&OsStr) -> io::Result<()>,
    ) -> io::Result<()> {
        let temporary = temporary_name()?;
        // What only its owner may read must not be readable for a moment.
        let begin = Mode::from_raw_mode(if mode.is_some() { 0o600 } else { 0o666 });
        let mut file = File::from(openat(&self.fd, &temporary, WRITE, begin)?);
        let written = file.write_all(bytes).and_then(|()| match mode {
            Some(mode) => Ok(fchmod(&file, Mode::from_raw_mode(mode))?),
            None => Ok(()),
        });
        let settled = written.and_then(|()| settle(&temporary));
        if settled.is_err() {
            let _ = unlinkat(&self.fd, &temporary, AtFlags::empty());
        }
        settled
    }
}

const LIST: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
/// Flags to go through a directory, which takes no right to read it.
const PASS: OFlags =
    OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// Without `NONBLOCK`, opening a FIFO waits for a writer for ever.
const READ: OFlags = OFlags::RDONLY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);
const WRITE: OFlags = OFlags::WRONLY
    .union(OFlags::CREATE)
    .union(OFlags::EXCL)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

fn single(name: &OsStr) -> io::Result<&OsStr> {
    let mut parts = Path::new(name).components();
    match (parts.next(), parts.next()) {
        (Some(Component::Normal(only)), None) if only == name => Ok(name),
        _ => Err(io::Error::new(io::ErrorKind::InvalidInput, "not a single name")),
    }
}

fn temporary_name() -> io::Result<OsString> {
    let mut random = [0; 8];
    getrandom::fill(&mut random).map_err(|_| io::Error::other("no randomness"))?;
    Ok(format!(".switchyard-{:016x}", u64::from_ne_bytes(random)).into())
}

fn kind_of(file_type: FileType) -> FileKind {
    match file_type {
        FileType::RegularFile => FileKind::File,
        FileType::Directory => FileKind::Directory,
        FileType::Symlink => FileKind::Link,
        _ => FileKind::Other,
    }
}

fn facts_of(stat: &Stat) -> FileFacts {
    let seconds = u64::try_from(stat.st_mtime).unwrap_or_default();
    let nanos = u32::try_from(stat.st_mtime_nsec).unwrap_or_default();
    FileFacts {
        kind: kind_of(FileType::from_raw_mode(stat.st_mode)),
        len: u64::try_from(stat.st_size).unwrap_or_default(),
        modified: SystemTime::UNIX_EPOCH + Duration::new(seconds, nanos),
        mode: stat.st_mode & 0o7777,
    }
}

pub(crate) fn not_regular() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "not a regular file")
}

fn too_large(max_bytes: u64) -> io::Error {
    let max = match max_bytes >> 20 {
        0 => format!("{max_bytes} bytes"),
        mib => format!("{mib} MiB"),
    };
    io::Error::new(io::ErrorKind::FileTooLarge, format!("the file is larger than {max}"))
}
