//! A client as the switch knows it.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;

use super::hash::IdMap;
use super::ids::{CallKey, PoolId, SessionKey};
use super::line_edits::RawId;
use super::routed_message::RoutedMessage;
use super::{MonotonicMillis, QueueLevel, WorkerId};

#[derive(Debug, Default)]
pub(super) struct SwitchClient {
    /// The pool that its listener or hello named; nothing that it sends later overrules it.
    pub(super) fixed_pool: Option<Arc<str>>,
    /// The pool that its `initialize` named: for its later requests that name none.
    pub(super) chosen_pool: Option<Arc<str>>,
    /// Its `initialize`, which is sent to every worker that comes to serve it.
    pub(super) initialize: Option<Bytes>,
    /// Its `notifications/initialized`, with which MCP ends the handshake.
    pub(super) initialized: Option<Bytes>,
    pub(super) links: Vec<WorkerLink>,
    /// Its requests (or those for its sake) that are at a worker, each with the hash of the
    /// client's id for it.
    pub(super) calls: IdMap<CallKey, u64>,
    /// Requests that were taken and not yet answered, wherever they are.
    pub(super) n_open: usize,
    /// Requests of workers that it has not answered, under the ids that it knows.
    pub(super) asks: IdMap<u64, WorkerRequest>,
    pub(super) n_asked: u64,
    /// Sessions that it owns; may name some that are gone.
    pub(super) sessions: Vec<SessionKey>,
    /// Bytes of its messages that wait inside the switch, for a worker to be initialised or a
    /// session to be moved.
    pub(super) n_held_bytes: usize,
    /// Messages of it that wait for a worker to start.
    pub(super) n_waiting: usize,
    pub(super) n_bad_lines: u32,
    pub(super) has_sent_message: bool,
    pub(super) level: QueueLevel,
    pub(super) slow_since: Option<MonotonicMillis>,
    /// Workers that have too many unread bytes from it.
    pub(super) paused_for: Vec<WorkerId>,
    /// Set when it has ended its input.
    pub(super) finish: Option<HalfClose>,
}

impl SwitchClient {
    pub(super) fn is_paused(&self) -> bool {
        self.level > QueueLevel::Low || !self.paused_for.is_empty()
    }

    /// Whether it has ended its input and nothing of what it sent is left to do.
    pub(super) fn is_done(&self) -> bool {
        let is_settled = self.n_open == 0 && self.n_waiting == 0 && self.n_held_bytes == 0;
        self.finish.is_some() && is_settled
    }

    pub(super) fn link(&mut self, worker: WorkerId) -> Option<&mut WorkerLink> {
        self.links.iter_mut().find(|link| link.worker == worker)
    }

    /// Counts messages as no longer held.
    pub(super) fn release<'a>(
        &mut self,
        routed_messages: impl IntoIterator<Item = &'a RoutedMessage<'static>>,
    ) {
        for routed in routed_messages {
            self.n_held_bytes = self.n_held_bytes.saturating_sub(routed.line.len());
        }
    }

    pub(super) fn home(&self, pool: PoolId) -> Option<WorkerId> {
        self.links.iter().find(|link| link.pool == pool && link.is_home).map(|link| link.worker)
    }
}

/// The state of a client that has ended its input and still reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct HalfClose {
    /// When it is closed at the latest.
    pub(super) until: Option<MonotonicMillis>,
}

/// The relation of a client to a worker that serves it.
#[derive(Debug)]
pub(super) struct WorkerLink {
    pub(super) worker: WorkerId,
    pub(super) pool: PoolId,
    /// Whether the client's requests without a session go there.
    pub(super) is_home: bool,
    /// Whether the worker still has to answer the client's `initialize`; the client's messages are
    /// held meanwhile.
    pub(super) is_opening: bool,
    pub(super) held: VecDeque<RoutedMessage<'static>>,
}

/// A request of a worker to a client.
#[derive(Debug)]
pub(super) struct WorkerRequest {
    pub(super) worker: WorkerId,
    pub(super) id: RawId,
}
