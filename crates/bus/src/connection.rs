//! One JSON-RPC peer on a pair of byte streams.
//!
//! In: bytes of the peer; out: its messages in order, in batches as large as one read
//! brought, and our own requests, notifications and answers as lines. Used towards agents
//! (host) and towards clients (front) alike.
//!
//! Always true: ids that we give out and ids that the peer gives out are two spaces, told
//! apart by the presence of `method`. Every request of the peer is answered at most once.
//! Queues are bounded both ways: a consumer that stops reading stops the pipe, a peer that
//! stops reading is declared stalled. Answers arrive in the same stream as notifications,
//! so nothing that the peer sent before an answer is seen after it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
use tokio_util::sync::CancellationToken;
use wire::{Json, LineError, Message, MessageError, RpcError, RpcId};

use crate::quota::QuotaReservation;
use open_requests::OpenRequests;

mod open_requests;
mod reader;
mod writer;

#[derive(Debug, Clone)]
pub struct ConnectionLimits {
    pub max_line_bytes: usize,
    /// JSON values in one message. A message with more is not read, and whoever waits for it gets
    /// an error.
    pub max_values: usize,
    /// Bytes queued for the peer, a line that is half written included. A larger line waits outside
    /// of this budget, one at a time.
    pub outbox_bytes: usize,
    /// A peer that takes no byte for this long while we have something to say is stalled.
    pub write_stall: Duration,
}

/// Lines that may wait for a peer that is slow to read.
const OUTBOX_LINES: usize = 256;
/// The default of [`ConnectionLimits::outbox_bytes`].
pub const OUTBOX_BYTES: usize = 8 << 20;
/// Batches that wait between the reader and its consumer; a batch may be one huge line.
const INBOX_BATCHES: usize = 1;

/// A message, or an unreadable line, of the peer.
#[derive(Debug)]
pub enum IncomingMessage {
    Request(Message),
    Notification(Message),
    /// The answer to a request made with [`Connection::call`]; pass it on with
    /// [`CallReply::settle`] when everything before it has been dealt with.
    Reply(CallReply),
    /// The answer to a request made with [`Connection::call_tagged`].
    Tagged {
        tag: u64,
        outcome: RpcResult,
    },
    /// A response that matches no open request of ours: given up long ago, answered twice, or made
    /// up.
    Unmatched(Message),
    BadLine(LineError),
    BadMessage {
        error: MessageError,
        /// The beginning of the line.
        line: String,
        /// Whether its sender, or our own caller, has got an error under the message's own id.
        is_answered: bool,
    },
}

impl IncomingMessage {
    /// The size of its line, as far as that is at hand.
    pub fn n_bytes(&self) -> usize {
        match self {
            Self::Request(message) | Self::Notification(message) | Self::Unmatched(message) => {
                message.line().len()
            }
            Self::Reply(_) | Self::Tagged { .. } | Self::BadLine(_) | Self::BadMessage { .. } => 0,
        }
    }
}

/// How the peer answered.
pub type RpcResult = Result<Json, RpcError>;

#[derive(Debug)]
pub struct CallReply {
    waiter: oneshot::Sender<RpcResult>,
    outcome: RpcResult,
}

impl CallReply {
    pub fn settle(self) {
        // A waiter that went away no longer wants the answer.
        let _ = self.waiter.send(self.outcome);
    }
}

