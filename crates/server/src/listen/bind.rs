//! A socket that listens, and whether it may.

use std::net::{IpAddr, SocketAddr};
use std::path::Path;

use tokio::net::{TcpListener, UnixListener};

use super::ListenError;
use super::unix::{self, SocketFile};
use crate::tls::Tls;

/// An open door. Dropping it closes it, and removes a unix socket's file.
#[derive(Debug)]
pub struct Bound {
    pub(super) socket: Socket,
    pub(super) tls: Option<Tls>,
}

#[derive(Debug)]
pub(super) enum Socket {
    Tcp(TcpListener),
    Unix {
        listener: UnixListener,
        kind: UnixKind,
        /// Not there for a socket that somebody else made.
        _file: Option<SocketFile>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UnixKind {
    /// Our own user needs no token there.
    Private,
    /// Everybody needs one.
    Shared,
}

/// Refuses what would let other machines in unprotected.
pub fn check_bind(
    address: SocketAddr,
    tls: Option<&Tls>,
    is_forced: bool,
) -> Result<(), ListenError> {
    let is_loopback = match address.ip().to_canonical() {
        IpAddr::V4(ip) => ip.is_loopback(),
        IpAddr::V6(ip) => ip.is_loopback(),
    };
    if is_loopback || tls.is_some() || is_forced {
        Ok(())
    } else {
        Err(ListenError::Exposed(address))
    }
}

impl Bound {
    /// Listens on an address. `is_forced` is the user's `--insecure`.
    pub async fn tcp(
        address: SocketAddr,
        tls: Option<Tls>,
        is_forced: bool,
    ) -> Result<Self, ListenError> {
        check_bind(address, tls.as_ref(), is_forced)?;
        let bound = TcpListener::bind(address).await;
        let listener = bound.map_err(|source| ListenError::Tcp { address, source })?;
        Ok(Self { socket: Socket::Tcp(listener), tls })
    }

    /// Listens on a TCP socket that was opened by somebody else, such as systemd.
    pub fn inherited_tcp(
        listener: std::net::TcpListener,
        tls: Option<Tls>,
        is_forced: bool,
    ) -> Result<Self, ListenError> {
        let address = listener.local_addr().map_err(ListenError::Inherited)?;
        check_bind(address, tls.as_ref(), is_forced)?;
        listener.set_nonblocking(true).map_err(ListenError::Inherited)?;
        let listener = TcpListener::from_std(listener).map_err(ListenError::Inherited)?;
        Ok(Self { socket: Socket::Tcp(listener), tls })
    }

    /// Listens on the socket through which our own user's commands come without a token.
    pub async fn private_unix(path: &Path) -> Result<Self, ListenError> {
        Self::unix(path, UnixKind::Private).await
    }

    /// Listens on a unix socket on which tokens are asked for.
    pub async fn shared_unix(path: &Path) -> Result<Self, ListenError> {
        Self::unix(path, UnixKind::Shared).await
    }

    /// Listens on a unix socket that was opened by somebody else; tokens are asked for.
    pub fn inherited_unix(listener: std::os::unix::net::UnixListener) -> Result<Self, ListenError> {
        listener.set_nonblocking(true).map_err(ListenError::Inherited)?;
        let listener = UnixListener::from_std(listener).map_err(ListenError::Inherited)?;
        let socket = Socket::Unix { listener, kind: UnixKind::Shared, _file: None };
        Ok(Self { socket, tls: None })
    }

    /// As [`inherited_unix`](Self::inherited_unix), but for our own user alone, without a token.
    pub fn inherited_private_unix(
        listener: std::os::unix::net::UnixListener,
    ) -> Result<Self, ListenError> {
        let mut bound = Self::inherited_unix(listener)?;
        if let Socket::Unix { kind, .. } = &mut bound.socket {
            *kind = UnixKind::Private;
        }
        Ok(bound)
    }

    /// Where it listens; none for a unix socket.
    pub fn local_addr(&self) -> Option<SocketAddr> {
        match &self.socket {
            Socket::Tcp(listener) => listener.local_addr().ok(),
            Socket::Unix { .. } => None,
        }
    }

    pub fn has_tls(&self) -> bool {
        self.tls.is_some()
    }

    async fn unix(path: &Path, kind: UnixKind) -> Result<Self, ListenError> {
        let (listener, file) = unix::bind(path, kind).await?;
        Ok(Self { socket: Socket::Unix { listener, kind, _file: Some(file) }, tls: None })
    }
}
