//! The last step of a client's message to a worker: its link, its id and its session's name there.

use std::hash::BuildHasher as _;

use std::collections::VecDeque;

use bytes::Bytes;
use wire::{Envelope, Json, codes};

use super::client::WorkerLink;
use super::ids::{CallKey, PoolId, SessionKey};
use super::line_edits::{Digits, LineEdits, RawId, quoted};
use super::pool::SwitchPool;
use super::refusal::Refusal;
use super::routed_message::{CallKind, RoutedMessage};
use super::session::{SessionLocation, SwitchSession};
use super::timers::Timer;
use super::worker::{WorkerCall, WorkerStage};
use super::{ClientId, QueueLevel, Switch, SwitchOutput, WorkerId};

/// Params that are larger are not kept, so that such a session cannot be moved: thousands of
/// sessions may be kept, and a list of MCP servers is a few hundred bytes.
const MAX_LOAD_PARAMS: usize = 64 << 10;

impl Switch {
    /// Sends a message to a worker, after the client's `initialize` if the worker has not yet
    /// answered that.
    pub(super) fn send(&mut self, id: ClientId, to: WorkerId, routed: RoutedMessage<'_>) {
        let Some(worker) =
            self.workers.get(&to).filter(|worker| worker.stage != WorkerStage::Stopping)
        else {
            let refusal = Refusal::worker_lost("it is stopping").of_worker(to);
            return self.refuse(id, &routed, &refusal);
        };
        if worker.level == QueueLevel::Full {
            let refusal = Refusal::overloaded("the worker leaves too much unread");
            let refusal = self.pool_refusal(worker.pool, refusal.of_worker(to));
            return self.refuse(id, &routed, &refusal);
        }
        let Some(client) = self.clients.get_mut(&id) else { return };
        let is_held = match client.link(to).map(|link| link.is_opening) {
            Some(is_opening) => is_opening,
            None => self.attach(id, to, routed.kind),
        };
        if !is_held {
            return self.transmit(id, to, &routed);
        }
        let max_held = self.limits.client_queue.full;
        let Some(client) = self.clients.get_mut(&id) else { return };
        if client.n_held_bytes + routed.line.len() > max_held {
            let refusal = Refusal::overloaded("too much waits for the worker to be initialised");
            return self.refuse(id, &routed, &refusal.of_worker(to));
        }
        client.n_held_bytes += routed.line.len();
        if let Some(link) = client.link(to) {
            link.held.push_back(routed.detached());
        }
    }

    /// Makes a worker serve a client. Returns whether it must answer the client's `initialize`
    /// first.
    fn attach(&mut self, id: ClientId, to: WorkerId, first: CallKind) -> bool {
        let (Some(client), Some(worker)) = (self.clients.get_mut(&id), self.workers.get_mut(&to))
        else {
            return false;
        };
        let initialize = client.initialize.clone().filter(|_| first != CallKind::Initialize);
        // The worker of a single client gets all that client's messages.
        let is_home = self.pools.get(&worker.pool).is_some_and(SwitchPool::is_private);
        for link in client.links.iter_mut().filter(|link| is_home && link.pool == worker.pool) {
            link.is_home = false;
        }
        client.links.push(WorkerLink {
            worker: to,
            pool: worker.pool,
            is_home,
            is_opening: initialize.is_some(),
            held: VecDeque::new(),
        });
        worker.clients.push(id);
        worker.has_served = true;
        self.serves_another(to);
        let Some(line) = initialize else { return false };
        match Envelope::read(&line) {
            Ok(envelope) => {
                let routed = RoutedMessage::new(&*line, envelope, CallKind::Replay, self.now);
                self.transmit(id, to, &routed);
                true
            }
            // It was read before, so this does not happen.
            Err(_) => false,
        }
    }

    /// Makes a worker the home of a client: the one that gets its requests without a session.
    pub(super) fn make_home(&mut self, id: ClientId, home: WorkerId) {
        let Some(pool) = self.workers.get(&home).map(|worker| worker.pool) else { return };
        let is_linked = self.clients.get_mut(&id).is_some_and(|c| c.link(home).is_some());
        if !is_linked {
            // Its `initialize` comes first in any case; if this is it, nothing is replayed.
            self.attach(id, home, CallKind::Plain);
        }
        let Some(client) = self.clients.get_mut(&id) else { return };
        for link in client.links.iter_mut().filter(|link| link.pool == pool) {
            link.is_home = link.worker == home;
        }
    }

