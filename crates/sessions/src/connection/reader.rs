//! The half of a connection that listens.

use std::sync::Weak;

use bytes::Bytes;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::sync::mpsc;
use wire::{LineSplitter, Message, MessageKind, RpcError};

use super::{Incoming, MAX_OPEN_REQUESTS, Outcome, Reply, Shared, Waiter};

/// Read at once: what a pipe holds by default, so a flood comes in large batches.
const READ_BYTES: usize = 64 << 10;

pub(super) async fn run<R: AsyncRead + Unpin>(
    mut reader: R,
    max_line_bytes: usize,
    shared: Weak<Shared>,
    batches: mpsc::Sender<Vec<Incoming>>,
) {
    let mut lines = LineSplitter::new(max_line_bytes);
    loop {
        lines.buffer().reserve(READ_BYTES);
        let read = tokio::select! {
            read = reader.read_buf(lines.buffer()) => read,
            // Nobody listens any more.
            () = batches.closed() => break,
        };
        let is_end = matches!(read, Ok(0) | Err(_));
        let mut batch = Vec::new();
        while let Some(line) = lines.next_line() {
            batch.extend(read_line(line, &shared));
        }
        if is_end {
            batch.extend(lines.finish().and_then(|line| read_line(line, &shared)));
        }
        if !batch.is_empty() && batches.send(batch).await.is_err() {
            break;
        }
        if is_end {
            break;
        }
    }
    if let Some(shared) = shared.upgrade() {
        let mut calls = shared.calls();
        calls.is_closed = true;
        // Dropping the waiters tells them that no answer will come.
        calls.waiting.clear();
    }
}

fn read_line(line: Result<Bytes, wire::LineError>, shared: &Weak<Shared>) -> Option<Incoming> {
    let line = match line {
        Ok(line) => line,
        Err(error) => return Some(Incoming::BadLine(error)),
    };
    let message = match Message::parse(line.clone()) {
        Ok(message) => message,
        Err(error) => return Some(Incoming::BadMessage(error, beginning(&line))),
    };
    match message.kind() {
        MessageKind::Notification => Some(Incoming::Notification(message)),
        MessageKind::Request => open_request(message, &*shared.upgrade()?),
        MessageKind::Response => {
            let outcome = Ok(message.body_json());
            Some(settle(message, outcome, shared))
        }
        MessageKind::Error => {
            let outcome = Err(message.error());
            Some(settle(message, outcome, shared))
        }
    }
}

fn beginning(line: &[u8]) -> String {
    /// Enough to recognise a usage text or a stack trace.
    const MAX_CHARS: usize = 200;
    String::from_utf8_lossy(line).chars().take(MAX_CHARS).collect()
}

/// Notes that the peer waits for an answer. A second request under an id that is still
/// open could not be answered unambiguously, so it is refused.
fn open_request(message: Message, shared: &Shared) -> Option<Incoming> {
    let id = message.id();
    let refusal = {
        let mut calls = shared.calls();
        if calls.open.len() >= MAX_OPEN_REQUESTS {
            "too many requests are open"
        } else if calls.open.insert(id.clone()) {
            return Some(Incoming::Request(message));
        } else {
            "a request with this id is still open"
        }
    };
    // A peer that breaks the rules and does not read either gets no answer.
    let _ = shared.try_send(wire::error_line(&id, &RpcError::invalid_request(refusal)));
    None
}

fn settle(message: Message, outcome: Outcome, shared: &Weak<Shared>) -> Incoming {
    let waiter = shared.upgrade().and_then(|shared| {
        let id = message.id().as_number()?;
        shared.calls().waiting.remove(&id)
    });
    match waiter {
        Some(Waiter::Direct(waiter)) => Incoming::Reply(Reply { waiter, outcome }),
        Some(Waiter::Tagged(tag)) => Incoming::Tagged { tag, outcome },
        None => Incoming::Unasked(message),
    }
}
