//! Reads a connection to its end and hands each message to whoever handles it.
//!
//! In: bytes. Out: answers, and turns as tasks of their own.
//! A message that cannot be read is answered and the connection goes on. Everything except a
//! prompt is handled in the order in which it came.

use super::connection::Connection;
use super::methods::{self, OfSession};
use super::turn::{self, Turn};
use bytes::Bytes;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::task::JoinSet;
use wire::{LineError, LineSplitter, Message, MessageKind, RpcError, RpcId, codes};

const READ_BYTES: usize = 64 * 1024;

pub(super) async fn read_all(
    connection: &Arc<Connection>,
    mut input: impl AsyncRead + Unpin,
    turns: &mut JoinSet<()>,
) {
    // The same limit that Switchyard sets for lines from its workers.
    let mut lines = LineSplitter::new(wire::limits::WORKER_LINE_BYTES);
    loop {
        lines.buffer().reserve(READ_BYTES);
        let read = tokio::select! {
            read = input.read_buf(lines.buffer()) => read,
            // Only to let go of what has ended.
            Some(_) = turns.join_next() => continue,
        };
        while let Some(line) = lines.next_line() {
            handle(connection, line, turns).await;
        }
        if matches!(read, Ok(0) | Err(_)) {
            // A last line without a newline still counts.
            if let Some(line) = lines.finish() {
                handle(connection, line, turns).await;
            }
            return;
        }
    }
}

async fn handle(
    connection: &Arc<Connection>,
    line: Result<Bytes, LineError>,
    turns: &mut JoinSet<()>,
) {
    let read = match line {
        Ok(line) => Message::parse(line).map_err(|error| error.to_rpc()),
        Err(error) => {
            let code = match error {
                LineError::TooLong { .. } => codes::INVALID_REQUEST,
                LineError::NotUtf8 { .. } => codes::PARSE,
            };
            Err((RpcId::null(), RpcError::new(code, error.to_string())))
        }
    };
    let message = match read {
        Ok(message) => message,
        Err((id, error)) => return connection.send(wire::error_line(&id, &error)).await,
    };
    match message.kind() {
        MessageKind::Request => request(connection, &message, turns).await,
        // A notification has no answer, so what cannot be read or found is ignored.
        MessageKind::Notification => {
            if message.method() == "session/cancel"
                && let Ok(OfSession { session_id }) = methods::read(message.body())
                && let Some(session) = connection.state().sessions.get(&session_id)
            {
                session.cancel();
            }
        }
        MessageKind::Response => {
            connection.state().calls.settle(message.id().as_str(), Ok(message.body_json()));
        }
        MessageKind::Error => {
            connection.state().calls.settle(message.id().as_str(), Err(message.body_json()));
        }
    }
}

async fn request(connection: &Arc<Connection>, message: &Message, turns: &mut JoinSet<()>) {
    let (id, method) = (message.id(), message.method());
    let is_initialized = connection.state().is_initialized;
    let refused = if !is_initialized && method != "initialize" {
        RpcError::new(codes::INVALID_REQUEST, "call initialize first")
    } else if method == "session/prompt" {
        match Turn::begin(connection, id.clone(), message.body()) {
            Ok((turn, cancelled)) => {
                turns.spawn(task::boxed(turn::run(turn, cancelled)));
                return;
            }
            Err(error) => error,
        }
    } else {
        match methods::call(connection, method, message.body()).await {
            Ok(reply) => {
                connection.send(wire::result_line(&id, &reply.result.to_string())).await;
                for (session, update) in &reply.then {
                    connection.send_update(session, update).await;
                }
                return;
            }
            Err(error) => error,
        }
    };
    connection.send(wire::error_line(&id, &refused)).await;
}