#[derive(Debug, Clone, thiserror::Error)]
pub enum CallError {
    #[error("the connection is closed")]
    Closed,
    #[error(transparent)]
    Refused(#[from] RpcError),
    #[error("the peer leaves too much unread")]
    Full,
    #[error("no answer to `{method}` within {waited:?}")]
    TimedOut { method: String, waited: Duration },
}

/// A handle to the connection, cheap to clone; the connection ends when the last one is dropped or
/// on [`close`].
///
/// [`close`]: Connection::close
#[derive(Debug, Clone)]
pub struct Connection {
    shared: Arc<ConnectionState>,
}

#[derive(Debug)]
struct ConnectionState {
    outbox: mpsc::Sender<QueuedLine>,
    outbox_bytes: Arc<Semaphore>,
    outbox_large: Arc<Semaphore>,
    max_outbox: usize,
    calls: Mutex<OpenCalls>,
    closing: CancellationToken,
    stalled: CancellationToken,
    patience: Arc<Patience>,
}

/// Whether the peer has been stopped on purpose, so that not reading is no stall. A counter, odd
/// while it is so: from it a wait sees whether it was so at any time in it.
#[derive(Debug, Default)]
struct Patience(AtomicU64);

impl Patience {
    fn count(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    fn set(&self, is_patient: bool) {
        let _ = self.0.try_update(Ordering::Relaxed, Ordering::Relaxed, |count| {
            ((count % 2 == 1) != is_patient).then(|| count.wrapping_add(1))
        });
    }

    /// Whether a wait that began at `count` may be called a stall.
    fn has_run_out(&self, count: u64) -> bool {
        count.is_multiple_of(2) && self.count() == count
    }
}

#[derive(Debug)]
struct QueuedLine {
    bytes: Bytes,
    /// Its share of the outbox's budget, given back when the line is written.
    _permit: OwnedSemaphorePermit,
}

#[derive(Debug)]
enum Waiter {
    Direct(oneshot::Sender<RpcResult>),
    Tagged(u64),
}

impl Waiter {
    fn answered(self, outcome: RpcResult) -> IncomingMessage {
        match self {
            Self::Direct(waiter) => IncomingMessage::Reply(CallReply { waiter, outcome }),
            Self::Tagged(tag) => IncomingMessage::Tagged { tag, outcome },
        }
    }
}

#[derive(Debug, Default)]
struct OpenCalls {
    last_id: u64,
    /// Our requests that wait for an answer.
    waiting: HashMap<u64, Waiter>,
    /// The peer's requests that wait for ours.
    open: OpenRequests,
    is_closed: bool,
}

/// The stream of the peer's messages; ends when the peer has closed its side.
#[derive(Debug)]
pub struct Inbox {
    batches: mpsc::Receiver<Vec<IncomingMessage>>,
}

impl Inbox {
    /// Cancel-safe.
    pub async fn next(&mut self) -> Option<Vec<IncomingMessage>> {
        self.batches.recv().await
    }
}

impl Connection {
    pub fn open<R, W>(reader: R, writer: W, limits: &ConnectionLimits) -> (Self, Inbox)
    where
        R: AsyncRead + Unpin + Send + 'static,
        W: AsyncWrite + Unpin + Send + 'static,
    {
        Self::open_with_quota(reader, writer, limits, None)
    }

    /// Large messages of the peer count in `quota` until they are dropped; one that has no room
    /// there ends the connection.
    pub fn open_with_quota<R, W>(
        reader: R,
        writer: W,
        limits: &ConnectionLimits,
        quota: Option<Arc<QuotaReservation>>,
    ) -> (Self, Inbox)
    where
        R: AsyncRead + Unpin + Send + 'static,
        W: AsyncWrite + Unpin + Send + 'static,
    {
        let (outbox, lines) = mpsc::channel(OUTBOX_LINES);
        let (batches_in, batches) = mpsc::channel(INBOX_BATCHES);
        let (closing, stalled) = (CancellationToken::new(), CancellationToken::new());
        let patience = Arc::<Patience>::default();
        let shared = Arc::new(ConnectionState {
            outbox,
            outbox_bytes: Arc::new(Semaphore::new(limits.outbox_bytes)),
            outbox_large: Arc::new(Semaphore::new(1)),
            max_outbox: limits.outbox_bytes,
            calls: Mutex::default(),
            closing: closing.clone(),
            stalled: stalled.clone(),
            patience: patience.clone(),
        });
        let stall = writer::StallRule { after: limits.write_stall, patience };
        task::spawn(writer::run(writer, lines, stall, closing, stalled));
        let reading = reader::ConnectionReader {
            limits: limits.clone(),
            quota,
            shared: Arc::downgrade(&shared),
        };
        task::spawn(reading.run(reader, batches_in));
        (Self { shared }, Inbox { batches })
    }