    /// Sends the messages that were held until the worker had answered the client's `initialize`.
    pub(super) fn link_opened(&mut self, id: ClientId, to: WorkerId) {
        let Some(client) = self.clients.get_mut(&id) else { return };
        let initialized = client.initialized.clone();
        let Some(link) = client.link(to) else { return };
        link.is_opening = false;
        let held = std::mem::take(&mut link.held);
        client.release(&held);
        if let Some(line) = initialized {
            let line = LineEdits::default().apply(&line);
            self.out.push(SwitchOutput::ToWorker { worker: to, line });
        }
        for routed in held {
            self.send(id, to, routed);
        }
    }

    fn transmit(&mut self, id: ClientId, to: WorkerId, routed: &RoutedMessage<'_>) {
        let session = routed.session.and_then(|key| self.sessions.get(key));
        // The session may have been forgotten while the message was held.
        if routed.session.is_some() && session.is_none_or(|session| session.worker() != Some(to)) {
            let refusal = Refusal::new(codes::NOT_FOUND, "session_lost", "the session is gone");
            return self.refuse(id, routed, &refusal.of_worker(to));
        }
        let alias = session.filter(|session| session.has_alias());
        let alias = alias.map(|session| (quoted(&session.worker_name), session.name.clone()));
        let RoutedMessage { line, envelope, kind, .. } = routed;
        let mut edits = LineEdits::default();
        if let Some((worker_name, name)) = &alias {
            for span in [envelope.session, envelope.top_session] {
                if span.bytes(line).is_some_and(|text| *text == *name.as_bytes()) {
                    edits.set(span, worker_name.as_bytes());
                }
            }
        }
        if *kind == CallKind::Initialize
            && let Some(client) = self.clients.get_mut(&id)
        {
            client.initialize = Some(Bytes::copy_from_slice(line));
        }
        let digits;
        if envelope.id.is_some() {
            digits = Digits::of(self.open_call(id, to, routed));
            edits.set(envelope.id, digits.as_bytes());
        }
        if !routed.is_clients() {
            self.maybe_done(id);
        }
        let line = edits.apply(line);
        self.send_line_to_worker(id, to, line);
    }

    /// The params by which another worker could load the session, if workers of this pool can.
    fn load_params(&self, pool: PoolId, routed: &RoutedMessage<'_>) -> Option<Box<str>> {
        if !matches!(routed.kind, CallKind::Open | CallKind::Load) {
            return None;
        }
        let params = routed.envelope.body.of(&routed.line);
        let is_kept = self.pools.get(&pool)?.can_load
            && params.starts_with(b"{")
            && params.len() <= MAX_LOAD_PARAMS;
        is_kept.then(|| String::from_utf8_lossy(params).into())
    }

    /// Registers a request at a worker; returns its id there.
    fn open_call(&mut self, id: ClientId, to: WorkerId, routed: &RoutedMessage<'_>) -> u64 {
        let Some(pool) = self.workers.get(&to).map(|worker| worker.pool) else { return 0 };
        let load = self.load_params(pool, routed);
        let Some(worker) = self.workers.get_mut(&to) else { return 0 };
        worker.n_called += 1;
        worker.last_used = self.now;
        let n = worker.n_called;
        let RoutedMessage { kind, session, is_first_use, received, .. } = *routed;
        let client = (kind != CallKind::Move).then_some(id);
        if let Some(client) = client.and_then(|id| self.clients.get_mut(&id)) {
            let print = self.names.hash_one(routed.raw_id());
            client.calls.insert(CallKey { worker: to, n }, print);
        }
        if let Some(session) = session.and_then(|key| self.sessions.get_mut(key)) {
            session.n_calls += 1;
        }
        worker.n_opening += usize::from(kind == CallKind::Open);
        let id = RawId::new(routed.raw_id());
        worker
            .calls
            .insert(n, WorkerCall { client, id, kind, session, is_first_use, received, load });
        if let Some(limit) = worker.timeouts.of(kind) {
            self.set_sweep(pool, received.after(limit));
        }
        n
    }

