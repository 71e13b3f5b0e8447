//! Timers, and the regular checks of workers: pings, memory and idleness.
//!
//! A timer is only a reason to look: its handler checks whether anything is really due, so an old
//! entry does no harm.

use bytes::Bytes;
use wire::RpcId;

use super::ids::{PoolId, SessionKey};
use super::pool::{CircuitBreaker, SlotState, SwitchPool};
use super::worker::WorkerStage;
use super::{ClientId, MonotonicMillis, StartPolicy, Switch, SwitchOutput, WorkerId};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Timer {
    /// Backoffs of the pool's slots, or its first start.
    Refill(PoolId),
    /// The end of a failed pool's cool-down.
    Circuit(PoolId),
    /// Timeouts of requests.
    Sweep(PoolId),
    /// Workers with nothing to do.
    Idle(PoolId),
    /// The worker has lived long enough to count as well started.
    Stable(WorkerId),
    Ping(WorkerId),
    Drain(WorkerId),
    Grace(SessionKey),
    SlowClient(ClientId),
    /// The wait is over for a client that has ended its input.
    Finish(ClientId),
}

impl Switch {
    pub(super) fn set_timer(&mut self, at: MonotonicMillis, timer: Timer) {
        self.timers.insert((at, timer));
    }

    pub(super) fn time_passed(&mut self) {
        // A timer that is set meanwhile and due at once waits for the next call: no endless loop.
        let later = self.timers.split_off(&(self.now.after(1), Timer::Refill(PoolId(0))));
        let due = std::mem::replace(&mut self.timers, later);
        for (_, timer) in due {
            self.fire(timer);
        }
    }

    fn fire(&mut self, timer: Timer) {
        match timer {
            Timer::Refill(pool) => self.backoff_ended(pool),
            Timer::Circuit(pool) => self.cool_down_ended(pool),
            Timer::Sweep(pool) => self.sweep(pool),
            Timer::Idle(pool) => self.stop_idle(pool),
            Timer::Stable(worker) => self.worker_proved(worker),
            Timer::Ping(worker) => self.ping(worker),
            Timer::Drain(worker) => self.drain_timed_out(worker),
            Timer::Grace(session) => self.grace_ended(session),
            Timer::SlowClient(client) => self.slow_client(client),
            Timer::Finish(client) => self.finish_timed_out(client),
        }
    }

    fn backoff_ended(&mut self, id: PoolId) {
        let now = self.now;
        let Some(pool) = self.pools.get_mut(&id) else { return };
        pool.vacate(|state| matches!(*state, SlotState::Backoff { until } if until <= now));
        self.refill(id);
    }

    fn cool_down_ended(&mut self, id: PoolId) {
        let now = self.now;
        let is_over = |pool: &SwitchPool| matches!(pool.circuit, CircuitBreaker::Open { until } if until <= now);
        let Some(pool) = self.pools.get_mut(&id).filter(|pool| is_over(pool)) else { return };
        pool.circuit = CircuitBreaker::Probing(None);
        pool.vacate(|state| matches!(state, SlotState::Backoff { .. }));
        self.refill(id);
    }

    pub(super) fn ping(&mut self, id: WorkerId) {
        let now = self.now;
        let Some(worker) = self.workers.get_mut(&id).filter(|w| w.stage == WorkerStage::Running)
        else {
            return;
        };
        let Some(ping) = self.pools.get(&worker.pool).and_then(|pool| pool.plan.ping.clone())
        else {
            return;
        };
        if let Some(pinged) = worker.pinged.take()
            && worker.last_heard < pinged
        {
            return self.worker_stuck(id, "it does not answer a ping");
        }
        let due = worker.last_heard.after(ping.interval);
        if due > now {
            return self.set_timer(due, Timer::Ping(id));
        }
        worker.pinged = Some(now);
        worker.n_called += 1;
        worker.ping = worker.n_called;
        let n = worker.ping;
        let line = wire::request_line(&RpcId::number(n), &ping.method, "{}");
        self.out.push(SwitchOutput::ToWorker { worker: id, line: Bytes::from(line) });
        self.set_timer(now.after(ping.timeout), Timer::Ping(id));
    }

    pub(super) fn worker_memory(&mut self, id: WorkerId, n_bytes: u64) {
        let Some(worker) = self.workers.get_mut(&id) else { return };
        worker.n_memory_bytes = n_bytes;
        let limit = self.pools.get(&worker.pool).and_then(|pool| pool.plan.max_memory_bytes);
        if worker.stage == WorkerStage::Running && limit.is_some_and(|limit| n_bytes > limit) {
            worker.fault = Some("it used more memory than allowed");
            self.retire(id);
        }
    }

    pub(super) fn set_idle_timer(&mut self, id: PoolId) {
        let idle_stop = self.pools.get(&id).and_then(|pool| pool.plan.idle_stop);
        if let Some(idle_stop) = idle_stop {
            self.timers.retain(|(_, timer)| *timer != Timer::Idle(id));
            // Often enough that no worker idles for much longer than allowed.
            self.set_timer(self.now.after((idle_stop / 4).max(1)), Timer::Idle(id));
        }
    }

    pub(super) fn stop_idle(&mut self, id: PoolId) {
        let Some(pool) = self.pools.get_mut(&id) else { return };
        let Some(idle_stop) = pool.plan.idle_stop else { return };
        let (mut idle, mut n_busy) = (Vec::new(), 0);
        for worker in pool.workers().filter_map(|worker| self.workers.get(&worker)) {
            match worker.stage {
                // A worker that keeps state for a client is not idle as long as the client is
                // there.
                WorkerStage::Running if pool.is_private() && worker.has_served => n_busy += 1,
                WorkerStage::Running
                    if worker.is_idle() && self.now.since(worker.last_used) >= idle_stop =>
                {
                    idle.push(worker.id);
                }
                WorkerStage::Running | WorkerStage::Starting => n_busy += 1,
                WorkerStage::Draining | WorkerStage::Stopping => {}
            }
        }
        if n_busy == 0 && pool.waiting.is_empty() && pool.plan.start == StartPolicy::OnDemand {
            pool.is_woken = false;
        }
        let n_kept = pool.floor().saturating_sub(n_busy);
        for worker in idle.into_iter().skip(n_kept).rev() {
            self.retire(worker);
        }
        if self.pools.get(&id).is_some_and(|pool| pool.n_workers() > 0) {
            self.set_idle_timer(id);
        }
    }
}
