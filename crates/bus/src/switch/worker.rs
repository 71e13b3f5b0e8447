//! A worker in the switch: one life of one process.

use std::sync::Arc;

use bytes::Bytes;
use serde::Serialize;
use wire::Envelope;

use super::hash::{IdMap, NameMap};
use super::ids::{PoolId, SessionKey};
use super::line_edits::RawId;
use super::routed_message::{CallKind, Timeouts};
use super::{ClientId, MonotonicMillis, QueueLevel, WorkerId};

#[derive(Debug, Default)]
pub(super) struct SwitchWorker {
    pub(super) id: WorkerId,
    pub(super) pool: PoolId,
    pub(super) slot: u32,
    pub(super) stage: WorkerStage,
    /// When it is stopped at the latest, if it drains.
    pub(super) drains_until: Option<MonotonicMillis>,
    /// Whether it is ended by our decision and not by its failure.
    pub(super) is_retired: bool,
    /// The failure for which it is ended, if there was one.
    pub(super) fault: Option<&'static str>,
    /// Whether it has lived long enough, or answered, to count as well started.
    pub(super) is_proved: bool,
    /// Requests that it has not answered, under the ids that it knows.
    pub(super) calls: IdMap<u64, WorkerCall>,
    pub(super) n_called: u64,
    /// Its sessions by its own names for them.
    pub(super) sessions: NameMap<SessionKey>,
    /// Requests at it whose answer will name a session.
    pub(super) n_opening: usize,
    /// Requests among them for which nobody waits any more.
    pub(super) n_left_open: usize,
    /// Its notifications about sessions that no answer has named yet.
    pub(super) early: Vec<(Bytes, Envelope)>,
    pub(super) n_early_bytes: usize,
    /// Clients that it serves.
    pub(super) clients: Vec<ClientId>,
    /// Whether it ever had a client.
    pub(super) has_served: bool,
    /// Its requests at clients.
    pub(super) asks: Vec<(ClientId, u64)>,
    pub(super) level: QueueLevel,
    /// Clients that are paused because it has too many unread bytes.
    pub(super) pausing: Vec<ClientId>,
    /// Its only client, if that has too many unread bytes: the worker is paused until it has read
    /// them.
    pub(super) paused_for: Option<ClientId>,
    pub(super) started: MonotonicMillis,
    pub(super) last_heard: MonotonicMillis,
    pub(super) last_used: MonotonicMillis,
    pub(super) pinged: Option<MonotonicMillis>,
    /// The id of the last ping, which is not among `calls`.
    pub(super) ping: u64,
    pub(super) can_load: bool,
    pub(super) can_close: bool,
    /// Sessions that it was asked to close; those requests are not among `calls`.
    pub(super) closing: Vec<PendingClose>,
    pub(super) timeouts: Timeouts,
    pub(super) n_memory_bytes: u64,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum WorkerStage {
    #[default]
    Starting,
    Running,
    /// Takes no new requests; stops when its own have ended, or when its time to drain is over.
    Draining,
    Stopping,
}

/// A request at a worker.
#[derive(Debug)]
pub(super) struct WorkerCall {
    /// `None` if no client waits for it.
    pub(super) client: Option<ClientId>,
    /// The id as the client wrote it.
    pub(super) id: RawId,
    pub(super) kind: CallKind,
    pub(super) session: Option<SessionKey>,
    pub(super) is_first_use: bool,
    pub(super) received: MonotonicMillis,
    /// Params with which the session could be loaded elsewhere.
    pub(super) load: Option<Box<str>>,
}

/// A request to a worker to close a session.
#[derive(Debug)]
pub(super) struct PendingClose {
    pub(super) n: u64,
    pub(super) name: Arc<str>,
}

impl WorkerCall {
    /// Its timeout; `None` also if nobody waits for it.
    pub(super) fn limit(&self, timeouts: Timeouts) -> Option<u64> {
        let is_watched = self.client.is_some() || self.kind == CallKind::Move;
        timeouts.of(self.kind).filter(|_| is_watched)
    }
}

impl SwitchWorker {
    /// Its open requests and sessions, for comparison with other workers.
    pub(super) fn load(&self) -> usize {
        self.calls.len() + self.sessions.len()
    }

    /// The ids of its open requests, oldest first.
    pub(super) fn call_numbers(&self) -> Vec<u64> {
        let mut numbers: Vec<u64> = self.calls.keys().copied().collect();
        numbers.sort_unstable();
        numbers
    }

    /// Takes out an open request.
    pub(super) fn take_call(&mut self, n: u64, now: MonotonicMillis) -> Option<WorkerCall> {
        let call = self.calls.remove(&n)?;
        self.last_used = now;
        let is_open = call.kind == CallKind::Open;
        self.n_opening = self.n_opening.saturating_sub(usize::from(is_open));
        let is_left = is_open && call.client.is_none();
        self.n_left_open = self.n_left_open.saturating_sub(usize::from(is_left));
        Some(call)
    }

    /// Its only client.
    pub(super) fn sole_client(&self) -> Option<ClientId> {
        match *self.clients {
            [client] => Some(client),
            _ => None,
        }
    }

    pub(super) fn is_idle(&self) -> bool {
        self.calls.is_empty() && self.sessions.is_empty() && self.asks.is_empty()
    }
}
