//! Reads a connection to its end and hands each message to whoever handles it.
//!
//! In: bytes. Out: answers, and turns as tasks of their own.
//! A message that cannot be read is answered and the connection goes on. Everything except a
//! prompt is handled in the order in which it came. A prompt has exactly one answer (two, or with
//! more updates after it, if its script wants to break that rule); a cancel drops the script at
//! whatever it waits for, and the answer is `cancelled`.

use super::commands;
use super::connection::{DemoConnection, read};
use super::methods::SessionIdParams;
use super::turn::{DemoTurn, OnCancel, PromptOutcome};
use bytes::Bytes;
use serde_json::json;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::sync::watch;
use tokio::task::JoinSet;
use wire::{LineError, LineSplitter, Message, MessageKind, RpcError, RpcId, codes};

const READ_BYTES: usize = 64 * 1024;

pub(super) async fn read_all(
    connection: &Arc<DemoConnection>,
    mut input: impl AsyncRead + Unpin,
    turns: &mut JoinSet<()>,
) {
    // The same limit that Switchyard sets for lines from its workers.
    let mut lines = LineSplitter::new(wire::limits::WORKER_LINE_BYTES);
    loop {
        lines.buffer().reserve(READ_BYTES);
        let read = tokio::select! {
            read = input.read_buf(lines.buffer()) => read,
            // Only to remove turns that have ended.
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
    connection: &Arc<DemoConnection>,
    line: Result<Bytes, LineError>,
    turns: &mut JoinSet<()>,
) {
    let parsed = match line {
        Ok(line) => Message::parse(line.clone()).map_err(|error| {
            let (id, error) = error.to_rpc();
            // An unreadable answer has one of our own ids, which would be another request's for the
            // client.
            let is_request = wire::salvage_id(&line).is_some_and(|(_, is_request)| is_request);
            (if is_request { id } else { RpcId::null() }, error)
        }),
        Err(error) => {
            let code = match error {
                LineError::TooLong { .. } | LineError::NoMemory { .. } => codes::INVALID_REQUEST,
                LineError::NotUtf8 { .. } => codes::PARSE,
            };
            Err((RpcId::null(), RpcError::new(code, error.to_string())))
        }
    };
    let message = match parsed {
        Ok(message) => message,
        Err((id, error)) => return connection.send(wire::error_line(&id, &error)).await,
    };
    match message.kind() {
        MessageKind::Request => request(connection, &message, turns).await,
        // A notification has no answer, so what cannot be read or found is ignored.
        MessageKind::Notification => {
            if message.method() == "session/cancel"
                && let Ok(SessionIdParams { session_id }) = read(message.body())
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

async fn request(connection: &Arc<DemoConnection>, message: &Message, turns: &mut JoinSet<()>) {
    let (id, method) = (message.id(), message.method());
    let is_initialized = connection.state().is_initialized;
    let refused = if !is_initialized && method != "initialize" {
        RpcError::new(codes::INVALID_REQUEST, "call initialize first")
    } else if method == "session/prompt" {
        match DemoTurn::begin(connection, id.clone(), message.body()) {
            Ok((turn, cancelled)) => {
                turns.spawn(task::boxed(run(turn, cancelled)));
                return;
            }
            Err(error) => error,
        }
    } else {
        match connection.answer(method, message.body()).await {
            Ok(reply) => {
                connection.send(wire::result_line(&id, &reply.result.to_string())).await;
                if let Some((session, update)) = &reply.then {
                    connection.send_update(session, update).await;
                }
                return;
            }
            Err(error) => error,
        }
    };
    connection.send(wire::error_line(&id, &refused)).await;
}

/// Runs a turn to its answer and beyond.
async fn run(turn: DemoTurn, mut cancelled: watch::Receiver<bool>) {
    // The prompt is on disk before anything happens, so a crash cannot make us forget it.
    // A state directory that cannot be written was already reported by `session/new`.
    let _ = turn.connection.save(&turn.session).await;
    let outcome = play(&turn, &mut cancelled).await;
    turn.change(|session| session.turn = None);
    let _ = turn.connection.save(&turn.session).await;

    let options = *turn.end_options();
    let answer = match outcome {
        Ok(reason) => wire::result_line(&turn.id, &json!({ "stopReason": reason }).to_string()),
        Err(error) => wire::error_line(&turn.id, &error),
    };
    turn.raw(answer.clone()).await;
    if options.answers_twice {
        turn.raw(answer).await;
    }
    for n in 1..=options.n_late_updates {
        turn.say(format!("late {n}\n")).await;
    }
}

async fn play(turn: &DemoTurn, cancelled: &mut watch::Receiver<bool>) -> PromptOutcome {
    {
        let mut script = std::pin::pin!(commands::run(turn));
        // One step before the first look at the cancel: a script says in its first command what it
        // wants to happen then, and the cancel may come right behind the prompt.
        let first_step = poll_fn(|context| Poll::Ready(script.as_mut().poll(context))).await;
        if let Poll::Ready(outcome) = first_step {
            return outcome;
        }
        tokio::select! {
            biased;
            _ = cancelled.wait_for(|is_cancelled| *is_cancelled) => {}
            outcome = &mut script => return outcome,
        }
        if matches!(turn.end_options().on_cancel, OnCancel::Ignore) {
            return script.await;
        }
    }
    let on_cancel = turn.end_options().on_cancel;
    if let OnCancel::Linger(n_updates) = on_cancel {
        for n in 1..=n_updates {
            turn.say(format!("after cancel {n}\n")).await;
        }
    }
    Ok("cancelled".to_owned())
}
