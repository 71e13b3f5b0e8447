//! ACP over WebSocket: one text message is one line.

use std::sync::Arc;

use axum::extract::ws::{CloseFrame, Message, WebSocket, close_code};
use futures_util::{SinkExt as _, StreamExt as _};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use wire::LineSplitter;

use crate::daemon::Daemon;
use crate::principal::Principal;

/// Carries messages between the socket and a front of its own, until either ends.
pub(super) async fn serve(
    daemon: Arc<Daemon>,
    principal: Principal,
    agent: Option<String>,
    socket: WebSocket,
) {
    let max_line = daemon.desk.yard().settings.worker_line_bytes;
    let (near, far) = tokio::io::duplex(super::PIPE_BYTES);
    let revoked = principal.revoked.clone();
    let front = super::serve(daemon, principal, agent, "websocket", tokio::io::split(far));
    let front = task::spawn(front);
    let (mut from_front, mut to_front) = tokio::io::split(near);
    let (mut sink, mut stream) = socket.split();
    let inwards = async {
        while let Some(Ok(message)) = stream.next().await {
            let mut line = match message {
                Message::Text(text) => text.as_bytes().to_vec(),
                Message::Close(_) => return None,
                Message::Binary(_) => return Some((close_code::UNSUPPORTED, "text only")),
                Message::Ping(_) | Message::Pong(_) => continue,
            };
            // Between the parts of a message a line end means nothing; here it would end it.
            line.iter_mut().filter(|byte| matches!(byte, b'\n' | b'\r')).for_each(|b| *b = b' ');
            line.push(b'\n');
            if to_front.write_all(&line).await.is_err() {
                break;
            }
        }
        None
    };
    let outwards = async {
        let mut lines = LineSplitter::new(max_line);
        loop {
            while let Some(line) = lines.next_line() {
                let Ok(line) = line else { continue };
                let Ok(text) = axum::extract::ws::Utf8Bytes::try_from(line) else { continue };
                if sink.send(Message::Text(text)).await.is_err() {
                    return None;
                }
            }
            match from_front.read_buf(lines.buffer()).await {
                Ok(0) | Err(_) => return Some((close_code::AWAY, "the daemon ends")),
                Ok(_) => {}
            }
        }
    };
    let why = tokio::select! {
        why = inwards => why,
        why = outwards => why,
    };
    let (code, reason) = match why {
        _ if revoked.is_cancelled() => (close_code::POLICY, "the token was revoked"),
        Some(why) => why,
        None => (close_code::NORMAL, ""),
    };
    // The front sees its client leave.
    drop((from_front, to_front));
    let _ = sink.send(Message::Close(Some(CloseFrame { code, reason: reason.into() }))).await;
    let _ = front.await;
}
