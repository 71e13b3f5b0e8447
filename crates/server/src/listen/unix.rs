//! Unix sockets with a file: for our own user alone, and replaced only where their process has
//! died.
//!
//! Nearly everything is done through a handle on the directory, which also makes room for paths
//! longer than the 107 bytes that a socket's address has.

use std::fs::File;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{AtFlags, FileType, FlockOperation, Mode, OFlags};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use tokio::net::{UnixListener, UnixSocket};

use super::ListenError;

/// Length of the accept queue; the kernel cuts it to its own limit.
const BACKLOG: u32 = 1024;
/// The longest path that a socket's address has room for.
const MAX_ADDRESS_BYTES: usize = 107;
/// Two daemons that start at once look one after the other.
const LOCK_TRIES: u32 = 100;
const LOCK_RETRY: Duration = Duration::from_millis(20);

/// Who may connect, and how clients authenticate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnixKind {
    /// Our own user, whose commands come there without a token.
    Private,
    /// Whoever has a token.
    Shared,
}

/// The file of a socket; removed when dropped, if it is still the same one.
#[derive(Debug)]
pub(super) struct SocketFile {
    dir: File,
    name: String,
    inode: (u64, u64),
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        if inode_of(&self.dir, &self.name) == Some(self.inode) {
            let _ = rustix::fs::unlinkat(&self.dir, &self.name, AtFlags::empty());
        }
    }
}

pub(super) async fn bind(
    path: &Path,
    kind: UnixKind,
) -> Result<(UnixListener, SocketFile), ListenError> {
    let refused = |why| ListenError::Refused { path: path.to_owned(), why };
    let failed = |source| ListenError::Unix { path: path.to_owned(), source };
    let name = path.file_name().and_then(|name| name.to_str());
    let name = name.ok_or_else(|| refused("the file's name must be text"))?;
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let dir = open_dir(parent.unwrap_or(Path::new(".")), path, kind)?;
    lock(&dir).await.map_err(failed)?;
    remove_dead(&dir, name, path)?;
    let socket = UnixSocket::new_stream().map_err(failed)?;
    // The file gets the mode of the socket: there is no moment at which others may connect.
    let only_us = Mode::RUSR | Mode::WUSR;
    rustix::fs::fchmod(&socket, only_us).map_err(|error| failed(error.into()))?;
    socket.bind(address(&dir, name)).map_err(failed)?;
    let listener = socket.listen(BACKLOG).map_err(failed)?;
    let inode = inode_of(&dir, name).ok_or_else(|| refused("it vanished at once"))?;
    let _ = rustix::fs::flock(&dir, FlockOperation::Unlock);
    Ok((listener, SocketFile { dir, name: name.to_owned(), inode }))
}

/// Opens the directory, which must be ours: whoever may write there could put another
/// socket in place of ours.
fn open_dir(dir: &Path, path: &Path, kind: UnixKind) -> Result<File, ListenError> {
    let refused = |why| ListenError::Refused { path: path.to_owned(), why };
    let failed = |source| ListenError::Unix { path: path.to_owned(), source };
    if kind == UnixKind::Private {
        let mut builder = std::fs::DirBuilder::new();
        builder.recursive(true).mode(0o700).create(dir).map_err(failed)?;
    }
    let flags = (OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC).bits().cast_signed();
    let file = File::options().read(true).custom_flags(flags).open(dir).map_err(|error| {
        match std::fs::symlink_metadata(dir) {
            Ok(metadata) if metadata.is_symlink() => refused("its directory is a symbolic link"),
            _ => failed(error),
        }
    })?;
    let metadata = file.metadata().map_err(failed)?;
    if metadata.uid() != rustix::process::geteuid().as_raw() {
        return Err(refused("its directory belongs to another user; use one of your own"));
    }
    // The mode of an existing directory is checked and never changed.
    if is_open_to_all(&metadata) {
        return Err(refused("everybody may write to its directory; use one of your own"));
    }
    // Whoever has a directory above can put another one in its place.
    let real = short_path(&file, ".").canonicalize().map_err(failed)?;
    for above in real.ancestors().skip(1) {
        let metadata = std::fs::symlink_metadata(above).map_err(failed)?;
        let is_trusted = [0, rustix::process::geteuid().as_raw()].contains(&metadata.uid());
        if !is_trusted || is_open_to_all(&metadata) {
            return Err(refused("others may change a directory above it; use one of your own"));
        }
    }
    Ok(file)
}

/// Whether every user may replace files in a directory; not in `/tmp`, where users remove only
/// their own.
fn is_open_to_all(metadata: &std::fs::Metadata) -> bool {
    metadata.mode() & 0o002 != 0 && metadata.mode() & 0o1000 == 0
}

async fn lock(dir: &File) -> std::io::Result<()> {
    for _ in 0..LOCK_TRIES {
        match rustix::fs::flock(dir, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(()),
            Err(rustix::io::Errno::WOULDBLOCK) => tokio::time::sleep(LOCK_RETRY).await,
            Err(error) => return Err(error.into()),
        }
    }
    Err(std::io::Error::new(std::io::ErrorKind::TimedOut, "its directory stays locked"))
}

/// Removes what a process that was killed left there, and nothing else.
fn remove_dead(dir: &File, name: &str, path: &Path) -> Result<(), ListenError> {
    let refused = |why| ListenError::Refused { path: path.to_owned(), why };
    let failed = |error: rustix::io::Errno| ListenError::Unix {
        path: path.to_owned(),
        source: error.into(),
    };
    let stat = match rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => stat,
        Err(rustix::io::Errno::NOENT) => return Ok(()),
        Err(error) => return Err(failed(error)),
    };
    if FileType::from_raw_mode(stat.st_mode) != FileType::Socket {
        return Err(refused("something that is no socket is in its place"));
    }
    if stat.st_uid != rustix::process::geteuid().as_raw() {
        return Err(refused("a socket of another user is in its place"));
    }
    if is_listening(&short_path(dir, name)).map_err(failed)? {
        return Err(refused("another process listens there"));
    }
    rustix::fs::unlinkat(dir, name, AtFlags::empty()).map_err(failed)
}

/// Asks without waiting: a listener with a full backlog would make a plain connect hang.
fn is_listening(path: &Path) -> rustix::io::Result<bool> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let probe = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    match rustix::net::connect(probe.as_fd(), &SocketAddrUnix::new(path)?) {
        Err(rustix::io::Errno::CONNREFUSED | rustix::io::Errno::NOENT) => Ok(false),
        _ => Ok(true),
    }
}

fn inode_of(dir: &File, name: &str) -> Option<(u64, u64)> {
    let stat = rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    Some((stat.st_dev, stat.st_ino))
}

/// The socket's own path where that fits: by it others find it in the kernel's list, such as a
/// sandbox that covers what is listened at.
fn address(dir: &File, name: &str) -> PathBuf {
    let short = short_path(dir, name);
    let real = short.parent().and_then(|dir| dir.read_link().ok()).map(|dir| dir.join(name));
    real.filter(|path| path.as_os_str().len() <= MAX_ADDRESS_BYTES).unwrap_or(short)
}

fn short_path(dir: &File, name: &str) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}/{name}", dir.as_raw_fd()))
}
