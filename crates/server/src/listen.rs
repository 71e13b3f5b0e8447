//! The daemon's listeners: sockets that are opened, connections that are accepted, HTTP on them.
//!
//! In: an address, a path or a socket from outside, and a router. Out: requests, each with its
//! `ConnectionInfo`, all through the guard. A listener never waits for one client: one that is
//! slow, silent or beyond the limit loses its own connection only.

mod accept;
mod bind;
mod open_connections;
mod unix;

use std::convert::Infallible;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::Request;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::guard::GuardedRouter;
use crate::limits::HttpLimits;
pub use accept::{AcceptedConnection, ConnectionStream, Listener};
pub use bind::{BoundSocket, check_bind};
pub use unix::UnixKind;

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ListenError {
    #[error(
        "{0} can be reached from other machines, and without TLS they would see everything; \
         give `--tls-cert` and `--tls-key`, or force it with `--insecure`"
    )]
    Exposed(SocketAddr),
    #[error(
        "another program listens on {0} already (`ss -ltnp` names it); end it, or choose another \
         port with `--host` (or `--tcp`)"
    )]
    Taken(SocketAddr),
    #[error("cannot listen on {address}: {source}")]
    Tcp { address: SocketAddr, source: std::io::Error },
    #[error(
        "another program listens on {twin}, and browsers that look for {address} by the name \
         `localhost` would find that one; end it, or choose another port with `--host`"
    )]
    LocalhostTaken { address: SocketAddr, twin: SocketAddr },
    #[error("cannot listen on {}: {source}", path.display())]
    Unix { path: PathBuf, source: std::io::Error },
    #[error("cannot listen on {}: {why}", path.display())]
    Refused { path: PathBuf, why: &'static str },
    #[error(
        "the sockets named `http` that were passed to the daemon are not one, nor 127.0.0.1 and \
         [::1] with the same port"
    )]
    InheritedMismatch,
    #[error("the socket that was handed over cannot be used: {0}")]
    Inherited(std::io::Error),
}

/// HTTP on one listener.
#[derive(Debug)]
pub struct HttpListener {
    pub bound: BoundSocket,
    pub guarded: GuardedRouter,
    /// Cancelled to stop: no connection is accepted any more, requests may finish, and what is left
    /// after the limits' `drain` is cut.
    pub stop: CancellationToken,
}

impl HttpListener {
    /// Serves until `stop` is cancelled and everybody has gone.
    pub async fn serve(self) {
        let Self { bound, guarded, stop } = self;
        let limits = guarded.limits.clone();
        let builder = Arc::new(builder(&limits));
        let listener = Listener::new(bound, limits.clone()).refusing_in_http();
        loop {
            let connection = tokio::select! {
                () = stop.cancelled() => break,
                connection = listener.next() => connection,
            };
            let serving =
                serve(connection, builder.clone(), guarded.clone(), limits.clone(), stop.clone());
            task::spawn(serving);
        }
        listener.drain().await;
    }
}

/// The smallest buffer that the HTTP/1.1 parser works with.
const LEAST_BUFFER: usize = 8 << 10;
/// An HTTP/2 client that does not answer a ping in time is gone.
const PING_EVERY: Duration = Duration::from_secs(20);
const PING_PATIENCE: Duration = Duration::from_secs(20);
/// Answers wait in the handler, where they are counted, not in the connection.
const MAX_SEND_BUFFER: usize = 64 << 10;
/// Requests that were reset before they were looked at; a flood of these is an attack.
const MAX_RESET_STREAMS: usize = 20;
/// Time between a graceful shutdown of an idle connection and its end.
const CLOSE_WITHIN: Duration = Duration::from_secs(5);

fn builder(limits: &HttpLimits) -> Builder<TokioExecutor> {
    let mut builder = Builder::new(TokioExecutor::new());
    let head_bytes = limits.max_head_bytes.max(LEAST_BUFFER);
    builder
        .http1()
        .timer(TokioTimer::new())
        // The parser's clock also runs while nothing is asked. The first head has less time: `serve`.
        .header_read_timeout(limits.idle_timeout)
        .max_buf_size(head_bytes)
        .max_headers(limits.max_head_fields);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(limits.max_streams)
        .max_header_list_size(u32::try_from(head_bytes).unwrap_or(u32::MAX))
        .max_send_buf_size(MAX_SEND_BUFFER)
        .max_pending_accept_reset_streams(MAX_RESET_STREAMS)
        .keep_alive_interval(PING_EVERY)
        .keep_alive_timeout(PING_PATIENCE);
    builder
}

async fn serve(
    connection: AcceptedConnection,
    builder: Arc<Builder<TokioExecutor>>,
    guarded: GuardedRouter,
    limits: HttpLimits,
    stop: CancellationToken,
) {
    let peer = connection.peer();
    let (stream, arrival) = match connection.secure().await {
        Ok(secured) => secured,
        Err(error) => {
            tracing::debug!(%peer, %error, "the TLS handshake failed");
            return;
        }
    };
    let activity = arrival.activity.clone();
    let service = service_fn(move |request: Request<Incoming>| {
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(arrival.clone());
        let serving = guarded.clone().handle(request);
        Box::pin(async { Ok::<_, Infallible>(serving.await) })
    });
    let serving = builder.serve_connection_with_upgrades(TokioIo::new(stream), service);
    tokio::pin!(serving);

    // The parser's own clock starts only after the first bytes have shown which HTTP it is,
    // and there is none in HTTP/2, so a connection also has to come to something here: to its first
    // request soon, to each next one in the time that it may be idle.
    let mut seen = 0;
    let look = tokio::time::sleep(limits.head_timeout);
    tokio::pin!(look);
    let mut is_leaving = false;
    loop {
        tokio::select! {
            ended = serving.as_mut() => {
                if let Err(error) = ended {
                    tracing::debug!(%peer, %error, "a connection broke");
                }
                return;
            }
            () = stop.cancelled(), if !is_leaving => {
                is_leaving = true;
                serving.as_mut().graceful_shutdown();
            }
            () = look.as_mut() => {
                let is_used = activity.is_busy() || activity.n_ever() != seen;
                let is_new = seen == 0 && activity.n_ever() == 0;
                seen = activity.n_ever();
                let wait = match (is_used, is_leaving) {
                    (true, _) => limits.idle_timeout,
                    // Nothing was asked, so nobody waits for an answer either.
                    (false, true) => return,
                    (false, false) if is_new => return,
                    (false, false) => {
                        is_leaving = true;
                        serving.as_mut().graceful_shutdown();
                        CLOSE_WITHIN
                    }
                };
                look.as_mut().reset(Instant::now() + wait);
            }
        }
    }
}

#[cfg(test)]
mod tests;
