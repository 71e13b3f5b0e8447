//! Sessions that have lost their worker, or their client.
//!
//! One whose worker is lost is moved to another, with `session/load`. Messages of clients about the
//! session are held meanwhile and follow in order; what the new worker replays is swallowed, for
//! the client has seen it.
//!
//! One that nobody has claimed is closed at its worker with `session/close`, where that said that
//! it can be; or it would keep the session for ever. Until it has answered the name stays taken, so
//! that its late messages about the session reach nobody.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use wire::{Envelope, Json, RpcId};

use super::hash::NameKey;
use super::ids::SessionKey;
use super::refusal::Refusal;
use super::routed_message::{CallKind, RoutedMessage};
use super::session::SessionLocation;
use super::timers::Timer;
use super::worker::{PendingClose, WorkerStage};
use super::worker_choice::WorkerChoice;
use super::{ClientId, Switch, SwitchOutput, WorkerId};

/// Sessions that a worker may be closing at once. One that answers none of them gets no more such
/// requests: what is remembered for it must end somewhere.
const MAX_CLOSING: usize = 1024;

impl Switch {
    pub(super) fn start_move(
        &mut self,
        client: ClientId,
        key: SessionKey,
        routed: RoutedMessage<'_>,
    ) {
        let Some(session) = self.sessions.get(key) else { return };
        let (pool, name, own_name) =
            (session.pool, session.name.clone(), session.worker_name.clone());
        let params = session.load.as_deref().and_then(|load| Self::params_for(load, &own_name));
        let to = match self.choose(client, pool, true) {
            WorkerChoice::Worker(worker) => worker,
            WorkerChoice::Wait => return self.wait_for_worker(client, pool, routed),
            WorkerChoice::Refuse(refusal) => return self.refuse(client, &routed, &refusal),
        };
        let used_for =
            self.workers.get(&to).and_then(|worker| worker.sessions.get(own_name.as_bytes()));
        let is_name_taken = used_for.is_some_and(|other| *other != key);
        let load = params.filter(|_| !is_name_taken).and_then(|params| self.load_message(&params));
        let Some(mut load) = load else {
            let refusal = self.pool_refusal(pool, Refusal::session_lost(&name));
            return self.refuse(client, &routed, &refusal);
        };
        load.session = Some(key);
        if let Some(worker) = self.workers.get_mut(&to) {
            worker.sessions.insert(NameKey(own_name), key);
        }
        if let Some(session) = self.sessions.get_mut(key) {
            session.location = SessionLocation::Moving { to, held: VecDeque::new() };
        }
        self.hold_for_move(client, key, routed);
        self.send(client, to, load);
    }

