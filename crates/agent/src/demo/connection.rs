//! The state of one connection, shared between its reader and its turns.
//!
//! In: calls from the method handlers and the turns. Out: lines in a bounded queue, in the order in
//! which they were made; answers to calls. All state is behind one lock, which is never held across
//! an await.

use super::ConnectionEnd;
use super::options::{DemoOptions, IdStyle};
use super::session::record_store::RecordStore;
use super::session::{DemoRecord, DemoSession};
use bytes::Bytes;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::collections::{HashMap, VecDeque};
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::io::{AsyncWrite, AsyncWriteExt as _};
use tokio::sync::{mpsc, oneshot};
use wire::{Json, RpcError, codes};

// Frames, not bytes: a flood packs up to FRAME_BYTES into a frame, so the queue holds at most
// 4 MiB of it. Only a scripted `big` line makes a larger frame.
pub(super) const MAX_FRAMES: usize = 64;

/// A good size for frames that carry many lines: large enough to make system calls rare.
pub(super) const FRAME_BYTES: usize = 64 * 1024;

/// The client's answer to one of our requests: its result or its error, as it was written.
pub(super) type ClientAnswer = Result<Json, Json>;

pub(super) struct DemoConnection {
    pub(super) options: DemoOptions,
    pub(super) orders: mpsc::Sender<ConnectionOrder>,
    /// Whole lines, or many lines in one frame: the only way to stdout.
    frames: mpsc::Sender<Bytes>,
    state: Mutex<DemoConnectionState>,
    /// The lock keeps saves in order: each one takes what is unsaved while it holds it.
    pub(super) store: tokio::sync::Mutex<RecordStore>,
    /// Distinguishes the ids of this process from those of earlier ones on the same state.
    id_suffix: String,
}

pub(super) struct DemoConnectionState {
    pub(super) is_initialized: bool,
    pub(super) is_authenticated: bool,
    /// The client's `clientCapabilities`, as they came.
    pub(super) client: Value,
    pub(super) sessions: HashMap<String, DemoSession>,
    pub(super) calls: PendingCalls,
    n_ids: u64,
}

impl DemoConnectionState {
    /// A closed session is as good as none, until it is loaded or resumed.
    pub(super) fn open_session(&mut self, id: &str) -> Result<&mut DemoSession, RpcError> {
        let session = self.sessions.get_mut(id).filter(|session| session.is_open);
        session.ok_or_else(|| unknown_session(id))
    }
}

/// An order of a script to whatever reads the connection.
#[derive(Debug)]
pub(super) enum ConnectionOrder {
    /// The sender confirms that nothing more will be read.
    StopReading(oneshot::Sender<()>),
    End(ConnectionEnd),
}

