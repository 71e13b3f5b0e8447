//! The life of workers: starts, ends, backoff and the circuit breaker of a pool.
//!
//! A worker that dies is started again after a delay that doubles with each death in a row, more or
//! less by the jitter. Too many deaths in the window open the circuit: nothing is started and
//! whoever needs a worker gets an error, until the cool-down is over and one worker proves itself
//! by an answer or by living long enough.

use super::hash::NameMap;
use super::ids::PoolId;
use super::pool::{CircuitBreaker, PoolMode, SlotState, SwitchPool};
use super::refusal::Refusal;
use super::routed_message::Timeouts;
use super::timers::Timer;
use super::worker::{SwitchWorker, WorkerStage};
use super::{MonotonicMillis, PoolPlan, RestartPolicy, StopHow, Switch, SwitchOutput, WorkerId};

impl Switch {
    pub(super) fn add_pool(&mut self, plan: PoolPlan) -> PoolId {
        self.n_pools += 1;
        let id = PoolId(self.n_pools);
        self.pool_names.insert(plan.name.clone(), id);
        self.pools.insert(id, SwitchPool::new(plan));
        id
    }

    pub(super) fn start_worker(&mut self, id: PoolId, slot: u32) {
        let Some(pool) = self.pools.get_mut(&id) else { return };
        self.n_workers += 1;
        let worker = WorkerId(self.n_workers);
        if let Some(slot) = pool.slot(slot) {
            slot.state = SlotState::Taken(worker);
        }
        if pool.circuit == CircuitBreaker::Probing(None) {
            pool.circuit = CircuitBreaker::Probing(Some(worker));
        }
        self.counters.worker_starts += 1;
        self.out.push(SwitchOutput::StartWorker { worker, pool: pool.plan.name.clone(), slot });
        let state = SwitchWorker {
            id: worker,
            pool: id,
            slot,
            timeouts: Timeouts::new(&pool.plan),
            sessions: NameMap::with_hasher(self.names),
            started: self.now,
            last_heard: self.now,
            last_used: self.now,
            ..SwitchWorker::default()
        };
        self.workers.insert(worker, state);
    }

    pub(super) fn worker_runs(&mut self, id: WorkerId) {
        let now = self.now;
        let Some(worker) = self.workers.get_mut(&id).filter(|w| w.stage == WorkerStage::Starting)
        else {
            return;
        };
        worker.stage = WorkerStage::Running;
        (worker.started, worker.last_heard, worker.last_used) = (now, now, now);
        let pool_id = worker.pool;
        let Some(pool) = self.pools.get(&pool_id) else { return };
        let stable = now.after(pool.plan.backoff.max);
        let ping = pool.plan.ping.as_ref().map(|ping| now.after(ping.interval));
        self.set_timer(stable, Timer::Stable(id));
        if let Some(ping) = ping {
            self.set_timer(ping, Timer::Ping(id));
        }
        self.set_idle_timer(pool_id);
        self.retries.push(pool_id);
        self.replace_next(pool_id);
    }

    /// The worker has answered or lived for long: closes the circuit of a pool that was probing it.
    pub(super) fn worker_proved(&mut self, id: WorkerId) {
        let Some(worker) = self.workers.get_mut(&id) else { return };
        worker.is_proved = true;
        let (pool_id, slot) = (worker.pool, worker.slot);
        let is_old = self.now.since(worker.started);
        let Some(pool) = self.pools.get_mut(&pool_id) else { return };
        let has_lasted = is_old >= pool.plan.backoff.max;
        if has_lasted && let Some(slot) = pool.slot(slot) {
            slot.n_failures = 0;
        }
        if pool.circuit == CircuitBreaker::Probing(Some(id)) {
            pool.circuit = CircuitBreaker::Closed;
            pool.deaths.clear();
            self.refill(pool_id);
        }
    }

    pub(super) fn worker_gone(&mut self, id: WorkerId, is_success: bool, status: &str) {
        let Some(worker) = self.workers.get(&id) else { return };
        let (pool_id, slot, is_retired) = (worker.pool, worker.slot, worker.is_retired);
        let fault = worker.fault;
        let why = fault.map_or_else(|| status.to_owned(), |fault| format!("{fault} ({status})"));
        self.lose_worker(id, &why);
        let Some(pool) = self.pools.get_mut(&pool_id) else { return };
        pool.replacing.retain(|other| *other != id);
        let was_probe = pool.circuit == CircuitBreaker::Probing(Some(id));
        if was_probe {
            pool.circuit = CircuitBreaker::Probing(None);
        }
        if let Some(slot) = pool.slot(slot) {
            slot.state = SlotState::Vacant;
        }
        if !is_retired {
            self.counters.worker_deaths += 1;
            self.after_death(pool_id, slot, is_success && fault.is_none(), was_probe, &why);
        }
        self.pool_shrank(pool_id);
    }

    /// Fills the slot of a worker that has ended, or removes the pool if it was the last of one to
    /// be removed.
    pub(super) fn pool_shrank(&mut self, id: PoolId) {
        let Some(pool) = self.pools.get_mut(&id) else { return };
        pool.resize();
        if pool.mode == PoolMode::Removed && pool.n_workers() == 0 {
            self.refuse_waiting(id, &Refusal::no_route("the pool was removed"));
            self.pools.remove(&id);
            return;
        }
        self.refill(id);
        self.replace_next(id);
    }

