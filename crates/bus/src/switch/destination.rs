//! The destination of a client's message: a worker, a queue, or an error.

use std::sync::Arc;

use wire::{Envelope, Json, Span, codes};

use super::hash::NameKey;
use super::ids::{CallKey, PoolId, SessionKey};
use super::pool::SwitchPool;
use super::refusal::Refusal;
use super::routed_message::{CallKind, RoutedMessage};
use super::session::SessionLocation;
use super::worker::WorkerStage;
use super::worker_choice::WorkerChoice;
use super::{ClientId, Switch, WorkerId};

enum Destination {
    /// The worker that has its session, or its client's home.
    At(WorkerId, Option<SessionKey>),
    /// A worker that is to have the session, whose name is still free or whose worker is lost.
    Bind(WorkerId, PoolId),
    /// The queue behind a session that is being moved.
    Hold(SessionKey),
    /// A session to be moved first.
    Move(SessionKey),
    /// The queue for a worker that starts.
    Wait(PoolId),
    All(PoolId),
}

impl Switch {
    /// Sends a message of a client on its way; a request that has none is answered.
    pub(super) fn route(&mut self, client: ClientId, mut routed: RoutedMessage<'_>) {
        match self.destination(client, &routed) {
            Ok(Destination::At(worker, session)) => {
                routed.session = session;
                self.send(client, worker, routed);
            }
            Ok(Destination::Bind(worker, pool)) => {
                match self.bind(client, worker, pool, &mut routed) {
                    Ok(()) => self.send(client, worker, routed),
                    Err(refusal) => self.refuse(client, &routed, &refusal),
                }
            }
            Ok(Destination::Hold(session)) => self.hold_for_move(client, session, routed),
            Ok(Destination::Move(session)) => self.start_move(client, session, routed),
            Ok(Destination::Wait(pool)) => self.wait_for_worker(client, pool, routed),
            Ok(Destination::All(pool)) => self.fan_out(client, pool, routed),
            Err(refusal) => self.refuse(client, &routed, &refusal),
        }
    }

    fn destination(
        &mut self,
        client: ClientId,
        routed: &RoutedMessage<'_>,
    ) -> Result<Destination, Refusal> {
        match self.named_session(routed) {
            Some(session) => self.destination_in(client, session, routed),
            None => self.destination_without(client, routed),
        }
    }

    /// The session that a message names, if it is known.
    fn named_session(&self, routed: &RoutedMessage<'_>) -> Option<SessionKey> {
        let RoutedMessage { line, envelope, .. } = routed;
        let find = |name: Span| self.sessions.find(&name.bytes(line)?);
        find(envelope.session).or_else(|| find(envelope.top_session))
    }

    fn destination_in(
        &mut self,
        client: ClientId,
        key: SessionKey,
        routed: &RoutedMessage<'_>,
    ) -> Result<Destination, Refusal> {
        let is_request = routed.is_request();
        self.check_pool(client, key)?;
        if self.sessions.get(key).is_some_and(|session| session.owner != Some(client)) {
            self.check_owner(client, key)?;
            self.claim(client, key, is_request && routed.kind == CallKind::Load);
        }
        let Some(session) = self.sessions.get(key) else {
            return Err(Refusal::no_route("the session is gone"));
        };
        let pool = session.pool;
        // Its session can be opened at another worker while its own is stopping.
        let is_free = session.n_calls == 0
            && is_request
            && (session.load.is_some() || routed.kind == CallKind::Load);
        match session.location {
            SessionLocation::Moving { .. } => return Ok(Destination::Hold(key)),
            SessionLocation::At(worker) => {
                match self.workers.get(&worker).map(|worker| worker.stage) {
                    Some(WorkerStage::Starting | WorkerStage::Running) => {
                        return Ok(Destination::At(worker, Some(key)));
                    }
                    // Cancellations and the like must still reach the running requests.
                    Some(WorkerStage::Draining) if !is_request => {
                        return Ok(Destination::At(worker, Some(key)));
                    }
                    Some(WorkerStage::Draining | WorkerStage::Stopping) if !is_free => {
                        return Err(self.pool_refusal(pool, Refusal::draining()));
                    }
                    _ => self.detach_session(key),
                }
            }
            SessionLocation::Lost => {}
        }
        let Some(session) = self.sessions.get(key) else {
            return Err(Refusal::no_route("the session is gone"));
        };
        match routed.kind {
            CallKind::Load if is_request => match self.choose(client, pool, true) {
                WorkerChoice::Worker(worker) => Ok(Destination::Bind(worker, pool)),
                WorkerChoice::Wait => Ok(Destination::Wait(pool)),
                WorkerChoice::Refuse(refusal) => Err(refusal),
            },
            _ if is_request && session.load.is_some() => Ok(Destination::Move(key)),
            _ => {
                let lost = Refusal::session_lost(&session.name);
                Err(self.pool_refusal(pool, lost))
            }
        }
    }

