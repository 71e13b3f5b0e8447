//! Messages that wait for a worker to start.
//!
//! They wait in the order in which they came, and later messages of their client wait behind them.
//! They are routed again when a worker runs, when there is room, and when it is certain that none
//! will come.

use std::collections::VecDeque;

use super::ids::PoolId;
use super::refusal::Refusal;
use super::routed_message::{CallKind, RoutedMessage};
use super::session::SessionLocation;
use super::timeouts::Timeouts;
use super::{ClientId, Switch};

impl Switch {
    pub(super) fn wait_for_worker(
        &mut self,
        client: ClientId,
        id: PoolId,
        parcel: RoutedMessage<'_>,
    ) {
        let max_bytes = self.limits.worker_queue.full;
        let Some(pool) = self.pools.get_mut(&id) else {
            return self.refuse(client, &parcel, &Refusal::no_route("the pool is gone"));
        };
        if pool.n_waiting_bytes + parcel.line.len() > max_bytes {
            let refusal = Refusal::overloaded("too much waits for a worker to start");
            let refusal = refusal.of_pool(&pool.plan.name);
            return self.refuse(client, &parcel, &refusal);
        }
        let Some(known) = self.clients.get_mut(&client) else { return };
        known.n_waiting += 1;
        let limit = Timeouts::new(&pool.plan).of_parcel(&parcel);
        let due = limit.map(|limit| parcel.received.after(limit));
        pool.n_waiting_bytes += parcel.line.len();
        pool.waiting.push_back((client, parcel.detached()));
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
            for (client, parcel) in self.take_waiting(id) {
                if self.clients.contains_key(&client) {
                    self.route(client, parcel);
                }
            }
        }
    }

    pub(super) fn refuse_waiting(&mut self, id: PoolId, refusal: &Refusal) {
        for (client, parcel) in self.take_waiting(id) {
            self.refuse(client, &parcel, refusal);
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
            pool.n_waiting_bytes = pool.waiting.iter().map(|(_, parcel)| parcel.line.len()).sum();
        }
    }

    /// Answers a request that has not yet reached a worker as cancelled. Returns whether there was
    /// one.
    pub(super) fn withdraw(&mut self, client: ClientId, raw_id: &[u8]) -> bool {
        let Some(parcel) = self.find_unsent(client, raw_id) else { return false };
        self.refuse(client, &parcel, &Refusal::cancelled());
        true
    }

    fn find_unsent(&mut self, id: ClientId, raw_id: &[u8]) -> Option<RoutedMessage<'static>> {
        let is_it = |parcel: &RoutedMessage<'_>| parcel.is_clients() && parcel.raw_id() == raw_id;
        let client = self.clients.get_mut(&id)?;
        for link in &mut client.links {
            if let Some(at) = link.held.iter().position(is_it) {
                let parcel = link.held.remove(at)?;
                client.release([&parcel]);
                return Some(parcel);
            }
        }
        for pool in self.pools.values_mut() {
            let place =
                pool.waiting.iter().position(|(whose, parcel)| *whose == id && is_it(parcel));
            if let Some(at) = place {
                let (_, parcel) = pool.waiting.remove(at)?;
                pool.n_waiting_bytes = pool.n_waiting_bytes.saturating_sub(parcel.line.len());
                client.n_waiting = client.n_waiting.saturating_sub(1);
                return Some(parcel);
            }
        }
        // Held messages may be at sessions of others too; but most clients have none held.
        let sessions = (client.n_held_bytes > 0).then(|| self.sessions.iter_mut());
        for session in sessions.into_iter().flatten() {
            let SessionLocation::Moving { held, .. } = &mut session.location else { continue };
            if let Some(at) = held.iter().position(|(whose, parcel)| *whose == id && is_it(parcel))
            {
                let (_, parcel) = held.remove(at)?;
                client.release([&parcel]);
                return Some(parcel);
            }
        }
        None
    }

    /// Ends a message that goes nowhere: the fan-out, the move or the client gets the refusal.
    pub(super) fn refuse(
        &mut self,
        client: ClientId,
        parcel: &RoutedMessage<'_>,
        refusal: &Refusal,
    ) {
        if !parcel.is_clients() {
            self.maybe_done(client);
        }
        match parcel.kind {
            _ if !parcel.is_request() => self.counters.undelivered += 1,
            CallKind::Fan(fan, part) => self.fan_refused(fan, part, refusal),
            CallKind::Move => {
                if let Some(session) = parcel.session {
                    self.move_failed(session, refusal);
                }
            }
            _ => {
                if parcel.is_first_use
                    && let Some(session) = parcel.session
                {
                    self.forget_unused(session);
                }
                self.answer_refused(client, parcel.raw_id(), refusal);
            }
        }
    }
}