impl DemoConnection {
    pub(super) fn new(
        options: DemoOptions,
        frames: mpsc::Sender<Bytes>,
        orders: mpsc::Sender<ConnectionOrder>,
    ) -> Self {
        let state = DemoConnectionState {
            is_initialized: false,
            is_authenticated: options.auth.is_none(),
            client: Value::Null,
            sessions: HashMap::new(),
            calls: PendingCalls::new(options.ids),
            n_ids: 0,
        };
        let store = RecordStore::new(options.state.clone());
        store.start_clean_up();
        let started = jiff::Timestamp::now().as_microsecond();
        let id_suffix = format!("{started:x}-{:x}", std::process::id());
        Self {
            options,
            orders,
            frames,
            state: Mutex::new(state),
            store: tokio::sync::Mutex::new(store),
            id_suffix,
        }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, DemoConnectionState> {
        // A panic under the lock leaves nothing half done that a demo could not live with.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An id that no other session, tool call or process on the same state has.
    pub(super) fn unique(&self, kind: &str) -> String {
        let mut state = self.state();
        state.n_ids += 1;
        format!("{kind}-{}-{}", self.id_suffix, state.n_ids)
    }

    /// Whether the client's capabilities have something other than null or false at this place.
    pub(super) fn client_offers(&self, pointer: &str) -> bool {
        let state = self.state();
        !matches!(state.client.pointer(pointer), None | Some(Value::Null | Value::Bool(false)))
    }

    /// Sends bytes as they are. When the reader is slow the queue fills and this waits: pressure
    /// reaches the sender, never the heap. After the output broke it waits for ever, because the
    /// connection is ending and there is nobody left to tell.
    pub(super) async fn send(&self, bytes: impl Into<Bytes>) {
        if self.frames.send(bytes.into()).await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    pub(super) async fn send_update(&self, session: &str, update: &Value) {
        self.send(update_line(session, &update.to_string())).await;
    }

    /// Sends a request with a fresh id and waits for its answer.
    pub(super) async fn call(&self, method: &str, params: &str) -> ClientAnswer {
        let id = self.state().calls.next_id();
        self.call_as(&id, method, params).await
    }

    /// Sends a request with the given id and waits for its answer.
    pub(super) async fn call_as(&self, id: &str, method: &str, params: &str) -> ClientAnswer {
        let answer = self.state().calls.wait(id);
        let method = Value::from(method);
        let rest = format!("\"method\":{method},\"params\":{params}");
        self.send(format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},{rest}}}\n")).await;
        match answer.await {
            Ok(answer) => answer,
            // The table lives as long as we do, so only a race at the very end comes here.
            Err(_) => std::future::pending().await,
        }
    }

    /// Writes to the store what of the session's record is not there yet.
    pub(super) async fn save(&self, session: &str) -> io::Result<()> {
        let store = self.store.lock().await;
        let Some(unsaved) = self.change_record(session, DemoRecord::take_unsaved) else {
            return Ok(());
        };
        if store.write(session, unsaved).await.is_ok() {
            return Ok(());
        }
        // Another process may have removed the file, or a part of a line be in it.
        let take_all = |record: &mut DemoRecord| {
            record.not_saved();
            record.take_unsaved()
        };
        let Some(all) = self.change_record(session, take_all) else { return Ok(()) };
        let written = store.write(session, all).await;
        if written.is_err() {
            self.change_record(session, DemoRecord::not_saved);
        }
        written
    }

    fn change_record<T>(
        &self,
        session: &str,
        change: impl FnOnce(&mut DemoRecord) -> T,
    ) -> Option<T> {
        self.state().sessions.get_mut(session).map(|session| change(&mut session.record))
    }

    /// Gives an order and never returns: the reader ends this task when it carries the order out.
    pub(super) async fn order_the_end(&self, end: ConnectionEnd) -> ! {
        let _ = self.orders.send(ConnectionOrder::End(end)).await;
        std::future::pending().await
    }
}

/// The agent's own requests that wait for an answer. Several may wait under one id, because scripts
/// send such things; they are settled in the order in which they were asked. An answer nobody waits
/// for is dropped.
pub(super) struct PendingCalls {
    style: IdStyle,
    next: u64,
    waiting: HashMap<String, VecDeque<oneshot::Sender<ClientAnswer>>>,
}

impl PendingCalls {
    pub(super) fn new(style: IdStyle) -> Self {
        Self { style, next: 0, waiting: HashMap::new() }
    }

    /// A fresh id, as JSON text.
    pub(super) fn next_id(&mut self) -> String {
        let n = self.next;
        self.next += 1;
        match self.style {
            IdStyle::FromZero => n.to_string(),
            IdStyle::Strings => format!("\"demo-{n}\""),
        }
    }

    pub(super) fn wait(&mut self, id: &str) -> oneshot::Receiver<ClientAnswer> {
        // A cancelled turn leaves its questions behind, and the client need not ever answer them.
        self.waiting.retain(|_, queue| {
            queue.retain(|asker| !asker.is_closed());
            !queue.is_empty()
        });
        let (sender, receiver) = oneshot::channel();
        self.waiting.entry(id.to_owned()).or_default().push_back(sender);
        receiver
    }

    pub(super) fn settle(&mut self, id: &str, answer: ClientAnswer) {
        let Some(queue) = self.waiting.get_mut(id) else { return };
        if let Some(asker) = queue.pop_front() {
            // The asker may have been cancelled since.
            let _ = asker.send(answer);
        }
        if queue.is_empty() {
            self.waiting.remove(id);
        }
    }
}

/// Reads the params of a request, and says what is wrong with them.
pub(super) fn read<T: DeserializeOwned>(params: &str) -> Result<T, RpcError> {
    serde_json::from_str(params).map_err(|problem| invalid(problem.to_string()))
}

pub(super) fn invalid(message: impl Into<String>) -> RpcError {
    RpcError::new(codes::INVALID_PARAMS, message)
}

pub(super) fn unknown_session(id: &str) -> RpcError {
    RpcError::new(codes::NOT_FOUND, format!("no such session: {id}"))
}

/// A `session/update` whose update is given as JSON text, so that it goes out byte for byte.
pub(super) fn update_line(session: &str, update: &str) -> String {
    let session = Json::of(&session);
    let params = format!("{{\"sessionId\":{},\"update\":{update}}}", session.as_str());
    wire::notification_line("session/update", &params)
}

/// Writes what is sent until the connection is gone or the output breaks.
pub(super) async fn write_frames(
    mut frames: mpsc::Receiver<Bytes>,
    mut output: impl AsyncWrite + Unpin,
) -> io::Result<()> {
    while let Some(bytes) = frames.recv().await {
        output.write_all(&bytes).await?;
        // Flushing only when nothing waits keeps single messages quick and floods cheap.
        if frames.is_empty() {
            output.flush().await?;
        }
    }
    output.flush().await
}

#[cfg(test)]
mod tests;