    /// A client that came for one pool must not reach the sessions of another.
    fn check_pool(&self, client: ClientId, key: SessionKey) -> Result<(), Refusal> {
        let fence = self.clients.get(&client).and_then(|client| client.fixed_pool.as_ref());
        let (Some(fence), Some(session)) = (fence, self.sessions.get(key)) else { return Ok(()) };
        let pool = self.pools.get(&session.pool).map(|pool| &pool.plan.name);
        match pool == Some(fence) {
            true => Ok(()),
            false => {
                let message = format!("not found: session {} is of another pool", session.name);
                Err(Refusal::new(codes::NOT_FOUND, "session_of_another", message))
            }
        }
    }

    fn destination_without(
        &mut self,
        client: ClientId,
        routed: &RoutedMessage<'_>,
    ) -> Result<Destination, Refusal> {
        let pool = self.pool_for(client, routed)?;
        let is_waiting = self.is_waiting(client, pool);
        let home = self.clients.get(&client).and_then(|client| client.home(pool));
        let home = home.filter(|home| self.is_running(*home));
        if is_waiting {
            return Ok(Destination::Wait(pool));
        }
        if !routed.is_request() {
            let home = home.ok_or_else(|| Refusal::no_route("no worker serves this client yet"))?;
            // A session that the worker itself calls so is another one, which has an alias.
            if self.has_own_session(home, routed) {
                return Err(Refusal::no_route("no such session"));
            }
            return Ok(Destination::At(home, None));
        }
        let names_session =
            routed.envelope.session.is_some() || routed.envelope.top_session.is_some();
        let opens = names_session || routed.kind == CallKind::Open;
        if let (false, Some(home), false) = (opens, home, self.is_fan_out(pool, routed)) {
            return Ok(Destination::At(home, None));
        }
        if opens && self.sessions.len() >= self.limits.max_sessions {
            return Err(Refusal::overloaded("too many sessions"));
        }
        if opens && self.n_sessions_of(client) >= self.limits.max_sessions_per_client {
            return Err(Refusal::overloaded("this client has too many sessions"));
        }
        match self.choose(client, pool, opens) {
            WorkerChoice::Worker(_) if !names_session && self.is_fan_out(pool, routed) => {
                Ok(Destination::All(pool))
            }
            WorkerChoice::Worker(worker) if names_session => Ok(Destination::Bind(worker, pool)),
            WorkerChoice::Worker(worker) => {
                if !opens {
                    self.make_home(client, worker);
                }
                Ok(Destination::At(worker, None))
            }
            WorkerChoice::Wait => Ok(Destination::Wait(pool)),
            WorkerChoice::Refuse(refusal) => Err(refusal),
        }
    }

    /// The sessions that a client has, and the requests of it that will open one.
    fn n_sessions_of(&self, client: ClientId) -> usize {
        let Some(client) = self.clients.get(&client) else { return 0 };
        let has = client.sessions.len();
        if has + client.calls.len() < self.limits.max_sessions_per_client {
            return has;
        }
        let opens = |key: &&CallKey| {
            let call = self.workers.get(&key.worker).and_then(|worker| worker.calls.get(&key.n));
            call.is_some_and(|call| call.kind == CallKind::Open)
        };
        has + client.calls.keys().filter(opens).count()
    }

    fn has_own_session(&self, worker: WorkerId, routed: &RoutedMessage<'_>) -> bool {
        let Some(worker) = self.workers.get(&worker) else { return false };
        let RoutedMessage { line, envelope, .. } = routed;
        let mut names = [envelope.session, envelope.top_session].into_iter();
        names.any(|span| span.bytes(line).is_some_and(|name| worker.sessions.contains_key(&*name)))
    }

    fn is_fan_out(&self, pool: PoolId, routed: &RoutedMessage<'_>) -> bool {
        let method = routed.envelope.method.bytes(&routed.line).unwrap_or_default();
        self.pools.get(&pool).is_some_and(|pool| {
            let mut fan_out = pool.plan.fan_out.iter();
            !pool.is_private() && fan_out.any(|name| name.as_bytes() == &*method)
        })
    }

