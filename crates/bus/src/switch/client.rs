//! A client as the switch knows it, and its messages on their way.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use wire::{Envelope, MessageKind};

use super::arrivals::Finish;
use super::fan::FanId;
use super::hash::IdMap;
use super::line::RawId;
use super::pool::PoolId;
use super::session::SessionKey;
use super::{Level, Millis, WorkerId};

#[derive(Debug, Default)]
pub(super) struct Client {
    /// What its listener or hello asked for; nothing it says later overrules it.
    pub(super) came_with: Option<Arc<str>>,
    /// What its `initialize` asked for: where its later requests go that do not say.
    pub(super) chosen: Option<Arc<str>>,
    /// Its `initialize`, to be told to every worker that comes to serve it.
    pub(super) initialize: Option<Bytes>,
    /// MCP's second half of it.
    pub(super) initialized: Option<Bytes>,
    pub(super) links: Vec<Link>,
    /// Requests of it (or for its sake) that are at a worker.
    /// With the print of the id that it gave them.
    pub(super) calls: IdMap<CallKey, u64>,
    /// Requests that were taken and not yet answered, wherever they are.
    pub(super) n_open: usize,
    /// Requests of workers that it has not answered, under the ids that it knows.
    pub(super) asks: IdMap<u64, Ask>,
    pub(super) n_asked: u64,
    /// Sessions that it owns; may name some that are gone.
    pub(super) sessions: Vec<SessionKey>,
    /// Bytes of it that wait inside the switch, for a worker to be initialised or a session to
    /// be moved.
    pub(super) n_held_bytes: usize,
    /// Messages of it that wait for a worker to start.
    pub(super) n_waiting: usize,
    pub(super) n_bad_lines: u32,
    pub(super) has_made_sense: bool,
    pub(super) level: Level,
    pub(super) slow_since: Option<Millis>,
    /// Workers that have too much unread from it.
    pub(super) paused_for: Vec<WorkerId>,
    /// Set when it will say nothing more.
    pub(super) finish: Option<Finish>,
}

impl Client {
    pub(super) fn is_paused(&self) -> bool {
        self.level > Level::Low || !self.paused_for.is_empty()
    }

    /// Whether it has finished and everything that it said has come to its end.
    pub(super) fn is_done(&self) -> bool {
        let is_settled = self.n_open == 0 && self.n_waiting == 0 && self.n_held_bytes == 0;
        self.finish.is_some() && is_settled
    }

    pub(super) fn link(&mut self, worker: WorkerId) -> Option<&mut Link> {
        self.links.iter_mut().find(|link| link.worker == worker)
    }

    /// Messages of it are no longer held.
    pub(super) fn release<'a>(&mut self, parcels: impl IntoIterator<Item = &'a Parcel<'static>>) {
        for parcel in parcels {
            self.n_held_bytes = self.n_held_bytes.saturating_sub(parcel.line.len());
        }
    }

    pub(super) fn home(&self, pool: PoolId) -> Option<WorkerId> {
        self.links.iter().find(|link| link.pool == pool && link.is_home).map(|link| link.worker)
    }
}

/// That a worker serves a client.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) worker: WorkerId,
    pub(super) pool: PoolId,
    /// Whether the client's requests without a session go there.
    pub(super) is_home: bool,
    /// Whether the worker still has to answer the client's `initialize`; what the client says
    /// meanwhile is held.
    pub(super) is_opening: bool,
    pub(super) held: VecDeque<Parcel<'static>>,
}

/// A request at a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct CallKey {
    pub(super) worker: WorkerId,
    pub(super) n: u64,
}

/// A request of a worker at a client.
#[derive(Debug)]
pub(super) struct Ask {
    pub(super) worker: WorkerId,
    pub(super) id: RawId,
}

/// What a request is, as far as the switch cares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallKind {
    Plain,
    Prompt,
    /// Makes a session that its answer names.
    Open,
    /// Opens the session that it names.
    Load,
    /// Its answer ends its session.
    Close,
    Initialize,
    /// The client's `initialize`, told to one more worker.
    Replay,
    /// One of several, and which.
    Fan(FanId, u32),
    /// A `session/load` of ours.
    Move,
}

/// A message of a client on its way to a worker.
#[derive(Debug)]
pub(super) struct Parcel<'a> {
    pub(super) line: Cow<'a, [u8]>,
    pub(super) envelope: Envelope,
    pub(super) kind: CallKind,
    pub(super) session: Option<SessionKey>,
    /// Whether the session is known only because of this request.
    pub(super) is_first_use: bool,
    pub(super) came: Millis,
}

impl<'a> Parcel<'a> {
    pub(super) fn new(
        line: impl Into<Cow<'a, [u8]>>,
        envelope: Envelope,
        kind: CallKind,
        came: Millis,
    ) -> Self {
        Self { line: line.into(), envelope, kind, session: None, is_first_use: false, came }
    }

    pub(super) fn is_request(&self) -> bool {
        self.envelope.kind == MessageKind::Request
    }

    pub(super) fn raw_id(&self) -> &[u8] {
        self.envelope.id.of(&self.line)
    }

    /// Whether it is a request that the client waits for under its own id.
    pub(super) fn is_clients(&self) -> bool {
        self.is_request() && !matches!(self.kind, CallKind::Fan(..) | CallKind::Move)
    }

    /// Ready to wait: without the read buffer that its line is a part of.
    pub(super) fn detached(self) -> Parcel<'static> {
        Parcel { line: Cow::Owned(self.line.into_owned()), ..self }
    }
}
