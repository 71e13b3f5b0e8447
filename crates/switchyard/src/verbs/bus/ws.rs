//! Clients by WebSocket: one text frame, one message.
//!
//! Each connection is a port of the bus, so limits, pressure and the token are those of every
//! client. The token may come with the handshake (`Authorization: Bearer …`, or for pages in
//! a browser, which cannot say that, the subprotocol `switchyard.token.…`) or in the first
//! message.
//!
//! The library gathers a message until it is whole and does not say how much it has. So the bytes
//! are counted where they come in: a connection may read so much before it has become a message,
//! and all connections together may too. Before a client is authenticated, it is little.

#![expect(clippy::result_large_err, reason = "the type is the library's")]

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context as TaskContext, Poll, ready};
use std::time::Duration;

use anyhow::{Context as _, Result};
use bus::{Bus, BusToken, Port, PortReceiver, PortSender};
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt as _, StreamExt as _};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::{Instant, sleep_until, timeout};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::server::{ErrorResponse, Request, Response};
use tokio_tungstenite::tungstenite::http::{HeaderValue, StatusCode, header};
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Message, Utf8Bytes};
use tokio_util::task::TaskTracker;

/// Connections that are still at their handshake.
const MAX_HANDSHAKES: usize = 256;
const HANDSHAKE_WITHIN: Duration = Duration::from_secs(10);
const CLOSE_WITHIN: Duration = Duration::from_secs(2);
/// A client that says nothing for so long is pinged, and closed if it does not answer for as
/// long again.
const SILENCE: Duration = Duration::from_secs(30);
/// How much a connection may send before it is authenticated, handshake included.
const MAX_UNAUTHENTICATED_BYTES: usize = 128 << 10;
/// Headers of frames and the library's own buffer, beside the message.
const SLACK_BYTES: usize = 256 << 10;
const TOKEN_PROTOCOL: &str = "switchyard.token.";

/// The settings of a WebSocket listener: the token that lets clients in, and their pool.
#[derive(Clone)]
pub(super) struct WsListener {
    pub(super) bus: Bus,
    pub(super) token: Option<BusToken>,
    pub(super) pool: Option<Arc<str>>,
    pub(super) max_line_bytes: usize,
    /// How many bytes unfinished messages may hold, of all its connections together.
    pub(super) max_unfinished_bytes: usize,
    /// The connections, which are waited for before the process ends.
    pub(super) connections: TaskTracker,
}

/// Serves until the bus has ended. The address is the one that a port of 0 became.
pub(super) async fn listen(door: WsListener, address: SocketAddr) -> Result<SocketAddr> {
    if door.token.is_none() && !address.ip().is_loopback() {
        return Err(bus::BusError::OpenToAll(address).into());
    }
    let listener =
        TcpListener::bind(address).await.with_context(|| format!("listening on ws {address}"))?;
    let address = listener.local_addr()?;
    task::spawn(async move {
        let bus = door.bus.clone();
        tokio::select! {
            _ = bus.ended() => {}
            () = accept(listener, door) => {}
        }
    });
    Ok(address)
}

async fn accept(listener: TcpListener, door: WsListener) {
    let max_bytes = door.max_unfinished_bytes;
    let budget = Arc::new(UnfinishedBudget { n_bytes: AtomicUsize::new(0), max_bytes });
    let handshakes = Arc::new(Semaphore::new(MAX_HANDSHAKES));
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => {
                // Unauthenticated connections must not take the descriptors of clients.
                let Ok(handshake) = Arc::clone(&handshakes).try_acquire_owned() else { continue };
                let (door, meter) = (door.clone(), UnfinishedMeter::new(&budget));
                let connections = door.connections.clone();
                connections.spawn(task::boxed(async move {
                    if let Err(error) = serve(stream, door, meter, handshake).await {
                        tracing::info!(%peer, "a WebSocket ended: {error:#}");
                    }
                }));
            }
            // Out of descriptors, most likely; trying again at once would spin.
            Err(error) => {
                tracing::warn!(%error, "cannot accept a WebSocket");
                tokio::time::sleep(Duration::from_millis(250)).await;
            }
        }
    }
}

