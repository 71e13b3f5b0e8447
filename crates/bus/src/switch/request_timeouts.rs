//! Timeouts of requests.
//!
//! A pool has one timer for all of them, set for the one that is due first: watching a request
//! costs next to nothing.

use super::ids::{CallKey, PoolId};
use super::line_edits::cancel_request;
use super::pool::SwitchPool;
use super::refusal::Refusal;
use super::routed_message::{RoutedMessage, Timeouts};
use super::timers::Timer;
use super::worker::SwitchWorker;
use super::{ClientId, MonotonicMillis, Switch, SwitchOutput, WorkerId};

impl Switch {
    /// Has the requests of a pool looked at no later than `due`.
    pub(super) fn set_sweep(&mut self, id: PoolId, due: MonotonicMillis) {
        let due = due.max(self.now.after(1));
        let Some(pool) = self.pools.get_mut(&id) else { return };
        if pool.sweep_at.is_none_or(|at| due < at) {
            if let Some(before) = pool.sweep_at.replace(due) {
                self.timers.remove(&(before, Timer::Sweep(id)));
            }
            self.set_timer(due, Timer::Sweep(id));
        }
    }

    /// Ends the requests of a pool that took too long, with an error.
    pub(super) fn sweep(&mut self, id: PoolId) {
        let Some(pool) = self.pools.get_mut(&id) else { return };
        pool.sweep_at = None;
        let timeouts = Timeouts::new(&pool.plan);
        let workers: Vec<WorkerId> = pool.workers().collect();
        for (client, routed, limit) in self.take_overdue(id, timeouts) {
            self.counters.timed_out += 1;
            let refusal = self.pool_refusal(id, Refusal::timed_out(limit));
            self.refuse(client, &routed, &refusal);
        }
        for worker in workers {
            for (n, limit) in self.overdue(worker, timeouts) {
                self.counters.timed_out += 1;
                let line = cancel_request(n);
                self.out.push(SwitchOutput::ToWorker { worker, line });
                let refusal = self.pool_refusal(id, Refusal::timed_out(limit));
                self.time_out(CallKey { worker, n }, &refusal.of_worker(worker));
            }
        }
        self.set_next_sweep(id);
    }

    /// The requests at a worker that took too long, each with its limit.
    fn overdue(&self, worker: WorkerId, timeouts: Timeouts) -> Vec<(u64, u64)> {
        let calls = self.workers.get(&worker).into_iter().flat_map(|worker| &worker.calls);
        let mut overdue: Vec<_> = calls
            .filter_map(|(n, call)| {
                let limit = call.limit(timeouts)?;
                (call.received.after(limit) <= self.now).then_some((*n, limit))
            })
            .collect();
        overdue.sort_unstable();
        overdue
    }

    fn time_out(&mut self, key: CallKey, refusal: &Refusal) {
        let call = self.workers.get(&key.worker).and_then(|worker| worker.calls.get(&key.n));
        let asker = call.and_then(|call| Some((call.client?, call.id.clone())));
        match asker {
            Some((client, id)) if self.leave_open(key) => {
                self.answer_refused(client, id.as_bytes(), refusal);
            }
            _ => self.fail_call(key.worker, key.n, refusal),
        }
    }

    /// Takes out the requests that have waited too long for a worker to start, each with its limit.
    fn take_overdue(
        &mut self,
        id: PoolId,
        timeouts: Timeouts,
    ) -> Vec<(ClientId, RoutedMessage<'static>, u64)> {
        let now = self.now;
        let Some(pool) = self.pools.get_mut(&id) else { return Vec::new() };
        let (mut overdue, mut n_bytes) = (Vec::new(), 0);
        for (client, routed) in std::mem::take(&mut pool.waiting) {
            match timeouts.of_message(&routed) {
                Some(limit) if routed.received.after(limit) <= now => {
                    if let Some(client) = self.clients.get_mut(&client) {
                        client.n_waiting = client.n_waiting.saturating_sub(1);
                    }
                    overdue.push((client, routed, limit));
                }
                _ => {
                    n_bytes += routed.line.len();
                    pool.waiting.push_back((client, routed));
                }
            }
        }
        pool.n_waiting_bytes = n_bytes;
        overdue
    }

    /// Sets the timer for the request that is due first.
    pub(super) fn set_next_sweep(&mut self, id: PoolId) {
        let Some(pool) = self.pools.get(&id) else { return };
        if let Some(due) = self.next_due(pool) {
            self.set_sweep(id, due);
        }
    }

    pub(super) fn next_due(&self, pool: &SwitchPool) -> Option<MonotonicMillis> {
        let timeouts = Timeouts::new(&pool.plan);
        let calls_of =
            |worker: WorkerId| self.workers.get(&worker).map(|SwitchWorker { calls, .. }| calls);
        let calls = pool.workers().filter_map(calls_of).flat_map(|calls| calls.values());
        let calls = calls.filter_map(|call| Some(call.received.after(call.limit(timeouts)?)));
        let waiting = pool.waiting.iter().map(|(_, routed)| routed);
        let waiting =
            waiting.filter_map(|routed| Some(routed.received.after(timeouts.of_message(routed)?)));
        calls.chain(waiting).min()
    }
}