    fn after_death(&mut self, id: PoolId, slot: u32, is_success: bool, was_probe: bool, why: &str) {
        let now = self.now;
        let Some(pool) = self.pools.get_mut(&id) else { return };
        pool.last_failure = Some(why.to_owned());
        let (backoff, intensity) = (pool.plan.backoff, pool.plan.intensity);
        let rests = match (pool.plan.restart, is_success) {
            (RestartPolicy::Never, _) => Some(SlotState::Finished),
            (RestartPolicy::OnFailure, true) => Some(SlotState::Resting),
            (RestartPolicy::OnFailure, false) | (RestartPolicy::Always, _) => None,
        };
        let Some(place) = pool.slot(slot) else { return };
        if let Some(state) = rests {
            place.state = state;
            return;
        }
        place.n_failures = place.n_failures.saturating_add(1);
        let n_doublings = (place.n_failures - 1).min(32);
        let delay = backoff.initial.saturating_mul(1 << n_doublings).min(backoff.max);
        let until = now.after(self.jitter.apply(delay, backoff.jitter_percent));
        place.state = SlotState::Backoff { until };
        pool.deaths.push_back(now);
        while pool.deaths.front().is_some_and(|death| now.since(*death) > intensity.window) {
            pool.deaths.pop_front();
        }
        if was_probe || pool.deaths.len() > intensity.n_deaths as usize {
            self.fail_pool(id, now.after(intensity.cool_down));
        } else {
            self.set_timer(until, Timer::Refill(id));
        }
    }

    fn fail_pool(&mut self, id: PoolId, until: MonotonicMillis) {
        let Some(pool) = self.pools.get_mut(&id) else { return };
        pool.circuit = CircuitBreaker::Open { until };
        pool.deaths.clear();
        pool.vacate(|state| matches!(state, SlotState::Backoff { .. }));
        self.counters.pool_failures += 1;
        self.set_timer(until, Timer::Circuit(id));
        // Waiting messages are refused, unless another worker of the pool still runs.
        self.retries.push(id);
    }

    /// Starts workers up to the number that the pool is to keep.
    pub(super) fn refill(&mut self, id: PoolId) {
        loop {
            let Some(pool) = self.pools.get(&id) else { return };
            let n_seats =
                pool.usable().iter().filter(|slot| slot.state != SlotState::Vacant).count();
            let n_wanted = pool.floor().max(usize::from(!pool.waiting.is_empty()));
            if n_seats >= n_wanted || !self.start_one(id, false) {
                break;
            }
        }
        if self.pools.get(&id).is_some_and(|pool| !pool.waiting.is_empty()) {
            self.retries.push(id);
        }
    }

    /// Lets a worker end its requests, then stops it; this does not count as its failure.
    pub(super) fn retire(&mut self, id: WorkerId) {
        let Some(worker) = self.workers.get_mut(&id) else { return };
        worker.is_retired = worker.fault.is_none();
        match worker.stage {
            WorkerStage::Starting => self.stop(id, StopHow::AtOnce),
            WorkerStage::Running => {
                let timeout = self.pools.get(&worker.pool).map_or(0, |p| p.plan.drain_timeout);
                let until = self.now.after(timeout);
                (worker.stage, worker.drains_until) = (WorkerStage::Draining, Some(until));
                self.set_timer(until, Timer::Drain(id));
                self.stop_if_drained(id);
            }
            WorkerStage::Draining | WorkerStage::Stopping => {}
        }
    }

    pub(super) fn stop_if_drained(&mut self, id: WorkerId) {
        let Some(worker) = self.workers.get(&id) else { return };
        if worker.stage == WorkerStage::Draining && worker.calls.is_empty() {
            self.stop(id, StopHow::Gently);
        }
    }

    pub(super) fn drain_timed_out(&mut self, id: WorkerId) {
        let Some(worker) = self.workers.get(&id) else { return };
        let is_over = worker.drains_until.is_some_and(|until| until <= self.now);
        if worker.stage != WorkerStage::Draining || !is_over {
            return;
        }
        let refusal = Refusal::worker_lost("it is stopped and its time to drain is over");
        let refusal = self.pool_refusal(worker.pool, refusal.of_worker(id));
        self.stop(id, StopHow::Gently);
        self.fail_calls(id, &refusal);
    }

    /// Gives nothing new to a worker that has closed its output. Its open requests fail with its
    /// exit, which also says why, or through the event loop, which does not wait long for that.
    pub(super) fn worker_mute(&mut self, id: WorkerId) {
        let Some(worker) = self.workers.get_mut(&id).filter(|w| w.stage == WorkerStage::Running)
        else {
            return;
        };
        worker.stage = WorkerStage::Draining;
        self.retries.push(worker.pool);
    }

    /// Kills a worker that does not work as it should.
    pub(super) fn worker_stuck(&mut self, id: WorkerId, fault: &'static str) {
        let Some(worker) = self.workers.get_mut(&id).filter(|w| w.stage != WorkerStage::Stopping)
        else {
            return;
        };
        worker.fault.get_or_insert(fault);
        let pool = worker.pool;
        let refusal = self.pool_refusal(pool, Refusal::worker_lost(fault).of_worker(id));
        self.stop(id, StopHow::AtOnce);
        self.fail_calls(id, &refusal);
    }

    fn stop(&mut self, id: WorkerId, how: StopHow) {
        let Some(worker) = self.workers.get_mut(&id) else { return };
        worker.stage = WorkerStage::Stopping;
        self.out.push(SwitchOutput::StopWorker { worker: id, how });
        // Nothing is written to it any more, so no client is paused for it.
        for client in std::mem::take(&mut worker.pausing) {
            self.end_pause_for(client, id);
        }
    }
}
