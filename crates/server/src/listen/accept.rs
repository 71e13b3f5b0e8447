//! Accepts connections, one after the other, up to the listener's limit.
//!
//! HTTP and the line protocols take their connections from here, so the limits on them are the same
//! everywhere. Where the limit is reached, a connection is evicted ([`OpenConnections`]), so that
//! no client can keep out others.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use rustix::net::sockopt;
use tokio::net::{TcpStream, UnixStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_rustls::server::TlsStream;
use tokio_util::either::Either;
use tokio_util::sync::CancellationToken;

use super::bind::{BoundSocket, ListeningSocket};
use super::open_connections::OpenConnections;
use super::unix::UnixKind;
use crate::guard::{ConnectionInfo, Peer};
use crate::limits::{HttpLimits, StallGuard};
use crate::tls::Tls;

/// Pause after an error that does not pass at once, such as too many open files.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
/// An evicted connection is gone by then.
const EVICTED_WITHIN: Duration = Duration::from_millis(500);
/// A connection that was cut is gone by then, but for a task that never runs again.
const CUT_PATIENCE: Duration = Duration::from_secs(2);
/// Size of the kernel's send buffer for a peer that takes nothing. By default it keeps megabytes
/// for each, and shows only after a third of it has gone that the peer took something.
const SEND_BUFFER: usize = 256 << 10;
/// A peer whose machine vanished is noticed after the sum of these.
const PROBE_AFTER: Duration = Duration::from_secs(60);
const PROBE_EVERY: Duration = Duration::from_secs(15);

const BUSY: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\nconnection: close\r\n\
content-type: application/problem+json\r\ncontent-length: 150\r\n\r\n\
{\"type\":\"urn:switchyard:problem:too-many-connections\",\"title\":\"too many connections are open\",\
\"status\":503,\"remedy\":\"come back later\",\"retry_after\":1}";

/// A listening socket with a limit of connections.
#[derive(Debug)]
pub struct Listener {
    bound: BoundSocket,
    limits: HttpLimits,
    places: Arc<Semaphore>,
    open: OpenConnections,
    /// Cancelled to cut all connections.
    abort: CancellationToken,
    refusal: Option<&'static [u8]>,
}

/// An accepted connection, before the TLS handshake.
#[derive(Debug)]
pub struct AcceptedConnection {
    raw: RawStream,
    info: ConnectionInfo,
    tls: Option<Tls>,
    place: OwnedSemaphorePermit,
    limits: HttpLimits,
}

/// The byte stream of an accepted connection: TLS is done, stalls and cuts are watched.
pub type ConnectionStream = Either<
    StallGuard<TcpStream>,
    Either<StallGuard<UnixStream>, Box<TlsStream<StallGuard<TcpStream>>>>,
>;

#[derive(Debug)]
enum RawStream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Listener {
    pub fn new(bound: BoundSocket, limits: HttpLimits) -> Self {
        let places = Arc::new(Semaphore::new(limits.max_connections.min(Semaphore::MAX_PERMITS)));
        let open = OpenConnections::new(limits.max_connections);
        Self { bound, limits, places, open, abort: CancellationToken::new(), refusal: None }
    }

    /// Refuses connections beyond the limit with an answer in HTTP.
    pub(super) fn refusing_in_http(mut self) -> Self {
        self.refusal = self.bound.tls.is_none().then_some(BUSY);
        self
    }

    /// The next connection within the limit. May be dropped at any time.
    pub async fn next(&self) -> AcceptedConnection {
        loop {
            let (raw, peer, local) = retry_accept(|| self.accept()).await;
            match self.acquire_permit().await {
                Some(place) => {
                    let (tls, limits) = (self.bound.tls.clone(), self.limits.clone());
                    let mut info = ConnectionInfo::new(peer, local, tls.is_some());
                    info.cut = self.abort.child_token();
                    self.open.add(info.cut.clone(), &info.activity);
                    return AcceptedConnection { raw, info, tls, place, limits };
                }
                None => {
                    tracing::debug!(%peer, "the limit of connections is reached");
                    if let Some(refusal) = self.refusal {
                        raw.try_write(refusal);
                    }
                }
            }
        }
    }

    async fn acquire_permit(&self) -> Option<OwnedSemaphorePermit> {
        if let Ok(place) = self.places.clone().try_acquire_owned() {
            return Some(place);
        }
        self.open.to_evict()?.cancel();
        let place = self.places.clone().acquire_owned();
        tokio::time::timeout(EVICTED_WITHIN, place).await.ok()?.ok()
    }

    /// Stops listening, gives open connections the limits' time to end, then cuts them.
    pub async fn drain(self) {
        let Self { bound, limits, places, abort, .. } = self;
        drop(bound);
        // A permit is held for as long as its connection lives, also as a WebSocket.
        let all = u32::try_from(limits.max_connections).unwrap_or(u32::MAX);
        if tokio::time::timeout(limits.drain, places.acquire_many(all)).await.is_err() {
            abort.cancel();
            let _ = tokio::time::timeout(CUT_PATIENCE, places.acquire_many(all)).await;
        }
    }

    async fn accept(&self) -> io::Result<(RawStream, Peer, Option<SocketAddr>)> {
        match &self.bound.socket {
            ListeningSocket::Tcp(listener) => {
                let (stream, address) = listener.accept().await?;
                let local = stream.local_addr()?;
                set_socket_options(&stream, self.limits.stall_timeout);
                Ok((RawStream::Tcp(stream), Peer::Net(address), Some(local)))
            }
            ListeningSocket::Unix { listener, kind, .. } => {
                let (stream, _) = listener.accept().await?;
                let peer = stream.peer_cred()?;
                let uid = peer.uid();
                let peer = match kind {
                    UnixKind::Private => {
                        let is_worker = peer.pid().is_none_or(bus::is_below_keeper);
                        Peer::Private { uid, is_worker }
                    }
                    UnixKind::Shared => Peer::Unix { uid },
                };
                Ok((RawStream::Unix(stream), peer, None))
            }
        }
    }
}

impl AcceptedConnection {
    pub fn peer(&self) -> Peer {
        self.info.peer
    }

    /// Does the TLS handshake where TLS is configured, within the time for a request's head. To be
    /// done in the connection's own task.
    pub async fn secure(self) -> io::Result<(ConnectionStream, ConnectionInfo)> {
        let Self { raw, info, tls, place, limits } = self;
        let (place, stall, cut) = (Some(place), limits.stall_timeout, info.cut.clone());
        let last_words = info.activity.last_words.clone();
        let stream = match (raw, tls) {
            (RawStream::Tcp(tcp), None) => {
                Either::Left(StallGuard::new(tcp, stall, last_words, cut, place))
            }
            (RawStream::Unix(unix), _) => {
                Either::Right(Either::Left(StallGuard::new(unix, stall, last_words, cut, place)))
            }
            (RawStream::Tcp(tcp), Some(tls)) => {
                let shaking =
                    tls.acceptor().accept(StallGuard::new(tcp, stall, last_words, cut, place));
                let shaken = tokio::time::timeout(limits.head_timeout, shaking).await;
                Either::Right(Either::Right(Box::new(shaken.map_err(io::Error::from)??)))
            }
        };
        Ok((stream, info))
    }
}

impl RawStream {
    /// Writes as much as is taken without waiting.
    fn try_write(&self, bytes: &[u8]) {
        let _ = match self {
            Self::Tcp(stream) => stream.try_write(bytes),
            Self::Unix(stream) => stream.try_write(bytes),
        };
    }
}

/// Sets socket options: answers are small and wanted at once; a peer that vanished is found out by
/// probes, or by bytes that it does not acknowledge.
fn set_socket_options(stream: &TcpStream, stall_timeout: Duration) {
    let _ = stream.set_nodelay(true);
    let _ = sockopt::set_socket_send_buffer_size(stream, SEND_BUFFER);
    let _ = sockopt::set_socket_keepalive(stream, true);
    let _ = sockopt::set_tcp_keepidle(stream, PROBE_AFTER);
    let _ = sockopt::set_tcp_keepintvl(stream, PROBE_EVERY);
    let patience = u32::try_from(stall_timeout.as_millis()).unwrap_or(u32::MAX);
    let _ = sockopt::set_tcp_user_timeout(stream, patience);
}

/// Accepts until it works. A connection that died in the queue is ignored; anything else is a
/// shortage that passes, and trying again at once would only make it worse.
async fn retry_accept<T, F: Future<Output = io::Result<T>>>(mut accept: impl FnMut() -> F) -> T {
    let mut pause = FIRST_PAUSE;
    loop {
        match accept().await {
            Ok(accepted) => return accepted,
            Err(error) if is_the_peers(&error) => {}
            Err(error) => {
                tracing::error!(%error, "cannot accept connections; trying again");
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(LONGEST_PAUSE);
            }
        }
    }
}

fn is_the_peers(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, NotConnected};
    [ConnectionAborted, ConnectionRefused, ConnectionReset, NotConnected].contains(&error.kind())
}

#[cfg(test)]
mod tests;
