//! A worker as the switch knows it: one life of one process.

use std::sync::Arc;

use bytes::Bytes;
use wire::Envelope;

use super::hash::{IdMap, NameMap};
use super::ids::{PoolId, SessionKey};
use super::line::RawId;
use super::parcel::CallKind;
use super::timeouts::Timeouts;
use super::{ClientId, Level, Millis, WorkerId};

#[derive(Debug, Default)]
pub(super) struct Worker {
    pub(super) id: WorkerId,
    pub(super) pool: PoolId,
    pub(super) slot: u32,
    pub(super) stage: Stage,
    /// Whether its end is our wish and no failure of it.
    pub(super) is_retired: bool,
    /// Why we end it, where it is to blame.
    pub(super) fault: Option<&'static str>,
    /// Whether it has lived long enough, or answered, to count as well started.
    pub(super) is_proved: bool,
    /// Requests that it has not answered, under the ids that it knows.
    pub(super) calls: IdMap<u64, Call>,
    pub(super) n_called: u64,
    /// Its sessions by its own names for them.
    pub(super) sessions: NameMap<SessionKey>,
    /// Requests at it whose answer will name a session.
    pub(super) n_opening: usize,
    /// Those of them for which nobody waits any more.
    pub(super) n_left_open: usize,
    /// What it said about sessions that none of those answers has named yet.
    pub(super) early: Vec<(Bytes, Envelope)>,
    pub(super) n_early_bytes: usize,
    /// Clients that it serves.
    pub(super) clients: Vec<ClientId>,
    /// Whether it ever had a client.
    pub(super) has_served: bool,
    /// Its requests at clients.
    pub(super) asks: Vec<(ClientId, u64)>,
    pub(super) level: Level,
    /// Clients that are not read because it has too much unread.
    pub(super) pausing: Vec<ClientId>,
    /// The one client that it serves, which has too much unread: it is not read.
    pub(super) paused_for: Option<ClientId>,
    pub(super) started: Millis,
    pub(super) heard: Millis,
    pub(super) used: Millis,
    pub(super) pinged: Option<Millis>,
    /// The id of the last ping: no request of anybody, so it is not among them.
    pub(super) ping: u64,
    pub(super) can_load: bool,
    pub(super) can_close: bool,
    /// Sessions that it was told to close; no requests of anybody, as pings.
    pub(super) closing: Vec<Closing>,
    pub(super) timeouts: Timeouts,
    pub(super) n_memory_bytes: u64,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Stage {
    #[default]
    Starting,
    Running,
    /// Takes nothing new; stops when its requests have ended, at the latest then.
    Draining {
        until: Millis,
    },
    Stopping,
}

/// A request at a worker.
#[derive(Debug)]
pub(super) struct Call {
    /// `None` if it is nobody's.
    pub(super) client: Option<ClientId>,
    /// As the client wrote it.
    pub(super) id: RawId,
    pub(super) kind: CallKind,
    pub(super) session: Option<SessionKey>,
    pub(super) is_first_use: bool,
    pub(super) came: Millis,
    /// Params with which the session could be loaded elsewhere.
    pub(super) load: Option<Box<str>>,
}

/// A session that a worker was told to close, and the id of the request.
#[derive(Debug)]
pub(super) struct Closing {
    pub(super) n: u64,
    pub(super) name: Arc<str>,
}

impl Call {
    /// How long it may take; nobody waits for some.
    pub(super) fn limit(&self, timeouts: Timeouts) -> Option<u64> {
        let is_watched = self.client.is_some() || self.kind == CallKind::Move;
        timeouts.of(self.kind).filter(|_| is_watched)
    }
}

impl Worker {
    /// How much it has to do, for comparison with its like.
    pub(super) fn load(&self) -> usize {
        self.calls.len() + self.sessions.len()
    }

    /// The ids of its open requests, oldest first.
    pub(super) fn call_numbers(&self) -> Vec<u64> {
        let mut numbers: Vec<u64> = self.calls.keys().copied().collect();
        numbers.sort_unstable();
        numbers
    }

    /// Takes a request off its books.
    pub(super) fn take_call(&mut self, n: u64, now: Millis) -> Option<Call> {
        let call = self.calls.remove(&n)?;
        self.used = now;
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
