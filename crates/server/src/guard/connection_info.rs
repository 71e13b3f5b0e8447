//! The connection that a request came by, and what handlers extract of it.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use tokio_util::sync::CancellationToken;

use super::credentials;
use super::peer_user::PeerUser;
use super::stream_shares::{ConnectionShare, StreamShare};
use crate::limits::LastWords;
use crate::principal::{Principal, Role};
use crate::problem::Problem;

/// The other end of a connection, as the kernel says it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Peer {
    Net(SocketAddr),
    /// A process of that user, on the daemon's private socket.
    Private {
        uid: u32,
        /// Whether an agent of ours has started the process.
        is_worker: bool,
    },
    /// A process of that user, on a socket where tokens are asked for.
    Unix {
        uid: u32,
    },
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Net(address) => address.ip().fmt(f),
            Self::Private { uid, .. } | Self::Unix { uid } => write!(f, "uid {uid}"),
        }
    }
}

/// The key by which failures are counted together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum PeerKey {
    /// Of an IPv6 address the first 64 bits: a home or a host is given at least this much of the
    /// address space.
    Net(IpAddr),
    User(u32),
}

impl Peer {
    pub(super) fn key(&self) -> PeerKey {
        match self {
            Self::Private { uid, .. } | Self::Unix { uid } => PeerKey::User(*uid),
            Self::Net(address) => PeerKey::Net(match address.ip().to_canonical() {
                IpAddr::V6(ip) => Ipv6Addr::from_bits(ip.to_bits() >> 64 << 64).into(),
                ip @ IpAddr::V4(_) => ip,
            }),
        }
    }
}

/// The connection that a request came on; every request carries it as an extension.
#[derive(Debug, Clone)]
pub struct ConnectionInfo {
    pub peer: Peer,
    /// Our end's address; none for unix sockets.
    pub local: Option<SocketAddr>,
    pub is_tls: bool,
    /// Cancelling it cuts the connection, also after it became a WebSocket.
    pub cut: CancellationToken,
    pub activity: Arc<ConnectionActivity>,
}

impl ConnectionInfo {
    pub fn new(peer: Peer, local: Option<SocketAddr>, is_tls: bool) -> Self {
        let activity = Arc::default();
        Self { peer, local, is_tls, cut: CancellationToken::new(), activity }
    }

    /// As the kernel would say of a browser of ours.
    #[cfg(test)]
    pub(crate) fn of_our_user(self) -> Self {
        self.of_user(PeerUser::Local(rustix::process::geteuid().as_raw()))
    }

    #[cfg(test)]
    pub(super) fn of_user(self, user: PeerUser) -> Self {
        let _ = self.activity.user.set(user);
        self
    }
}

/// How many requests of a connection are being served, how many ever were, and its client.
#[derive(Debug, Default)]
pub struct ConnectionActivity {
    n_now: AtomicUsize,
    n_ever: AtomicUsize,
    client: OnceLock<String>,
    /// What its client is told last, if that waits for it.
    pub last_words: LastWords,
    pub(super) share: ConnectionShare,
    /// The user at the other end; looked up when it matters.
    pub(super) user: OnceLock<PeerUser>,
}

impl ConnectionActivity {
    /// Lets the place of its one stream go to another, which is of more use to somebody.
    pub(crate) fn give_back_stream(&self) {
        StreamShare::give_back_last(&self.share);
    }

    pub fn enter(self: &Arc<Self>) -> BusyGuard {
        self.n_now.fetch_add(1, Ordering::Relaxed);
        self.n_ever.fetch_add(1, Ordering::Relaxed);
        BusyGuard(self.clone())
    }

    /// Notes the client that has authenticated on this connection, by the name of its token.
    pub fn note_client(&self, name: &str) {
        self.client.get_or_init(|| name.to_owned());
    }

    pub fn client(&self) -> Option<&str> {
        self.client.get().map(String::as_str)
    }

    pub fn is_busy(&self) -> bool {
        self.n_now.load(Ordering::Relaxed) > 0
    }

    pub fn n_ever(&self) -> usize {
        self.n_ever.load(Ordering::Relaxed)
    }
}

/// Held while a request is served, its answer's body included.
#[derive(Debug)]
pub struct BusyGuard(Arc<ConnectionActivity>);

impl Drop for BusyGuard {
    fn drop(&mut self) {
        self.0.n_now.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Principal {
    /// The role check of a handler: `principal.require(Role::Operator)?`.
    pub fn require(&self, role: Role) -> Result<(), Problem> {
        if self.may(role) {
            return Ok(());
        }
        let detail = format!("the token `{}` is not allowed to do this", self.name);
        Err(Problem::forbidden(detail).remedy(format!("use a token with the role `{role}`")))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Principal {
    type Rejection = Problem;

    /// Refuses where the guard has authenticated nobody: on a route that was forgotten there, or
    /// that is open to all.
    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        parts.extensions.get::<Self>().cloned().ok_or_else(Problem::unauthorized)
    }
}

impl<S: Send + Sync> FromRequestParts<S> for ConnectionInfo {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let arrival = parts.extensions.get::<Self>().cloned();
        arrival.ok_or_else(|| Problem::internal("the request came in by no listener"))
    }
}

/// How the login's cookie is named for this caller.
#[derive(Debug)]
pub(crate) struct CookieName(pub(crate) String);

impl<S: Send + Sync> FromRequestParts<S> for CookieName {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Self::Rejection> {
        Ok(Self(credentials::cookie_name(&parts.headers, &parts.uri)))
    }
}

/// How the page that calls us sees our address: `127.0.0.1:7433`.
#[derive(Debug)]
pub(crate) struct HostName(pub(crate) String);

impl<S: Send + Sync> FromRequestParts<S> for HostName {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let host = credentials::host_of(&parts.headers, &parts.uri);
        let host = host.ok_or_else(|| Problem::bad_request("the request names no host"))?;
        Ok(Self(host.to_ascii_lowercase()))
    }
}

/// The cookies of logins that came with a request, for the routes that make something of them.
#[derive(Debug, Clone)]
pub(crate) struct LoginCookies(pub(crate) Vec<String>);

impl<S: Send + Sync> FromRequestParts<S> for LoginCookies {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        parts.extensions.get::<Self>().cloned().ok_or_else(Problem::unauthorized)
    }
}
