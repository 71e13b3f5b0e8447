//! ACP over WebSocket: one text message is one line.

use std::io;
use std::sync::Arc;

use futures_util::{SinkExt as _, StreamExt as _};
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use tokio::io::AsyncWriteExt as _;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::frame::CloseFrame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Error, Message, Utf8Bytes};
use wire::LineSplitter;

use super::metered_messages::MeteredMessages;
use crate::daemon::Daemon;
use crate::limits::QuotaReservation;
use crate::principal::Principal;

/// Size of a socket's read buffer, in bytes.
const READ_BUFFER: usize = 64 << 10;
/// Size of the head of a client's control frame: two bytes, and its mask.
const CONTROL_HEAD: usize = 6;

/// Carries messages between the socket and a front of its own, until either ends. The bytes of a
/// message count in `begun` until the front has all of it.
pub(super) async fn serve(
    daemon: Arc<Daemon>,
    principal: Principal,
    agent: Option<String>,
    begun: QuotaReservation,
    io: TokioIo<Upgraded>,
) {
    let settings = &daemon.registry.context().settings;
    let (max_heard, max_line) =
        (settings.limits.client_line_bytes, settings.limits.worker_line_bytes);
    let begun = Arc::new(begun);
    let config = WebSocketConfig::default()
        .max_message_size(Some(max_heard))
        .max_frame_size(Some(max_heard))
        .read_buffer_size(READ_BUFFER);
    let (reader, writer) = tokio::io::split(io);
    let io = tokio::io::join(MeteredMessages::of_socket(reader, begun.clone()), writer);
    let socket = WebSocketStream::from_raw_socket(io, Role::Server, Some(config)).await;
    let (near, far) = tokio::io::duplex(super::PIPE_BYTES);
    let revoked = principal.revoked.clone();
    let front = super::serve(daemon, principal, agent, "websocket", tokio::io::split(far));
    let front = task::spawn(front);
    let (mut from_front, mut to_front) = tokio::io::split(near);
    let (mut sink, mut stream) = socket.split();
    let inwards = async {
        loop {
            let line = match stream.next().await? {
                Ok(Message::Text(text)) => super::one_line(text.as_bytes()),
                Ok(Message::Binary(_)) => return Some((CloseCode::Unsupported, "text only")),
                Ok(Message::Ping(data) | Message::Pong(data)) => {
                    begun.give_back_some(data.len() + CONTROL_HEAD);
                    continue;
                }
                Ok(Message::Close(_) | Message::Frame(_)) => return None,
                Err(error) => return fault(&error),
            };
            to_front.write_all(&line).await.ok()?;
            begun.give_back();
        }
    };
    let outwards = async {
        let mut lines = LineSplitter::new(max_line);
        while let Some(line) = super::next_line(&mut from_front, &mut lines).await {
            let Ok(text) = Utf8Bytes::try_from(line) else { continue };
            if sink.send(Message::Text(text)).await.is_err() {
                return None;
            }
        }
        Some((CloseCode::Away, "the daemon ends"))
    };
    let why = tokio::select! {
        why = inwards => why,
        why = outwards => why,
    };
    let (code, reason) = match why {
        _ if revoked.is_cancelled() => (CloseCode::Policy, "the token was revoked"),
        Some(why) => why,
        None => (CloseCode::Normal, ""),
    };
    // The front sees its client leave.
    drop((from_front, to_front));
    let _ = sink.send(Message::Close(Some(CloseFrame { code, reason: reason.into() }))).await;
    let _ = front.await;
}

/// The close code and reason for a client whose message cannot be read to its end.
fn fault(error: &Error) -> Option<(CloseCode, &'static str)> {
    match error {
        Error::Capacity(_) => Some((CloseCode::Size, "the message is too large")),
        Error::Io(error) if error.kind() == io::ErrorKind::QuotaExceeded => {
            Some((CloseCode::Again, "too much is sent at once"))
        }
        Error::Io(error) if error.kind() == io::ErrorKind::TimedOut => {
            Some((CloseCode::Policy, "the message came too slowly"))
        }
        _ => None,
    }
}
