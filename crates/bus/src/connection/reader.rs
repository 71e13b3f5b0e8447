//! The reading half of a connection: bytes to lines, lines to messages.

use std::sync::{Arc, Weak};

use bytes::Bytes;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::sync::mpsc;
use wire::{LineSplitter, Message, MessageError, MessageKind, RpcError, RpcId};

use super::{ConnectionLimits, ConnectionState, IncomingMessage, RpcResult};
use crate::quota::QuotaReservation;

/// Bytes per read: what a pipe holds by default, so a flood comes in large batches.
const READ_BYTES: usize = 64 << 10;

pub(super) struct ConnectionReader {
    pub(super) limits: ConnectionLimits,
    /// The quota against which large lines count, if there is one.
    pub(super) quota: Option<Arc<QuotaReservation>>,
    pub(super) shared: Weak<ConnectionState>,
}

impl ConnectionReader {
    pub(super) async fn run<R: AsyncRead + Unpin>(
        self,
        mut reader: R,
        batches: mpsc::Sender<Vec<IncomingMessage>>,
    ) {
        let mut lines = LineSplitter::new(self.limits.max_line_bytes);
        loop {
            if let Err(error) = lines.make_room(READ_BYTES) {
                let _nobody_listens = batches.send(vec![IncomingMessage::BadLine(error)]).await;
                break;
            }
            let read = tokio::select! {
                read = reader.read_buf(lines.buffer()) => read,
                // Nobody listens any more.
                () = batches.closed() => break,
            };
            let is_end = matches!(read, Ok(0) | Err(_));
            let mut batch = Vec::new();
            while let Some(line) = lines.next_line() {
                self.read_line(line, &mut batch);
            }
            if is_end && let Some(line) = lines.finish() {
                self.read_line(line, &mut batch);
            }
            if !batch.is_empty() && batches.send(batch).await.is_err() {
                break;
            }
            if is_end {
                break;
            }
        }
        if let Some(shared) = self.shared.upgrade() {
            let mut calls = shared.calls();
            calls.is_closed = true;
            // Dropping the waiters tells them that no answer will come.
            calls.waiting.clear();
        }
    }

    fn read_line(&self, line: Result<Bytes, wire::LineError>, batch: &mut Vec<IncomingMessage>) {
        let n_bytes = line.as_ref().map_or(0, Bytes::len);
        task::beside_others(n_bytes, || self.read_message(line, batch));
    }

    fn read_message(&self, line: Result<Bytes, wire::LineError>, batch: &mut Vec<IncomingMessage>) {
        let shared = &self.shared;
        let line = match line {
            Ok(line) => line,
            Err(error) => {
                if let wire::LineError::NotUtf8 { line } = &error {
                    let why = RpcError::invalid_request(&error);
                    salvage(line, why, shared, batch);
                }
                return batch.push(IncomingMessage::BadLine(error));
            }
        };
        let line = match &self.quota {
            Some(quota) if line.len() > READ_BYTES => match quota.hold(line) {
                Some(line) => line,
                None => return self.end("too much is sent at once"),
            },
            _ => line,
        };
        // A message is a slice of its line; of its body only the number of values is looked at.
        let parsed = match Message::parse(line.clone()) {
            Ok(_) if wire::has_more_values(&line, self.limits.max_values) => {
                Err(MessageError::TooManyValues)
            }
            parsed => parsed,
        };
        let message = match parsed {
            Ok(message) => message,
            Err(error) => {
                let is_answered = salvage(&line, error.to_rpc().1, shared, batch);
                let line = beginning(&line);
                return batch.push(IncomingMessage::BadMessage { error, line, is_answered });
            }
        };
        match message.kind() {
            MessageKind::Notification => batch.push(IncomingMessage::Notification(message)),
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

    /// Closes the connection after an error response that says why.
    fn end(&self, why: &str) {
        let Some(shared) = self.shared.upgrade() else { return };
        let _ = shared.try_send(wire::error_line(&RpcId::null(), &RpcError::invalid_request(why)));
        shared.closing.cancel();
    }
}

/// Answers in place of an unreadable line, if its id can be read: a request of the peer is refused
/// under its own id, a response that we wait for becomes an error.
fn salvage(
    line: &[u8],
    why: RpcError,
    shared: &Weak<ConnectionState>,
    batch: &mut Vec<IncomingMessage>,
) -> bool {
    let (Some((id, is_request)), Some(shared)) = (wire::salvage_id(line), shared.upgrade()) else {
        return false;
    };
    if is_request {
        return shared.try_send(wire::error_line(&id, &why)).is_ok();
    }
    let outcome = Err(RpcError::internal(format_args!("unreadable answer: {}", why.message)));
    let answered = shared.take_waiter(&id).map(|waiter| waiter.answered(outcome));
    let is_answered = answered.is_some();
    batch.extend(answered);
    is_answered
}

fn beginning(line: &[u8]) -> String {
    /// Enough to recognise a usage text or a stack trace.
    const MAX_CHARS: usize = 200;
    String::from_utf8_lossy(line).chars().take(MAX_CHARS).collect()
}

/// Registers a request of the peer as open, or refuses it.
fn open_request(message: Message, shared: &ConnectionState) -> Option<IncomingMessage> {
    let id = message.id();
    let opened = shared.calls().open.add(id.clone(), message.line().len());
    match opened {
        Ok(()) => Some(IncomingMessage::Request(message)),
        Err(refusal) => {
            // A peer that breaks the rules and does not read either gets no answer.
            let _ = shared.try_send(wire::error_line(&id, &RpcError::invalid_request(refusal)));
            None
        }
    }
}

fn settle(message: Message, outcome: RpcResult, shared: &Weak<ConnectionState>) -> IncomingMessage {
    match shared.upgrade().and_then(|shared| shared.take_waiter(&message.id())) {
        Some(waiter) => waiter.answered(outcome),
        None => IncomingMessage::Unmatched(message),
    }
}
