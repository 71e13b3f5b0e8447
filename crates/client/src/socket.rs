//! Connects to a socket, however long its path is.

use std::io;
use std::os::fd::AsRawFd as _;
use std::path::{Path, PathBuf};

use tokio::net::UnixStream;

pub(crate) async fn connect(socket: &Path) -> io::Result<UnixStream> {
    let none = || io::Error::new(io::ErrorKind::InvalidInput, "this is no socket");
    let (dir, name) = socket.parent().zip(socket.file_name()).ok_or_else(none)?;
    // Through the directory's handle, because a socket's path has room for 107 bytes only.
    let dir = std::fs::File::open(dir)?;
    let short = PathBuf::from(format!("/proc/self/fd/{}", dir.as_raw_fd())).join(name);
    UnixStream::connect(short).await
}