    fn load_message(&self, params: &str) -> Option<RoutedMessage<'static>> {
        let line = wire::request_line(&RpcId::null(), "session/load", params);
        let line = line.trim_end().as_bytes().to_vec();
        let envelope = Envelope::read(&line).ok()?;
        Some(RoutedMessage::new(line, envelope, CallKind::Move, self.now))
    }

    pub(super) fn hold_for_move(
        &mut self,
        client: ClientId,
        key: SessionKey,
        mut routed: RoutedMessage<'_>,
    ) {
        let max_held = self.limits.client_queue.full;
        let Some(known) = self.clients.get_mut(&client) else { return };
        if known.n_held_bytes + routed.line.len() > max_held {
            let refusal = Refusal::overloaded("too much waits for the session to be moved");
            return self.refuse(client, &routed, &refusal);
        }
        let session = self.sessions.get_mut(key);
        let Some(SessionLocation::Moving { held, .. }) =
            session.map(|session| &mut session.location)
        else {
            return;
        };
        known.n_held_bytes += routed.line.len();
        routed.session = Some(key);
        held.push_back((client, routed.detached()));
    }

    pub(super) fn move_answered(&mut self, key: SessionKey, is_ok: bool) {
        let Some(session) = self.sessions.get_mut(key) else { return };
        if !is_ok {
            session.load = None;
            let (pool, refusal) = (session.pool, Refusal::session_lost(&session.name));
            return self.move_failed(key, &self.pool_refusal(pool, refusal));
        }
        let SessionLocation::Moving { to, .. } = session.location else { return };
        self.counters.sessions_moved += 1;
        self.end_grace(key);
        for (client, routed) in self.end_move(key, SessionLocation::At(to)) {
            if self.clients.contains_key(&client) {
                self.send(client, to, routed);
            }
        }
    }

    /// Leaves the session lost, and refuses all messages that waited for it.
    pub(super) fn move_failed(&mut self, key: SessionKey, refusal: &Refusal) {
        let Some(session) = self.sessions.get_mut(key) else { return };
        if !matches!(session.location, SessionLocation::Moving { .. }) {
            return;
        }
        // The worker keeps the name: it may yet have loaded the session, and what it sends about it
        // must reach nobody.
        session.n_calls = 0;
        self.counters.sessions_lost += 1;
        for (client, routed) in self.end_move(key, SessionLocation::Lost) {
            self.refuse(client, &routed, refusal);
        }
    }

    fn end_move(
        &mut self,
        key: SessionKey,
        place: SessionLocation,
    ) -> VecDeque<(ClientId, RoutedMessage<'static>)> {
        let Some(session) = self.sessions.get_mut(key) else { return VecDeque::new() };
        let SessionLocation::Moving { held, .. } = std::mem::replace(&mut session.location, place)
        else {
            return VecDeque::new();
        };
        for (client, routed) in &held {
            if let Some(client) = self.clients.get_mut(client) {
                client.release([routed]);
            }
        }
        held
    }

    pub(super) fn grace_ended(&mut self, key: SessionKey) {
        let now = self.now;
        let grace = self.limits.session_grace;
        let Some(session) = self.sessions.get_mut(key) else { return };
        if session.grace_until.is_none_or(|until| until > now) {
            return;
        }
        // Other clients may wait for it.
        if matches!(session.location, SessionLocation::Moving { .. }) || session.n_calls > 0 {
            let until = now.after(grace.max(1));
            session.grace_until = Some(until);
            return self.set_timer(until, Timer::Grace(key));
        }
        let (at, name) = (session.worker(), session.worker_name.clone());
        self.forget_session(key);
        if let Some(at) = at {
            self.close_at(at, key, name);
        }
    }

    /// Tells a worker to close a session that is no longer known.
    fn close_at(&mut self, at: WorkerId, key: SessionKey, name: Arc<str>) {
        let Some(worker) = self.workers.get_mut(&at) else { return };
        let is_up = worker.stage == WorkerStage::Running;
        if !(is_up && worker.can_close && worker.closing.len() < MAX_CLOSING) {
            return;
        }
        worker.sessions.insert(NameKey(name.clone()), key);
        worker.n_called += 1;
        let n = worker.n_called;
        let params = format!("{{\"sessionId\":{}}}", Json::of(&&*name).as_str());
        let line = wire::request_line(&RpcId::number(n), "session/close", &params);
        worker.closing.push(PendingClose { n, name });
        self.counters.sessions_closed += 1;
        self.out.push(SwitchOutput::ToWorker { worker: at, line: Bytes::from(line) });
    }

    /// Takes a worker's answer to a `session/close`; false if it is none.
    pub(super) fn session_closed(&mut self, at: WorkerId, n: u64) -> bool {
        let Some(worker) = self.workers.get_mut(&at) else { return false };
        let Some(place) = worker.closing.iter().position(|closing| closing.n == n) else {
            return false;
        };
        let closing = worker.closing.swap_remove(place);
        worker.sessions.remove(closing.name.as_bytes());
        worker.last_used = self.now;
        self.retries.push(worker.pool);
        true
    }
}
