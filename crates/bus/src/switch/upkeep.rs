//! Regular looks at workers: pings, memory, idleness, and requests that took too long.

use bytes::Bytes;
use wire::RpcId;

use super::client::{CallKey, CallKind};
use super::line::{Digits, cancel_request};
use super::pool::PoolId;
use super::refusal::Refusal;
use super::timers::Timer;
use super::worker::{Call, Stage};
use super::{Out, Output, Start, Switch, WorkerId};

impl Switch {
    pub(super) fn ping(&mut self, id: WorkerId, out: &mut Out) {
        let now = self.now;
        let Some(worker) = self.workers.get_mut(&id).filter(|w| w.stage == Stage::Running) else {
            return;
        };
        let Some(ping) = self.pools.get(&worker.pool).and_then(|pool| pool.plan.ping.clone())
        else {
            return;
        };
        if let Some(pinged) = worker.pinged.take()
            && worker.heard < pinged
        {
            return self.worker_stuck(id, "it does not answer a ping", out);
        }
        let due = worker.heard.after(ping.interval);
        if due > now {
            return self.set_timer(due, Timer::Ping(id));
        }
        worker.pinged = Some(now);
        worker.n_called += 1;
        worker.ping = worker.n_called;
        let n = worker.ping;
        let line = wire::request_line(&RpcId::number(n), &ping.method, "{}");
        out.push(Output::ToWorker { worker: id, line: Bytes::from(line) });
        self.set_timer(now.after(ping.timeout), Timer::Ping(id));
    }

    pub(super) fn worker_memory(&mut self, id: WorkerId, n_bytes: u64, out: &mut Out) {
        let Some(worker) = self.workers.get_mut(&id) else { return };
        worker.n_memory_bytes = n_bytes;
        let limit = self.pools.get(&worker.pool).and_then(|pool| pool.plan.max_memory_bytes);
        if worker.stage == Stage::Running && limit.is_some_and(|limit| n_bytes > limit) {
            worker.fault = Some("it used more memory than allowed");
            self.retire(id, out);
        }
    }

    pub(super) fn set_idle_timer(&mut self, id: PoolId) {
        let idle_stop = self.pools.get(&id).and_then(|pool| pool.plan.idle_stop);
        if let Some(idle_stop) = idle_stop {
            self.timers.retain(|(_, timer)| *timer != Timer::Idle(id));
            // Often enough that nobody idles for much longer than allowed.
            self.set_timer(self.now.after((idle_stop / 4).max(1)), Timer::Idle(id));
        }
    }

    pub(super) fn stop_idle(&mut self, id: PoolId, out: &mut Out) {
        let Some(pool) = self.pools.get_mut(&id) else { return };
        let Some(idle_stop) = pool.plan.idle_stop else { return };
        let (mut idle, mut n_busy) = (Vec::new(), 0);
        for worker in pool.workers().filter_map(|worker| self.workers.get(&worker)) {
            match worker.stage {
                // What keeps state for a client is not idle as long as the client is there.
                Stage::Running if pool.is_private() && worker.has_served => n_busy += 1,
                Stage::Running if worker.is_idle() && self.now.since(worker.used) >= idle_stop => {
                    idle.push(worker.id);
                }
                Stage::Running | Stage::Starting => n_busy += 1,
                Stage::Draining { .. } | Stage::Stopping => {}
            }
        }
        if n_busy == 0 && pool.waiting.is_empty() && pool.plan.start == Start::OnDemand {
            pool.is_woken = false;
        }
        let n_kept = pool.floor().saturating_sub(n_busy);
        for worker in idle.into_iter().skip(n_kept).rev() {
            self.retire(worker, out);
        }
        if self.pools.get(&id).is_some_and(|pool| pool.n_workers() > 0) {
            self.set_idle_timer(id);
        }
    }

