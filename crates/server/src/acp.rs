//! ACP for many clients: `/acp` over HTTP and WebSocket, lines over TCP and unix sockets, and the
//! pipes of the process that the daemon is in.
//!
//! In: one client's messages, on whichever of the five ways. Out: the same front for all of them,
//! on the daemon's session registry. A transport only carries lines; it knows nothing of sessions
//! but which HTTP stream a line belongs to.

mod http;
mod http_connection;
pub mod lines;
mod message_stream;
mod metered_messages;
mod web_socket;

use std::sync::Arc;

use axum::Router;
use axum::routing::get;
use bytes::Bytes;
use sessions::front::{self, ClientProfile};
use sessions::order::SessionOrder;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, DuplexStream, ReadHalf};
use tokio_util::sync::CancellationToken;
use wire::LineSplitter;

use crate::daemon::Daemon;
use crate::principal::{Principal, Role};
use http_connection::HttpConnections;

/// Size of the pipe between a transport and its front, in bytes.
const PIPE_BYTES: usize = 64 << 10;

pub(crate) fn router(daemon: &Arc<Daemon>) -> Router {
    let connections = Arc::new(HttpConnections::default());
    let state = http::AcpState { daemon: daemon.clone(), connections };
    Router::new()
        .route("/acp", get(http::get).post(http::post).delete(http::delete))
        .with_state(state)
}

/// Serves one client until it leaves, its token is revoked or the daemon ends.
async fn serve<R, W>(
    daemon: Arc<Daemon>,
    principal: Principal,
    agent: Option<String>,
    way: &str,
    (reader, writer): (R, W),
) where
    R: AsyncRead + Unpin + Send + 'static,
    W: AsyncWrite + Unpin + Send + 'static,
{
    let stop = CancellationToken::new();
    let _open = daemon.metrics.stream(format!("acp-{way}"));
    let profile = profile(&daemon, &principal, agent, way);
    let serving = front::serve(daemon.registry.clone(), profile, reader, writer, stop.clone());
    tokio::pin!(serving);
    tokio::select! {
        // Revocation and the daemon's end go before messages of the same moment.
        biased;
        () = principal.revoked.cancelled() => {}
        () = daemon.ended.cancelled() => {}
        () = &mut serving => return,
    }
    stop.cancel();
    serving.await;
}

/// Serves the only client of a daemon that runs inside the client's process, until it leaves or
/// `stop` is cancelled. Its sessions are made of `order`, and what runs in them ends with it.
pub async fn serve_in_process<R, W>(
    daemon: &Arc<Daemon>,
    principal: &Principal,
    order: SessionOrder,
    (reader, writer): (R, W),
    stop: CancellationToken,
) where
    R: AsyncRead + Unpin + Send + 'static,
    W: AsyncWrite + Unpin + Send + 'static,
{
    let profile = profile(daemon, principal, None, "stdio");
    let profile = ClientProfile { order, owns_registry: true, ..profile };
    front::serve(daemon.registry.clone(), profile, reader, writer, stop).await;
}

/// A client's message as a line for its front. Between the parts of a message a line end means
/// nothing; here it would end it.
fn one_line(message: &[u8]) -> Vec<u8> {
    let flat = |byte: &u8| if matches!(byte, b'\n' | b'\r') { b' ' } else { *byte };
    message.iter().map(flat).chain([b'\n']).collect()
}

/// The next line from a front; none at its end. Lines that are too long are skipped.
async fn next_line(
    from_front: &mut ReadHalf<DuplexStream>,
    lines: &mut LineSplitter,
) -> Option<Bytes> {
    loop {
        match lines.next_line() {
            Some(Ok(line)) => return Some(line),
            Some(Err(_)) => {}
            None if from_front.read_buf(lines.buffer()).await.ok()? == 0 => return None,
            None => {}
        }
    }
}

fn profile(
    daemon: &Daemon,
    principal: &Principal,
    agent: Option<String>,
    way: &str,
) -> ClientProfile {
    ClientProfile {
        order: SessionOrder {
            agent: agent.or_else(|| daemon.settings.default_agent.clone()),
            // Where its agent is started before a session says where to work.
            cwd: daemon.settings.projects_dir.clone(),
            has_own_worker: principal.own_sessions,
            ..SessionOrder::default()
        },
        by: principal.name.clone(),
        client: principal.client(way),
        transport: way.to_owned(),
        is_observer: !principal.may(Role::Operator),
        may_delete: principal.may(Role::Admin),
        may_run_commands: principal.is_local,
        is_worker: principal.is_worker,
        own_sessions: principal.own_sessions,
        since: principal.since,
        roots: daemon.roots_of(principal).to_owned(),
        budget: daemon.load.budget(&principal.name),
        quota: (!principal.is_local)
            .then(|| Arc::new(daemon.load.messages.reserve(&principal.name))),
        permits: daemon.load.requests(&principal.name),
        revoked: principal.revoked.clone(),
        owns_registry: false,
    }
}