    /// Asks and waits. Dropping the future gives the request up: the peer is told with
    /// `$/cancel_request`, and an answer that still comes is reported as unasked.
    pub async fn call(&self, method: &str, params: &Json) -> Result<Json, CallError> {
        let (sender, receiver) = oneshot::channel();
        let id = self.enlist(Waiter::Direct(sender))?;
        let mut given_up = CallGuard { connection: self, id: Some(id) };
        self.send(wire::request_line(&RpcId::number(id), method, params.as_str())).await?;
        let outcome = receiver.await.map_err(|_| CallError::Closed);
        given_up.id = None;
        Ok(outcome??)
    }

    /// As [`call`](Self::call), with an end to the waiting.
    pub async fn call_within(
        &self,
        limit: Duration,
        method: &str,
        params: &Json,
    ) -> Result<Json, CallError> {
        tokio::time::timeout(limit, self.call(method, params)).await.unwrap_or_else(|_| {
            Err(CallError::TimedOut { method: method.to_owned(), waited: limit })
        })
    }

    /// Asks; the answer comes through the inbox, in its place among the notifications.
    /// Never waits: a peer that left so much unread is as good as stalled.
    pub fn call_tagged(&self, tag: u64, method: &str, params: &Json) -> Result<(), CallError> {
        let id = self.enlist(Waiter::Tagged(tag))?;
        self.shared.try_send(wire::request_line(&RpcId::number(id), method, params.as_str()))
    }

    /// Never waits, as [`call_tagged`](Self::call_tagged).
    pub fn notify(&self, method: &str, params: &Json) -> Result<(), CallError> {
        self.shared.try_send(wire::notification_line(method, params.as_str()))
    }

    /// As [`notify`](Self::notify), but waits for room: for a stream that must not be cut.
    pub async fn notify_in_turn(&self, method: &str, params: &Json) -> Result<(), CallError> {
        self.send(wire::notification_line(method, params.as_str())).await
    }

    /// Answers a request of the peer. A second answer to the same request is not sent.
    pub async fn respond(&self, id: &RpcId, outcome: RpcResult) -> Result<(), CallError> {
        let Some(line) = self.response_line(id, outcome) else { return Ok(()) };
        // A peer that does not read its answers has no more of them made than it may ask for.
        self.shared.calls().open.n_unread += 1;
        let _unread = UnreadAnswer(&self.shared);
        self.send(line).await
    }

    /// As [`respond`](Self::respond), but never waits.
    pub fn respond_now(&self, id: &RpcId, outcome: RpcResult) -> Result<(), CallError> {
        match self.response_line(id, outcome) {
            Some(line) => self.shared.try_send(line),
            None => Ok(()),
        }
    }

    fn response_line(&self, id: &RpcId, outcome: RpcResult) -> Option<String> {
        let is_open = self.shared.calls().open.remove(id);
        is_open.then(|| match outcome {
            Ok(result) => wire::result_line(id, result.as_str()),
            Err(error) => wire::error_line(id, &error),
        })
    }

    /// Reports a line that could not be read to the peer that sent it.
    pub async fn respond_to_bad(&self, error: &MessageError) -> Result<(), CallError> {
        let (id, error) = error.to_rpc();
        self.send(wire::error_line(&id, &error)).await
    }