    /// Sees to it that requests of a pool with a time limit are looked at when one is due.
    pub(super) fn set_sweep(&mut self, id: PoolId) {
        let Some(pool) = self.pools.get_mut(&id).filter(|pool| !pool.is_sweep_set) else { return };
        let Some(limit) = pool.plan.request_timeout else { return };
        pool.is_sweep_set = true;
        self.set_timer(self.now.after(limit), Timer::Sweep(id));
    }

    /// Ends requests that took too long. It comes as often as the oldest of them needs it, so
    /// that a request costs nothing for being watched.
    pub(super) fn sweep(&mut self, id: PoolId, out: &mut Out) {
        let Some(pool) = self.pools.get_mut(&id) else { return };
        pool.is_sweep_set = false;
        let Some(limit) = pool.plan.request_timeout else { return };
        let refusal = Refusal::timed_out(limit).of_pool(&pool.plan.name);
        let workers: Vec<WorkerId> = pool.workers().collect();
        self.sweep_waiting(id, limit, &refusal, out);
        for worker in &workers {
            let Some(state) = self.workers.get(worker) else { continue };
            let is_due = |call: &Call| is_watched(call) && call.came.after(limit) <= self.now;
            let mut due: Vec<u64> =
                state.calls.iter().filter(|(_, call)| is_due(call)).map(|(n, _)| *n).collect();
            due.sort_unstable();
            for n in due {
                self.counters.timed_out += 1;
                let line = cancel_request(Digits::of(n).as_bytes());
                out.push(Output::ToWorker { worker: *worker, line });
                self.time_out(CallKey { worker: *worker, n }, &refusal, out);
            }
        }
        self.set_next_sweep(id, limit, &workers);
    }

    fn time_out(&mut self, key: CallKey, refusal: &Refusal, out: &mut Out) {
        let call = self.workers.get(&key.worker).and_then(|worker| worker.calls.get(&key.n));
        let asker = call.and_then(|call| Some((call.client?, call.id.clone())));
        let refusal = refusal.clone().of_worker(key.worker);
        match asker {
            Some((client, id)) if self.leave_open(key) => {
                self.answer_refused(client, id.as_bytes(), &refusal, out);
            }
            _ => self.fail_call(key.worker, key.n, &refusal, out),
        }
    }

    fn sweep_waiting(&mut self, id: PoolId, limit: u64, refusal: &Refusal, out: &mut Out) {
        let now = self.now;
        let Some(pool) = self.pools.get_mut(&id) else { return };
        let mut due = Vec::new();
        // They wait in the order in which they came.
        while pool.waiting.front().is_some_and(|(_, parcel)| parcel.came.after(limit) <= now) {
            let Some((client, parcel)) = pool.waiting.pop_front() else { break };
            pool.n_waiting_bytes = pool.n_waiting_bytes.saturating_sub(parcel.line.len());
            due.push((client, parcel));
        }
        for (client, parcel) in due {
            if let Some(client) = self.clients.get_mut(&client) {
                client.n_waiting = client.n_waiting.saturating_sub(1);
            }
            self.counters.timed_out += 1;
            self.refuse(client, &parcel, refusal, out);
        }
    }

    fn set_next_sweep(&mut self, id: PoolId, limit: u64, workers: &[WorkerId]) {
        let Some(pool) = self.pools.get_mut(&id) else { return };
        let calls = workers.iter().filter_map(|worker| self.workers.get(worker));
        let calls = calls.flat_map(|worker| worker.calls.values());
        let calls = calls.filter(|call| is_watched(call)).map(|call| call.came);
        let oldest = calls.chain(pool.waiting.iter().map(|(_, parcel)| parcel.came)).min();
        if let Some(oldest) = oldest {
            pool.is_sweep_set = true;
            let due = oldest.after(limit).max(self.now.after(1));
            self.set_timer(due, Timer::Sweep(id));
        }
    }
}

/// Whether somebody waits for the answer.
fn is_watched(call: &Call) -> bool {
    call.client.is_some() || call.kind == CallKind::Move
}
