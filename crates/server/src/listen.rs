//! The daemon's doors: sockets that are opened, connections that come in, HTTP on them.
//!
//! In: an address, a path or a socket from outside, and a router. Out: requests, each with
//! its `Arrival`, all through the guard. A door never waits for one client: whoever is slow,
//! silent or one too many loses its own connection only.

mod accept;
mod bind;
mod connection;
mod open_connections;
mod stream;
mod unix;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::guard::Guarded;
pub use accept::{Connection, Listener};
pub use bind::{Bound, check_bind};
pub use stream::Stream;

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
    Twin { address: SocketAddr, twin: SocketAddr },
    #[error("cannot listen on {}: {source}", path.display())]
    Unix { path: PathBuf, source: std::io::Error },
    #[error("cannot listen on {}: {why}", path.display())]
    Refused { path: PathBuf, why: &'static str },
    #[error(
        "the sockets named `http` that were passed to the daemon are not one, nor 127.0.0.1 and \
         [::1] with the same port"
    )]
    Several,
    #[error("the socket that was handed over cannot be used: {0}")]
    Inherited(std::io::Error),
}

/// HTTP on one door.
#[derive(Debug)]
pub struct Http {
    pub bound: Bound,
    pub guarded: Guarded,
    /// Cancelled to stop: nobody new comes in, requests may finish, and what is left after
    /// the limits' `drain` is cut.
    pub stop: CancellationToken,
}

impl Http {
    /// Serves until `stop` is cancelled and everybody has gone.
    pub async fn serve(self) {
        let Self { bound, guarded, stop } = self;
        let limits = guarded.limits().clone();
        let builder = Arc::new(connection::builder(&limits));
        let listener = Listener::new(bound, limits).refusing_in_http();
        loop {
            let connection = tokio::select! {
                () = stop.cancelled() => break,
                connection = listener.next() => connection,
            };
            let serving = connection::serve(
                connection,
                builder.clone(),
                guarded.clone(),
                listener.limits().clone(),
                stop.clone(),
            );
            task::spawn(serving);
        }
        listener.drain().await;
    }
}

#[cfg(test)]
mod tests;