    /// Resolves when the peer has taken all that is queued, or the connection closes.
    pub async fn drained(&self) {
        let all = u32::try_from(self.shared.max_outbox).unwrap_or(u32::MAX);
        let taken = async {
            let _all = self.shared.outbox_bytes.acquire_many(all).await;
            let _large = self.shared.outbox_large.acquire().await;
        };
        tokio::select! {
            () = taken => {}
            () = self.shared.closing.cancelled() => {}
        }
    }

    /// Closes our side: what is queued is still written if the peer takes it quickly.
    pub fn close(&self) {
        self.shared.closing.cancel();
    }

    /// While patient, a peer that does not read is not called stalled: somebody has stopped it.
    pub fn set_patient(&self, is_patient: bool) {
        self.shared.patience.set(is_patient);
    }

    /// Resolves when the peer counts as stalled: it has refused to read for too long.
    pub async fn stalled(&self) {
        self.shared.stalled.cancelled().await;
    }

    pub fn is_closed(&self) -> bool {
        self.shared.calls().is_closed
    }

    async fn send(&self, line: String) -> Result<(), CallError> {
        let (places, n_places) = self.shared.places(&line);
        let permit = tokio::select! {
            permit = places.acquire_many_owned(n_places) => permit,
            () = self.shared.closing.cancelled() => return Err(CallError::Closed),
        };
        let line =
            QueuedLine { bytes: line.into(), _permit: permit.map_err(|_| CallError::Closed)? };
        tokio::select! {
            sent = self.shared.outbox.send(line) => sent.map_err(|_| CallError::Closed),
            () = self.shared.closing.cancelled() => Err(CallError::Closed),
        }
    }

    fn enlist(&self, waiter: Waiter) -> Result<u64, CallError> {
        let mut calls = self.shared.calls();
        if calls.is_closed {
            return Err(CallError::Closed);
        }
        calls.last_id += 1;
        let id = calls.last_id;
        calls.waiting.insert(id, waiter);
        Ok(id)
    }
}

impl ConnectionState {
    /// The semaphore from which a line takes its permits, and how many.
    fn places(&self, line: &str) -> (Arc<Semaphore>, u32) {
        match u32::try_from(line.len()) {
            Ok(n_bytes) if line.len() <= self.max_outbox => (self.outbox_bytes.clone(), n_bytes),
            _ => (self.outbox_large.clone(), 1),
        }
    }

    fn try_send(&self, line: String) -> Result<(), CallError> {
        let (places, n_places) = self.places(&line);
        let permit = places.try_acquire_many_owned(n_places);
        let line = QueuedLine { bytes: line.into(), _permit: permit.map_err(|_| CallError::Full)? };
        self.outbox.try_send(line).map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => CallError::Full,
            mpsc::error::TrySendError::Closed(_) => CallError::Closed,
        })
    }

    /// Takes out the waiter for the answer to a request of ours: all that we gave out are numbers.
    fn take_waiter(&self, id: &RpcId) -> Option<Waiter> {
        self.calls().waiting.remove(&id.as_str().parse().ok()?)
    }

    fn calls(&self) -> std::sync::MutexGuard<'_, OpenCalls> {
        // Nothing that can panic runs under the lock, so a poisoned one is still sound.
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An answer that is counted as waiting for room in the outbox, until this is dropped.
struct UnreadAnswer<'a>(&'a ConnectionState);

impl Drop for UnreadAnswer<'_> {
    fn drop(&mut self) {
        self.0.calls().open.n_unread -= 1;
    }
}

/// Withdraws a request whose caller stopped waiting.
struct CallGuard<'a> {
    connection: &'a Connection,
    id: Option<u64>,
}

impl Drop for CallGuard<'_> {
    fn drop(&mut self) {
        let Some(id) = self.id else { return };
        self.connection.shared.calls().waiting.remove(&id);
        let params = Json::of(&serde_json::json!({ "requestId": id }));
        // Best effort: a full outbox means that the peer does not listen anyway.
        let _ = self.connection.notify("$/cancel_request", &params);
    }
}

#[cfg(test)]
mod tests;
