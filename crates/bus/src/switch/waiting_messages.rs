//! Messages that wait for a worker to start.
//!
//! They wait in the order in which they came, and later messages of their client wait behind them.
//! They are routed again when a worker runs, when there is room, and when it is certain that none
//! will come.

use std::collections::VecDeque;

use super::ids::PoolId;
use super::refusal::Refusal;
use super::routed_message::{CallKind, RoutedMessage, Timeouts};
use super::session::SessionLocation;
use super::{ClientId, Switch};

impl Switch {
    pub(super) fn wait_for_worker(
        &mut self,
        client: ClientId,
        id: PoolId,
        routed: RoutedMessage<'_>,
    ) {
        let max_bytes = self.limits.worker_queue.full;
        let Some(pool) = self.pools.get_mut(&id) else {
            return self.refuse(client, &routed, &Refusal::no_route("the pool is gone"));
        };
        if pool.n_waiting_bytes + routed.line.len() > max_bytes {
            let refusal = Refusal::overloaded("too much waits for a worker to start");
            let refusal = refusal.of_pool(&pool.plan.name);
            return self.refuse(client, &routed, &refusal);
        }
        let Some(known) = self.clients.get_mut(&client) else { return };
        known.n_waiting += 1;
        let limit = Timeouts::new(&pool.plan).of_message(&routed);
        let due = limit.map(|limit| routed.received.after(limit));
        pool.n_waiting_bytes += routed.line.len();
        pool.waiting.push_back((client, routed.detached()));
        if let Some(due) = due {
            self.set_sweep(id, due);
        }
    }

    /// Whether a message of a client waits for a worker of the pool.
    pub(super) fn is_waiting(&self, client: ClientId, id: PoolId) -> bool {
        self.clients.get(&client).is_some_and(|client| client.n_waiting > 0)
            // Searched from the end: what came last is the most likely.
            && self.pools.get(&id).is_some_and(|pool| {
                pool.waiting.iter().rev().any(|(waiting, _)| *waiting == client)
            })
    }

    /// Routes the waiting messages again, of pools for which something has changed.
    pub(super) fn retry_waiting(&mut self) {
        while let Some(id) = self.retries.pop() {
            for (client, routed) in self.take_waiting(id) {
                if self.clients.contains_key(&client) {
                    self.route(client, routed);
                }
            }
        }
    }

    pub(super) fn refuse_waiting(&mut self, id: PoolId, refusal: &Refusal) {
        for (client, routed) in self.take_waiting(id) {
            self.refuse(client, &routed, refusal);
        }
    }

    fn take_waiting(&mut self, id: PoolId) -> VecDeque<(ClientId, RoutedMessage<'static>)> {
        let Some(pool) = self.pools.get_mut(&id) else { return VecDeque::new() };
        pool.n_waiting_bytes = 0;
        let waiting = std::mem::take(&mut pool.waiting);
        for (client, _) in &waiting {
            if let Some(client) = self.clients.get_mut(client) {
                client.n_waiting = client.n_waiting.saturating_sub(1);
            }
        }
        waiting
    }

    /// Removes the waiting messages of a client that left.
    pub(super) fn drop_waiting(&mut self, client: ClientId) {
        for pool in self.pools.values_mut() {
            pool.waiting.retain(|(whose, _)| *whose != client);
            pool.n_waiting_bytes = pool.waiting.iter().map(|(_, routed)| routed.line.len()).sum();
        }
    }

    /// Answers a request that has not yet reached a worker as cancelled. Returns whether there was
    /// one.
    pub(super) fn withdraw(&mut self, client: ClientId, raw_id: &[u8]) -> bool {
        let Some(routed) = self.find_unsent(client, raw_id) else { return false };
        self.refuse(client, &routed, &Refusal::cancelled());
        true
    }

    fn find_unsent(&mut self, id: ClientId, raw_id: &[u8]) -> Option<RoutedMessage<'static>> {
        let is_it = |routed: &RoutedMessage<'_>| routed.is_clients() && routed.raw_id() == raw_id;
        let client = self.clients.get_mut(&id)?;
        for link in &mut client.links {
            if let Some(at) = link.held.iter().position(is_it) {
                let routed = link.held.remove(at)?;
                client.release([&routed]);
                return Some(routed);
            }
        }
        for pool in self.pools.values_mut() {
            let place =
                pool.waiting.iter().position(|(whose, routed)| *whose == id && is_it(routed));
            if let Some(at) = place {
                let (_, routed) = pool.waiting.remove(at)?;
                pool.n_waiting_bytes = pool.n_waiting_bytes.saturating_sub(routed.line.len());
                client.n_waiting = client.n_waiting.saturating_sub(1);
                return Some(routed);
            }
        }
        // Held messages may be at sessions of others too; but most clients have none held.
        let sessions = (client.n_held_bytes > 0).then(|| self.sessions.iter_mut());
        for session in sessions.into_iter().flatten() {
            let SessionLocation::Moving { held, .. } = &mut session.location else { continue };
            if let Some(at) = held.iter().position(|(whose, routed)| *whose == id && is_it(routed))
            {
                let (_, routed) = held.remove(at)?;
                client.release([&routed]);
                return Some(routed);
            }
        }
        None
    }

    /// Ends a message that goes nowhere: the fan-out, the move or the client gets the refusal.
    pub(super) fn refuse(
        &mut self,
        client: ClientId,
        routed: &RoutedMessage<'_>,
        refusal: &Refusal,
    ) {
        if !routed.is_clients() {
            self.maybe_done(client);
        }
        match routed.kind {
            _ if !routed.is_request() => self.counters.undelivered += 1,
            CallKind::Fan(fan, part) => self.fan_refused(fan, part, refusal),
            CallKind::Move => {
                if let Some(session) = routed.session {
                    self.move_failed(session, refusal);
                }
            }
            _ => {
                if routed.is_first_use
                    && let Some(session) = routed.session
                {
                    self.forget_unused(session);
                }
                self.answer_refused(client, routed.raw_id(), refusal);
            }
        }
    }
}