async fn serve(
    stream: TcpStream,
    door: WsListener,
    meter: Arc<UnfinishedMeter>,
    handshake: OwnedSemaphorePermit,
) -> Result<()> {
    let _slower = stream.set_nodelay(true);
    let stream = MeteredStream { stream, meter: Arc::clone(&meter) };
    let mut is_let_in = false;
    let config = WebSocketConfig::default()
        .max_message_size(Some(door.max_line_bytes))
        .max_frame_size(Some(door.max_line_bytes));
    let check = |request: &Request, response| {
        is_let_in = match (&door.token, handshake_token(request)) {
            (None, _) => true,
            (Some(token), Some(said)) if token.is(said) => true,
            (Some(_), Some(_)) => return Err(refusal(StatusCode::UNAUTHORIZED, "wrong token\n")),
            (Some(_), None) => false,
        };
        check_handshake(request, response, door.token.is_some())
    };
    let socket = tokio_tungstenite::accept_hdr_async_with_config(stream, check, Some(config));
    let socket = timeout(HANDSHAKE_WITHIN, socket).await.context("no handshake in time")??;
    drop(handshake);
    meter.reset();
    if is_let_in {
        meter.admit(door.max_line_bytes);
    }
    let token = door.token.filter(|_| !is_let_in);
    let port = door.bus.guarded_port(door.pool.as_deref(), token).await?;
    bridge(socket, port, &meter, door.max_line_bytes).await
}

/// The token that the handshake itself holds.
fn handshake_token(request: &Request) -> Option<&str> {
    let bearer = request
        .headers()
        .get(header::AUTHORIZATION)
        .and_then(|value| value.to_str().ok()?.strip_prefix("Bearer "));
    let from_protocol = protocols(request).find_map(|name| name.strip_prefix(TOKEN_PROTOCOL));
    bearer.or(from_protocol).map(str::trim)
}

/// Checks the origin and host of a handshake without a token, and chooses the subprotocol. A
/// browser lets any page connect anywhere and says only where the page is from: without a token,
/// that and the host name are all there is to go by.
fn check_handshake(
    request: &Request,
    mut response: Response,
    has_token: bool,
) -> Result<Response, ErrorResponse> {
    let said = |name| request.headers().get(name).and_then(|value| value.to_str().ok());
    if !has_token {
        let n_said = |name| request.headers().get_all(name).iter().count();
        let is_local_host = n_said(header::HOST) == 1
            && said(header::HOST).is_some_and(is_loopback_name)
            && n_said(header::ORIGIN) <= 1;
        let is_local_page = request.headers().get(header::ORIGIN).is_none()
            || said(header::ORIGIN)
                .and_then(|origin| origin.split_once("://"))
                .is_some_and(|(_, host)| is_loopback_name(host));
        if !is_local_host || !is_local_page {
            return Err(refusal(StatusCode::FORBIDDEN, "not for pages of other hosts\n"));
        }
    }
    // Browsers want one of the subprotocols that they offered: rather not the one with the token.
    let chosen = protocols(request)
        .find(|name| !name.starts_with(TOKEN_PROTOCOL))
        .or_else(|| protocols(request).next());
    if let Some(chosen) = chosen.and_then(|name| HeaderValue::from_str(name).ok()) {
        response.headers_mut().insert(header::SEC_WEBSOCKET_PROTOCOL, chosen);
    }
    Ok(response)
}

fn refusal(status: StatusCode, why: &str) -> ErrorResponse {
    let mut refusal = ErrorResponse::new(Some(why.to_owned()));
    *refusal.status_mut() = status;
    refusal
}

fn protocols(request: &Request) -> impl Iterator<Item = &str> {
    let all = request.headers().get_all(header::SEC_WEBSOCKET_PROTOCOL).into_iter();
    all.filter_map(|value| value.to_str().ok()).flat_map(|names| names.split(',')).map(str::trim)
}

