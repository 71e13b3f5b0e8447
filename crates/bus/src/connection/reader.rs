//! The half of a connection that listens.

use std::sync::Weak;

use bytes::Bytes;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::sync::mpsc;
use wire::{LineSplitter, Message, MessageError, MessageKind, RpcError};

use super::{ConnectionLimits, Incoming, Outcome, Reply, Shared, Waiter};

/// Read at once: what a pipe holds by default, so a flood comes in large batches.
const READ_BYTES: usize = 64 << 10;

pub(super) async fn run<R: AsyncRead + Unpin>(
    mut reader: R,
    limits: ConnectionLimits,
    shared: Weak<Shared>,
    batches: mpsc::Sender<Vec<Incoming>>,
) {
    let mut lines = LineSplitter::new(limits.max_line_bytes);
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
            read_line(line, limits.max_values, &shared, &mut batch);
        }
        if is_end && let Some(line) = lines.finish() {
            read_line(line, limits.max_values, &shared, &mut batch);
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

fn read_line(
    line: Result<Bytes, wire::LineError>,
    max_values: usize,
    shared: &Weak<Shared>,
    batch: &mut Vec<Incoming>,
) {
    let line = match line {
        Ok(line) => line,
        Err(error) => {
            if let wire::LineError::NotUtf8 { line } = &error {
                let why = RpcError::invalid_request(&error);
                salvage(line, why, shared, batch);
            }
            return batch.push(Incoming::BadLine(error));
        }
    };
    // A message is a slice of its line; nothing of its body has been read so far.
    let parsed = match Message::parse(line.clone()) {
        Ok(_) if wire::has_more_values(&line, max_values) => Err(MessageError::TooManyValues),
        parsed => parsed,
    };
    let message = match parsed {
        Ok(message) => message,
        Err(error) => {
            let is_answered = salvage(&line, error.to_rpc().1, shared, batch);
            return batch.push(Incoming::BadMessage { error, line: beginning(&line), is_answered });
        }
    };
    match message.kind() {
        MessageKind::Notification => batch.push(Incoming::Notification(message)),
        MessageKind::Request => {
            batch.extend(shared.upgrade().and_then(|shared| open_request(message, &shared)));
        }
        MessageKind::Response => {
            let outcome = Ok(message.body_json());
            batch.push(settle(message, outcome, shared));
        }
        MessageKind::Error => {
            let outcome = Err(message.error());
            batch.push(settle(message, outcome, shared));
        }
    }
}

/// Whoever waits behind an unreadable line learns of it: a request of the peer is refused
/// under its own id, an answer that we wait for becomes an error.
fn salvage(line: &[u8], why: RpcError, shared: &Weak<Shared>, batch: &mut Vec<Incoming>) -> bool {
    let (Some((id, is_request)), Some(shared)) = (wire::salvage_id(line), shared.upgrade()) else {
        return false;
    };
    if is_request {
        return shared.try_send(wire::error_line(&id, &why)).is_ok();
    }
    let waiter = id.as_number().and_then(|id| shared.calls().waiting.remove(&id));
    let outcome = Err(RpcError::internal(format_args!("unreadable answer: {}", why.message)));
    match waiter {
        Some(Waiter::Direct(waiter)) => batch.push(Incoming::Reply(Reply { waiter, outcome })),
        Some(Waiter::Tagged(tag)) => batch.push(Incoming::Tagged { tag, outcome }),
        None => return false,
    }
    true
}

fn beginning(line: &[u8]) -> String {
    /// Enough to recognise a usage text or a stack trace.
    const MAX_CHARS: usize = 200;
    String::from_utf8_lossy(line).chars().take(MAX_CHARS).collect()
}

/// Notes that the peer waits for an answer, or refuses to.
fn open_request(message: Message, shared: &Shared) -> Option<Incoming> {
    let id = message.id();
    let opened = shared.calls().open.add(id.clone(), message.line().len());
    match opened {
        Ok(()) => Some(Incoming::Request(message)),
        Err(refusal) => {
            // A peer that breaks the rules and does not read either gets no answer.
            let _ = shared.try_send(wire::error_line(&id, &RpcError::invalid_request(refusal)));
            None
        }
    }
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
