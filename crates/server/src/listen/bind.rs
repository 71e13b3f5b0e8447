//! Sockets that listen, and the check whether they may.

use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;

use tokio::net::{TcpListener, UnixListener};

use super::ListenError;
use super::unix::{self, SocketFile, UnixKind};
use crate::tls::Tls;

/// Tries to find a port that is free for IPv4 and IPv6.
const MAX_TRIES: u32 = 16;

/// A listening socket. Dropping it closes it, and removes a unix socket's file.
#[derive(Debug)]
pub struct BoundSocket {
    pub(super) socket: ListeningSocket,
    pub(super) tls: Option<Tls>,
}

#[derive(Debug)]
pub(super) enum ListeningSocket {
    Tcp(TcpListener),
    Unix {
        listener: UnixListener,
        kind: UnixKind,
        /// None for a socket that another process made.
        _file: Option<SocketFile>,
    },
}

/// Refuses an address that other machines could reach without TLS.
pub fn check_bind(
    address: SocketAddr,
    tls: Option<&Tls>,
    is_forced: bool,
) -> Result<(), ListenError> {
    if address.ip().to_canonical().is_loopback() || tls.is_some() || is_forced {
        Ok(())
    } else {
        Err(ListenError::Exposed(address))
    }
}

impl BoundSocket {
    /// Listens on an address. `is_forced` is the user's `--insecure`.
    pub async fn tcp(
        address: SocketAddr,
        tls: Option<Tls>,
        is_forced: bool,
    ) -> Result<Self, ListenError> {
        check_bind(address, tls.as_ref(), is_forced)?;
        let bound = TcpListener::bind(address).await;
        let listener = bound.map_err(|source| match source.kind() {
            ErrorKind::AddrInUse => ListenError::Taken(address),
            _ => ListenError::Tcp { address, source },
        })?;
        Ok(Self { socket: ListeningSocket::Tcp(listener), tls })
    }

    /// As [`tcp`](Self::tcp); and where `localhost` leads there, on the same port of the other
    /// address family too. `localhost`, and every name below it, is both 127.0.0.1 and `[::1]`, so
    /// a program that had the other one would be taken for us.
    pub async fn tcp_for_browsers(
        address: SocketAddr,
        tls: Option<Tls>,
        is_forced: bool,
    ) -> Result<Vec<Self>, ListenError> {
        let is_any_port = address.port() == 0;
        let mut n_tries = 1;
        loop {
            let first = Self::tcp(address, tls.clone(), is_forced).await?;
            match first.bind_localhost_pair().await {
                Ok(None) => return Ok(vec![first]),
                Ok(Some(twin)) => return Ok(vec![first, twin]),
                Err(_) if is_any_port && n_tries < MAX_TRIES => n_tries += 1,
                Err(error) => return Err(error),
            }
        }
    }

    /// A listener at the same port of `localhost`'s other address, if this is one of `localhost`.
    pub async fn bind_localhost_pair(&self) -> Result<Option<Self>, ListenError> {
        let Some((address, twin)) = self.localhost_pair_address() else { return Ok(None) };
        match TcpListener::bind(twin).await {
            Ok(listener) => Ok(Some(Self { socket: ListeningSocket::Tcp(listener), tls: None })),
            Err(source) if source.kind() == ErrorKind::AddrInUse => {
                Err(ListenError::LocalhostTaken { address, twin })
            }
            // This machine has no such address, so no other program can listen there.
            Err(error) => {
                tracing::debug!(%twin, %error, "there is no such address");
                Ok(None)
            }
        }
    }

    /// Whether the two are both addresses of `localhost` at one port.
    pub fn is_localhost_pair_of(&self, other: &Self) -> bool {
        let twin = self.localhost_pair_address().map(|(_, twin)| twin);
        twin.is_some() && twin == other.local_addr() && !other.has_tls()
    }

    fn localhost_pair_address(&self) -> Option<(SocketAddr, SocketAddr)> {
        let address = self.local_addr().filter(|_| !self.has_tls())?;
        let twin: IpAddr = match address.ip().to_canonical() {
            IpAddr::V4(Ipv4Addr::LOCALHOST | Ipv4Addr::UNSPECIFIED) => Ipv6Addr::LOCALHOST.into(),
            IpAddr::V6(Ipv6Addr::LOCALHOST) => Ipv4Addr::LOCALHOST.into(),
            // `[::]` is both, and others are not where `localhost` leads.
            _ => return None,
        };
        Some((address, SocketAddr::new(twin, address.port())))
    }

    /// Whether it is where `localhost` and the names below it lead, without TLS: every user of this
    /// machine can listen there while nobody else does.
    pub fn is_plain_localhost(&self) -> bool {
        let localhosts: [IpAddr; 2] = [Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
        let address = self.local_addr().map(|address| address.ip().to_canonical());
        !self.has_tls() && address.is_some_and(|ip| localhosts.contains(&ip))
    }

    /// The number by which the kernel knows a TCP socket, and no other until it starts again.
    pub fn socket_number(&self) -> Option<u64> {
        match &self.socket {
            ListeningSocket::Tcp(listener) => rustix::net::sockopt::socket_cookie(listener).ok(),
            ListeningSocket::Unix { .. } => None,
        }
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
        Ok(Self { socket: ListeningSocket::Tcp(listener), tls })
    }

    /// Listens on a unix socket.
    pub async fn unix(path: &Path, kind: UnixKind) -> Result<Self, ListenError> {
        let (listener, file) = unix::bind(path, kind).await?;
        Ok(Self { socket: ListeningSocket::Unix { listener, kind, _file: Some(file) }, tls: None })
    }

    /// Listens on a unix socket that was opened by somebody else.
    pub fn inherited_unix(
        listener: std::os::unix::net::UnixListener,
        kind: UnixKind,
    ) -> Result<Self, ListenError> {
        listener.set_nonblocking(true).map_err(ListenError::Inherited)?;
        let listener = UnixListener::from_std(listener).map_err(ListenError::Inherited)?;
        Ok(Self { socket: ListeningSocket::Unix { listener, kind, _file: None }, tls: None })
    }

    /// Where it listens; none for a unix socket.
    pub fn local_addr(&self) -> Option<SocketAddr> {
        match &self.socket {
            ListeningSocket::Tcp(listener) => listener.local_addr().ok(),
            ListeningSocket::Unix { .. } => None,
        }
    }

    pub fn has_tls(&self) -> bool {
        self.tls.is_some()
    }
}