/// Whether a host, with or without a port, is this machine by its own names.
fn is_loopback_name(host: &str) -> bool {
    // A user name before the host is no way to name this machine.
    if host.contains('@') {
        return false;
    }
    let without_port = match host.strip_prefix('[') {
        Some(v6) => v6.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    without_port.eq_ignore_ascii_case("localhost")
        || without_port.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

type MeteredSocket = WebSocketStream<MeteredStream>;

/// Carries messages until either side ends; open requests of the client are then cancelled by the
/// bus.
async fn bridge(
    socket: MeteredSocket,
    port: Port,
    meter: &UnfinishedMeter,
    max_line_bytes: usize,
) -> Result<()> {
    let (mut sink, stream) = socket.split();
    let Port { sender: to_bus, receiver: from_bus } = port;
    let (heard, last_heard) = watch::channel(Some(Instant::now()));
    // The first message shows the token, or the bus closes the port.
    let on_message = || {
        meter.reset();
        meter.admit(max_line_bytes);
    };
    let ended = tokio::select! {
        ended = upstream(stream, to_bus, heard, on_message) => ended,
        ended = downstream(&mut sink, from_bus, last_heard) => ended,
    };
    // The other half of the closing handshake.
    let _gone = timeout(CLOSE_WITHIN, sink.close()).await;
    ended
}

async fn upstream(
    mut stream: SplitStream<MeteredSocket>,
    mut to_bus: PortSender,
    heard: watch::Sender<Option<Instant>>,
    on_message: impl Fn(),
) -> Result<()> {
    while let Some(message) = stream.next().await {
        let message = message?;
        // Not for a ping, which may come between the parts of a message.
        if message.is_text() || message.is_binary() {
            on_message();
        }
        // While the bus does not take its message, the client cannot be heard and is not missed.
        let _nobody_waits = heard.send(None);
        match message {
            Message::Text(text) => to_bus.send(&one_line(&text)).await?,
            Message::Binary(bytes) => to_bus.send(&one_line(std::str::from_utf8(&bytes)?)).await?,
            Message::Close(_) => break,
            Message::Ping(_) | Message::Pong(_) | Message::Frame(_) => {}
        }
        let _nobody_waits = heard.send(Some(Instant::now()));
    }
    Ok(())
}

/// A message as one line: a line end becomes a space between the parts of a JSON value, and cannot
/// be inside a string.
fn one_line(text: &str) -> Vec<u8> {
    text.bytes().map(|byte| if byte == b'\n' || byte == b'\r' { b' ' } else { byte }).collect()
}

async fn downstream(
    sink: &mut SplitSink<MeteredSocket, Message>,
    mut from_bus: PortReceiver,
    last_heard: watch::Receiver<Option<Instant>>,
) -> Result<()> {
    let mut look_at = Instant::now() + SILENCE;
    loop {
        tokio::select! {
            line = from_bus.receive() => match line? {
                Some(line) => sink.send(Message::Text(Utf8Bytes::try_from(line)?)).await?,
                None => break,
            },
            () = sleep_until(look_at) => {
                let silent_for = last_heard.borrow().map_or(Duration::ZERO, |at| at.elapsed());
                anyhow::ensure!(silent_for < 2 * SILENCE, "it does not answer any more");
                if silent_for >= SILENCE {
                    sink.send(Message::Ping(bytes::Bytes::new())).await?;
                }
                look_at = Instant::now() + SILENCE;
            }
        }
    }
    let reason = CloseFrame { code: CloseCode::Away, reason: "the bus closed this client".into() };
    sink.send(Message::Close(Some(reason))).await?;
    Ok(())
}

/// The bytes of unfinished messages of all connections of a listener.
#[derive(Debug)]
struct UnfinishedBudget {
    n_bytes: AtomicUsize,
    max_bytes: usize,
}

/// The bytes that one connection has read since its last whole message.
#[derive(Debug)]
struct UnfinishedMeter {
    n_bytes: AtomicUsize,
    max_bytes: AtomicUsize,
    budget: Arc<UnfinishedBudget>,
}

impl UnfinishedMeter {
    fn new(budget: &Arc<UnfinishedBudget>) -> Arc<Self> {
        Arc::new(Self {
            n_bytes: AtomicUsize::new(0),
            max_bytes: AtomicUsize::new(MAX_UNAUTHENTICATED_BYTES),
            budget: Arc::clone(budget),
        })
    }

    /// Notes that the client is authenticated: from now on messages may be as long as this.
    fn admit(&self, max_message_bytes: usize) {
        self.max_bytes.store(max_message_bytes.saturating_add(SLACK_BYTES), Ordering::Relaxed);
    }

    /// Notes that a message is whole.
    fn reset(&self) {
        let n_bytes = self.n_bytes.swap(0, Ordering::Relaxed);
        self.budget.n_bytes.fetch_sub(n_bytes, Ordering::Relaxed);
    }

    fn add(&self, n_bytes: usize) -> io::Result<()> {
        let own = self.n_bytes.fetch_add(n_bytes, Ordering::Relaxed) + n_bytes;
        let all = self.budget.n_bytes.fetch_add(n_bytes, Ordering::Relaxed) + n_bytes;
        let why = match () {
            () if own > self.max_bytes.load(Ordering::Relaxed) => "its message is too long",
            () if all > self.budget.max_bytes => "unfinished messages hold too much",
            () => return Ok(()),
        };
        Err(io::Error::other(why))
    }
}

impl Drop for UnfinishedMeter {
    fn drop(&mut self) {
        self.reset();
    }
}

/// A connection whose bytes are counted.
#[derive(Debug)]
struct MeteredStream {
    stream: TcpStream,
    meter: Arc<UnfinishedMeter>,
}

impl AsyncRead for MeteredStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut TaskContext<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let n_before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(context, buffer))?;
        Poll::Ready(self.meter.add(buffer.filled().len() - n_before))
    }
}

impl AsyncWrite for MeteredStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut TaskContext<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut TaskContext<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(
        mut self: Pin<&mut Self>,
        context: &mut TaskContext<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests;
