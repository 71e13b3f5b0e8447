//! Reads a connection to its end and hands each message to whoever handles it.
//!
//! In: lines. Out: answers on the outbox, turns as tasks of their own.
//! A message that cannot be read is answered and the connection goes on. Everything except a
//! prompt is handled in the order in which it came.

use super::connection::Connection;
use super::lines::{Line, Lines, MAX_LINE_BYTES};
use super::rpc::{self, Incoming, RpcError};
use super::turn::Turn;
use super::{methods, turn};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::sync::Arc;
use tokio::io::AsyncBufRead;
use tokio::task::JoinSet;

pub(super) async fn read_all(
    connection: &Arc<Connection>,
    mut lines: Lines<impl AsyncBufRead + Unpin>,
    turns: &mut JoinSet<()>,
) {
    loop {
        let next = tokio::select! {
            next = lines.next() => next,
            // Only to let go of what has ended.
            Some(_) = turns.join_next() => continue,
        };
        match next {
            Ok(Line::Ready) => handle(connection, lines.line(), turns).await,
            Ok(Line::TooLong) => {
                let problem = format!("the line is longer than {MAX_LINE_BYTES} bytes");
                refuse(connection, &RpcError::new(rpc::INVALID_REQUEST, problem)).await;
            }
            Ok(Line::Eof) | Err(_) => return,
        }
    }
}

async fn handle(connection: &Arc<Connection>, line: &[u8], turns: &mut JoinSet<()>) {
    if line.trim_ascii().is_empty() {
        return;
    }
    match rpc::read(line) {
        Ok(Incoming::Request { id, method, params }) => {
            request(connection, id, &method, params, turns).await;
        }
        Ok(Incoming::Notification { method, params }) => {
            if method == "session/cancel" {
                cancel(connection, params);
            }
        }
        Ok(Incoming::Response { id, answer }) => {
            connection.state().calls.settle(id.get(), answer);
        }
        Err(error) => refuse(connection, &error).await,
    }
}

async fn request(
    connection: &Arc<Connection>,
    id: &RawValue,
    method: &str,
    params: &RawValue,
    turns: &mut JoinSet<()>,
) {
    let is_initialized = connection.state().is_initialized;
    if !is_initialized && method != "initialize" {
        let error = RpcError::new(rpc::INVALID_REQUEST, "call initialize first");
        return connection.outbox.send(rpc::failure(id, &error)).await;
    }
    if method == "session/prompt" {
        match Turn::begin(connection, id, params) {
            Ok((turn, cancelled)) => {
                turns.spawn(task::boxed(turn::run(turn, cancelled)));
            }
            Err(error) => connection.outbox.send(rpc::failure(id, &error)).await,
        }
        return;
    }
    match methods::call(connection, method, params).await {
        Ok(reply) => {
            connection.outbox.send(rpc::success(id, &reply.result)).await;
            for (session, update) in &reply.then {
                connection.send_update(session, update).await;
            }
        }
        Err(error) => connection.outbox.send(rpc::failure(id, &error)).await,
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Cancel {
    session_id: String,
}

/// A notification has no answer, so what cannot be read or found is ignored.
fn cancel(connection: &Connection, params: &RawValue) {
    if let Ok(params) = methods::read::<Cancel>(params)
        && let Some(session) = connection.state().sessions.get(&params.session_id)
    {
        session.cancel();
    }
}

/// Answers a line that has no id we could read.
async fn refuse(connection: &Connection, error: &RpcError) {
    connection.outbox.send(rpc::failure(RawValue::NULL, error)).await;
}