    pub(super) fn is_running(&self, worker: WorkerId) -> bool {
        self.workers.get(&worker).is_some_and(|worker| worker.stage == WorkerStage::Running)
    }

    pub(super) fn is_private(&self, pool: PoolId) -> bool {
        self.pools.get(&pool).is_some_and(SwitchPool::is_private)
    }

    /// In a pool where every client has a worker of its own, no other client may use its sessions.
    fn check_owner(&self, client: ClientId, key: SessionKey) -> Result<(), Refusal> {
        match self.sessions.get(key) {
            Some(session) if session.owner != Some(client) && self.is_private(session.pool) => {
                let message = format!("not found: session {} is of another client", session.name);
                let refusal = Refusal::new(codes::NOT_FOUND, "session_of_another", message);
                Err(self.pool_refusal(session.pool, refusal))
            }
            _ => Ok(()),
        }
    }

    /// The pool of a message that names no known session.
    fn pool_for(
        &mut self,
        client: ClientId,
        routed: &RoutedMessage<'_>,
    ) -> Result<PoolId, Refusal> {
        let RoutedMessage { line, envelope, .. } = routed;
        let Some(known) = self.clients.get(&client) else {
            return Err(Refusal::no_route("the client is gone"));
        };
        let said = match &known.fixed_pool {
            Some(_) => None,
            None => named_pool(line, envelope),
        };
        let name =
            known.fixed_pool.clone().or_else(|| said.clone()).or_else(|| known.chosen_pool.clone());
        if routed.kind == CallKind::Initialize
            && let (Some(said), Some(client)) = (said, self.clients.get_mut(&client))
        {
            client.chosen_pool = Some(said);
        }
        match name {
            Some(name) => self
                .pool_names
                .get(&name)
                .copied()
                .ok_or_else(|| Refusal::no_route(format!("there is no pool `{name}`"))),
            None => match self.pool_names.values().copied().collect::<Vec<_>>()[..] {
                [only] => Ok(only),
                _ => Err(Refusal::no_route(
                    "there are several pools; name one with `pool` beside `method`, or in \
                     `params._meta.switchyard.pool` of `initialize`",
                )),
            },
        }
    }

    /// Binds the names in a request to a worker.
    fn bind(
        &mut self,
        client: ClientId,
        worker_id: WorkerId,
        pool: PoolId,
        routed: &mut RoutedMessage<'_>,
    ) -> Result<(), Refusal> {
        let RoutedMessage { line, envelope, .. } = routed;
        for span in [envelope.top_session, envelope.session] {
            let Some(name) = span.text(line) else { continue };
            let Some(worker) = self.workers.get_mut(&worker_id) else { continue };
            let known = self.sessions.find(name.as_bytes());
            let own_name: Arc<str> = match known.and_then(|key| self.sessions.get(key)) {
                Some(session) if session.worker() == Some(worker_id) => {
                    routed.session = known;
                    continue;
                }
                Some(session) if matches!(session.location, SessionLocation::Lost) => {
                    session.worker_name.clone()
                }
                Some(_) => continue,
                None => (&*name).into(),
            };
            // The worker uses this name for another session, which has an alias.
            let used_for = worker.sessions.get(own_name.as_bytes());
            if used_for.is_some_and(|other| Some(*other) != known) {
                return Err(Refusal::session_lost(&name));
            }
            let key = known.unwrap_or_else(|| self.sessions.add(own_name.clone(), pool, worker_id));
            worker.sessions.insert(NameKey(own_name), key);
            if let Some(session) = self.sessions.get_mut(key) {
                session.location = SessionLocation::At(worker_id);
            }
            self.claim(client, key, true);
            self.end_grace(key);
            routed.session = Some(key);
            routed.is_first_use = true;
        }
        Ok(())
    }

    pub(super) fn pool_refusal(&self, pool: PoolId, refusal: Refusal) -> Refusal {
        match self.pools.get(&pool) {
            Some(pool) => refusal.of_pool(&pool.plan.name),
            None => refusal,
        }
    }
}

/// The pool that a message names: beside `method`, or in `params._meta`.
fn named_pool(line: &[u8], envelope: &Envelope) -> Option<Arc<str>> {
    if let Some(name) = envelope.pool.text(line) {
        return Some((*name).into());
    }
    let meta = std::str::from_utf8(envelope.meta.of(line)).ok().filter(|meta| !meta.is_empty())?;
    let meta: serde_json::Value = Json::trusted(meta).read().ok()?;
    Some(meta.get("switchyard")?.get("pool")?.as_str()?.into())
}
