//! Connections of the model server: HTTP/1.1 by hand, so that it can be done wrongly.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use rustix::net::sockopt::set_socket_linger;
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use super::Shared;
use super::answer::{HangPoint, ScriptedAnswer};
use super::received_request::ReceivedRequest;
use super::wire::{WriteStep, steps};

const MAX_HEAD_BYTES: usize = 64 << 10;
/// The largest body of a request, enough for a conversation with images.
const MAX_BODY_BYTES: usize = 64 << 20;

/// Whether the connection can be used again.
enum ConnectionState {
    Next,
    Over,
}

pub(super) async fn serve(listener: TcpListener, shared: Arc<Shared>) {
    // Dropped with this task, and every connection with it.
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                let Ok((stream, _)) = accepted else { continue };
                shared.change(|state| state.n_connections += 1);
                let shared = Arc::clone(&shared);
                connections.spawn(async move {
                    // Clients come and go as they like.
                    let _ = talk(stream, &shared).await;
                });
            }
            Some(_) = connections.join_next() => {}
        }
    }
}

async fn talk(mut stream: TcpStream, shared: &Shared) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut read = Vec::new();
    while let Some(asked) = next_request(&mut stream, &mut read).await? {
        let model = asked.model().to_owned();
        let answer = shared.decide(asked);
        let sent = send(&mut stream, &answer, &model).await;
        match sent {
            Ok(ConnectionState::Next) => {}
            Ok(ConnectionState::Over) => return Ok(()),
            Err(error) => {
                shared.change(|state| state.n_hung_up += 1);
                return Err(error);
            }
        }
    }
    Ok(())
}

async fn next_request(
    stream: &mut TcpStream,
    read: &mut Vec<u8>,
) -> io::Result<Option<ReceivedRequest>> {
    let head_end = loop {
        if let Some(at) = read.windows(4).position(|window| window == b"\r\n\r\n") {
            break at;
        }
        if read.len() > MAX_HEAD_BYTES || stream.read_buf(read).await? == 0 {
            return Ok(None);
        }
    };
    let head = String::from_utf8_lossy(&read[..head_end]).into_owned();
    let mut lines = head.split("\r\n");
    let mut words = lines.next().unwrap_or_default().split(' ').map(str::to_owned);
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_lowercase(), value.trim().to_owned()))
        .collect();
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let length = length.and_then(|(_, value)| value.parse().ok()).unwrap_or(0).min(MAX_BODY_BYTES);
    let body_end = head_end + 4 + length;
    while read.len() < body_end {
        if stream.read_buf(read).await? == 0 {
            return Ok(None);
        }
    }
    let body = serde_json::from_slice(&read[head_end + 4..body_end]).unwrap_or(Value::Null);
    read.drain(..body_end);
    Ok(Some(ReceivedRequest { method, target, headers, body }))
}

/// Sends an answer. An error means that the reader hung up.
async fn send(
    stream: &mut TcpStream,
    answer: &ScriptedAnswer,
    model: &str,
) -> io::Result<ConnectionState> {
    let manner = &answer.manner;
    if manner.hang == Some(HangPoint::BeforeHead) {
        return hang(stream).await;
    }
    let mut head = format!("HTTP/1.1 {} Scripted\r\n", answer.status);
    for (name, value) in &answer.headers {
        head.extend([name, ": ", value, "\r\n"]);
    }
    head.push_str(match manner.is_framed {
        true => "transfer-encoding: chunked\r\n\r\n",
        false => "connection: close\r\n\r\n",
    });
    stream.write_all(head.as_bytes()).await?;
    if manner.hang == Some(HangPoint::AfterHead) {
        return hang(stream).await;
    }
    for step in steps(answer, model) {
        match step {
            WriteStep::Write(bytes) => {
                let size = if manner.write_bytes == 0 { bytes.len() } else { manner.write_bytes };
                for piece in bytes.chunks(size.max(1)) {
                    write(stream, piece, manner.is_framed).await?;
                    pause(stream, manner.pause).await?;
                }
            }
            WriteStep::Hang => return hang(stream).await,
            WriteStep::Cut => return Ok(ConnectionState::Over),
            WriteStep::Reset => {
                set_socket_linger(&*stream, Some(Duration::ZERO))?;
                return Ok(ConnectionState::Over);
            }
        }
    }
    if !manner.is_framed {
        return Ok(ConnectionState::Over);
    }
    stream.write_all(b"0\r\n\r\n").await?;
    Ok(ConnectionState::Next)
}

async fn write(stream: &mut TcpStream, bytes: &[u8], is_framed: bool) -> io::Result<()> {
    if !is_framed {
        return stream.write_all(bytes).await;
    }
    let mut chunk = format!("{:x}\r\n", bytes.len()).into_bytes();
    chunk.extend_from_slice(bytes);
    chunk.extend_from_slice(b"\r\n");
    stream.write_all(&chunk).await
}

/// Waits, and notices a reader that hangs up meanwhile.
async fn pause(stream: &mut TcpStream, pause: Duration) -> io::Result<()> {
    if pause.is_zero() {
        return Ok(());
    }
    match tokio::time::timeout(pause, hang(stream)).await {
        Ok(gone) => gone.map(drop),
        Err(_) => Ok(()),
    }
}

/// Waits until the reader gives up.
async fn hang(stream: &mut TcpStream) -> io::Result<ConnectionState> {
    let mut more = [0; 256];
    while stream.read(&mut more).await? > 0 {}
    Err(io::ErrorKind::ConnectionAborted.into())
}