    /// Takes an open request out of all tables.
    pub(super) fn close_call(&mut self, at: WorkerId, n: u64) -> Option<WorkerCall> {
        let call = self.workers.get_mut(&at)?.take_call(n, self.now)?;
        self.unlist_call(at, n, &call);
        Some(call)
    }

    /// Takes a request out of its client's and its session's tables.
    pub(super) fn unlist_call(&mut self, at: WorkerId, n: u64, call: &WorkerCall) {
        if let Some(client) = call.client.and_then(|id| self.clients.get_mut(&id)) {
            client.calls.remove(&CallKey { worker: at, n });
        }
        if let Some(session) = call.session.and_then(|key| self.sessions.get_mut(key)) {
            session.n_calls = session.n_calls.saturating_sub(1);
        }
    }

    /// Makes a client that names a session its owner, if it has none or if the client opens it.
    pub(super) fn claim(&mut self, client: ClientId, key: SessionKey, takes_over: bool) {
        let Some(session) = self.sessions.get_mut(key) else { return };
        if session.owner == Some(client) || !(takes_over || session.owner.is_none()) {
            return;
        }
        let Some(known) = self.clients.get_mut(&client) else { return };
        known.sessions.push(key);
        let before = session.owner.replace(client);
        if let Some(before) = before.and_then(|id| self.clients.get_mut(&id)) {
            before.sessions.retain(|owned| *owned != key);
        }
        self.end_grace(key);
    }

    /// Ends the grace of a session that has an owner, so that it is not forgotten.
    pub(super) fn end_grace(&mut self, key: SessionKey) {
        let session = self.sessions.get_mut(key).filter(|session| session.owner.is_some());
        if let Some(until) = session.and_then(|session| session.grace_until.take()) {
            self.timers.remove(&(until, Timer::Grace(key)));
        }
    }

    /// Takes a session away from its worker, which is stopping.
    pub(super) fn detach_session(&mut self, key: SessionKey) {
        let Some(session) = self.sessions.get_mut(key) else { return };
        let Some(worker) = session.worker() else { return };
        session.location = SessionLocation::Lost;
        // The worker keeps the name: what it still sends about the session must reach nobody.
        if self.workers.get(&worker).is_some_and(|worker| !worker.can_load) {
            session.load = None;
        }
    }

    pub(super) fn forget_session(&mut self, key: SessionKey) {
        let Some(SwitchSession { worker_name, owner, pool, grace_until, .. }) =
            self.sessions.remove(key)
        else {
            return;
        };
        if let Some(client) = owner.and_then(|id| self.clients.get_mut(&id)) {
            client.sessions.retain(|owned| *owned != key);
        }
        if let Some(until) = grace_until {
            self.timers.remove(&(until, Timer::Grace(key)));
        }
        let workers = self.pools.get(&pool).map(|pool| pool.workers().collect::<Vec<_>>());
        for worker in workers.unwrap_or_default() {
            let Some(worker) = self.workers.get_mut(&worker) else { continue };
            // A stopping one keeps the name: what it still sends about it must reach nobody.
            let name = worker_name.as_bytes();
            if worker.stage == WorkerStage::Running && worker.sessions.get(name) == Some(&key) {
                worker.sessions.remove(name);
                worker.last_used = self.now;
            }
        }
        self.retries.push(pool);
    }

    /// Forgets a session whose first request came to nothing.
    pub(super) fn forget_unused(&mut self, key: SessionKey) {
        if self.sessions.get(key).is_some_and(|session| session.n_calls == 0) {
            self.forget_session(key);
        }
    }

    /// Answers a request of a client with an error of our own.
    pub(super) fn answer_refused(&mut self, id: ClientId, raw_id: &[u8], refusal: &Refusal) {
        if self.clients.contains_key(&id) {
            self.count_answer(id);
            self.counters.answered_by_switch += 1;
            self.out.push(SwitchOutput::ToClient { client: id, line: refusal.to_line(raw_id) });
        }
    }

    /// The params of a `session/load` with another session id.
    pub(super) fn params_for(load: &str, worker_name: &str) -> Option<String> {
        let params = Json::trusted(load);
        let set = wire::set_member(&params, &["sessionId"], &Json::of(&worker_name)).ok()?;
        Some(set.as_str().to_owned())
    }
}
