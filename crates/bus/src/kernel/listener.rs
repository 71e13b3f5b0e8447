//! The listeners of a bus: TCP and unix sockets.
//!
//! A unix socket belongs to whoever made it: its file mode keeps others out, and the peer's
//! user id is checked as well, because a mode is set a moment after the file is there.

use std::fs;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::{SocketFlags, accept_with, sockopt};

use super::BusError;
use crate::hello::BusToken;

/// A listener's address, and the token and pool of its clients.
#[derive(Debug, Clone)]
pub struct ListenConfig {
    pub at: ListenAddress,
    /// The token that clients must show.
    pub token: Option<BusToken>,
    pub pool: Option<Arc<str>>,
}

#[derive(Debug, Clone)]
pub enum ListenAddress {
    /// Without a token on a loopback address only.
    Tcp(SocketAddr),
    /// `mode` is that of the socket file; with 0600 the peer must be of our user, or root.
    Unix { path: PathBuf, mode: u32 },
}

#[derive(Debug)]
pub(super) struct Listener {
    socket: OwnedFd,
    /// The configuration, with the address that a port of 0 became.
    pub(super) listen: ListenConfig,
    _file: Option<SocketFile>,
    /// Set while it accepts nothing, because there are no descriptors left.
    pub(super) is_resting: bool,
}

/// A socket in the file system, removed with its listener.
#[derive(Debug)]
struct SocketFile {
    path: PathBuf,
    inode: u64,
}

/// The transport by which a client is connected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ClientTransport {
    Tcp(Option<SocketAddr>),
    Unix { uid: u32 },
    Port,
}

impl Listener {
    pub(super) fn open(mut listen: ListenConfig) -> Result<Self, BusError> {
        let place = listen.at.to_string();
        let refused = |source| BusError::Listen { place: place.clone(), source };
        let (socket, file) = match &mut listen.at {
            ListenAddress::Tcp(address) => {
                if listen.token.is_none() && !address.ip().is_loopback() {
                    return Err(BusError::OpenToAll(*address));
                }
                let socket = TcpListener::bind(*address).map_err(refused)?;
                socket.set_nonblocking(true).map_err(refused)?;
                *address = socket.local_addr().map_err(refused)?;
                (OwnedFd::from(socket), None)
            }
            ListenAddress::Unix { path, mode } => {
                let (socket, file) = bind_unix(path, *mode).map_err(refused)?;
                (socket, Some(file))
            }
        };
        // std listens with a backlog of 128; a thousand clients may come at once.
        let _as_it_was = rustix::net::listen(&socket, 4096);
        Ok(Self { socket, listen, _file: file, is_resting: false })
    }

    /// Accepts a waiting client, if there is one. A peer of another user is closed.
    pub(super) fn accept(&self) -> Result<Option<(OwnedFd, ClientTransport)>, Errno> {
        loop {
            let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
            let socket = match accept_with(&self.socket, flags) {
                Ok(socket) => socket,
                Err(Errno::AGAIN) => return Ok(None),
                // It left before it was accepted, or a signal came.
                Err(Errno::INTR | Errno::CONNABORTED | Errno::PROTO) => continue,
                Err(errno) => return Err(errno),
            };
            let via = match &self.listen.at {
                ListenAddress::Tcp(_) => {
                    let _slower = sockopt::set_tcp_nodelay(&socket, true);
                    set_keepalive(&socket);
                    let peer = rustix::net::getpeername(&socket).ok().flatten();
                    ClientTransport::Tcp(peer.and_then(|peer| SocketAddr::try_from(peer).ok()))
                }
                ListenAddress::Unix { mode, .. } => {
                    let is_private = mode.trailing_zeros() >= 6;
                    let uid = sockopt::socket_peercred(&socket).map(|peer| peer.uid);
                    let own = rustix::process::geteuid();
                    match uid {
                        Ok(uid) if !is_private || uid == own || uid.is_root() => {
                            ClientTransport::Unix { uid: uid.as_raw() }
                        }
                        _ => {
                            tracing::warn!("refused a client of another user");
                            continue;
                        }
                    }
                }
            };
            return Ok(Some((socket, via)));
        }
    }

    pub(super) fn address(&self) -> Option<SocketAddr> {
        match self.listen.at {
            ListenAddress::Tcp(address) => Some(address),
            ListenAddress::Unix { .. } => None,
        }
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Turns on TCP keep-alive, because a peer whose machine or network is gone sends nothing about it.
fn set_keepalive(socket: &OwnedFd) {
    const IDLE: Duration = Duration::from_secs(60);
    const INTERVAL: Duration = Duration::from_secs(15);
    let _unnoticed = sockopt::set_socket_keepalive(socket, true)
        .and_then(|()| sockopt::set_tcp_keepidle(socket, IDLE))
        .and_then(|()| sockopt::set_tcp_keepintvl(socket, INTERVAL))
        .and_then(|()| sockopt::set_tcp_keepcnt(socket, 4));
}

fn bind_unix(path: &Path, mode: u32) -> io::Result<(OwnedFd, SocketFile)> {
    remove_stale(path)?;
    let socket = UnixListener::bind(path)?;
    socket.set_nonblocking(true)?;
    fs::set_permissions(path, fs::Permissions::from_mode(mode))?;
    let inode = fs::symlink_metadata(path)?.ino();
    Ok((socket.into(), SocketFile { path: path.to_owned(), inode }))
}

/// Removes a socket file on which nobody listens, which is what a crash leaves.
fn remove_stale(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
        Ok(metadata) if !metadata.file_type().is_socket() => {
            Err(io::Error::new(io::ErrorKind::AlreadyExists, "there is a file that is no socket"))
        }
        Ok(_) => match UnixStream::connect(path) {
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => fs::remove_file(path),
            Ok(_) | Err(_) => Err(io::Error::new(
                io::ErrorKind::AddrInUse,
                "another program listens there already",
            )),
        },
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        // Only our own file: somebody else may have put another one there since.
        if fs::symlink_metadata(&self.path).is_ok_and(|file| file.ino() == self.inode) {
            let _gone = fs::remove_file(&self.path);
        }
    }
}

impl std::fmt::Display for ListenAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Tcp(address) => write!(f, "tcp {address}"),
            Self::Unix { path, .. } => write!(f, "unix {}", path.display()),
        }
    }
}

impl std::fmt::Display for ClientTransport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Tcp(Some(address)) => write!(f, "tcp {address}"),
            Self::Tcp(None) => write!(f, "tcp"),
            Self::Unix { uid } => write!(f, "unix uid {uid}"),
            Self::Port => write!(f, "port"),
        }
    }
}
