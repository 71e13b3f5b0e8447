//! The commands to drain, recover and restart pools, and the reload of the plan.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::ids::PoolId;
use super::pool::{CircuitBreaker, PoolMode, SlotState};
use super::refusal::Refusal;
use super::routed_message::Timeouts;
use super::timers::Timer;
use super::worker::WorkerStage;
use super::{BusCommand, PoolPlan, Sharing, Switch, SwitchPlan, WorkerId};

impl Switch {
    pub(super) fn command(&mut self, command: BusCommand) {
        match command {
            BusCommand::DrainAll => {
                self.is_draining = true;
                for pool in self.pools.keys().copied().collect::<Vec<_>>() {
                    self.drain_pool(pool, PoolMode::Stopped);
                }
            }
            BusCommand::DrainPool(name) => {
                self.with_pool(&name, |switch, pool| switch.drain_pool(pool, PoolMode::Stopped));
            }
            BusCommand::RecoverPool(name) => self.with_pool(&name, Self::recover_pool),
            BusCommand::RestartPool(name) => self.with_pool(&name, Self::replace_all),
        }
    }

    fn with_pool(&mut self, name: &Arc<str>, act: impl FnOnce(&mut Self, PoolId)) {
        if let Some(pool) = self.pool_names.get(name).copied() {
            act(self, pool);
        }
    }

    fn drain_pool(&mut self, id: PoolId, mode: PoolMode) {
        let Some(pool) = self.pools.get_mut(&id) else { return };
        if pool.mode != PoolMode::Removed {
            pool.mode = mode;
        }
        pool.vacate(|state| !matches!(state, SlotState::Taken(_)));
        let workers: Vec<WorkerId> = pool.workers().collect();
        let refusal = Refusal::draining().of_pool(&pool.plan.name);
        self.refuse_waiting(id, &refusal);
        for worker in workers {
            self.retire(worker);
        }
    }

    fn recover_pool(&mut self, id: PoolId) {
        let Some(pool) = self.pools.get_mut(&id) else { return };
        pool.mode = PoolMode::Serving;
        pool.circuit = CircuitBreaker::Closed;
        pool.deaths.clear();
        pool.vacate(|state| !matches!(state, SlotState::Taken(_)));
        for slot in &mut pool.slots {
            slot.n_failures = 0;
        }
        self.refill(id);
    }

    /// Replaces the workers of a pool, one after the other.
    fn replace_all(&mut self, id: PoolId) {
        let Some(pool) = self.pools.get_mut(&id) else { return };
        pool.replacing = pool.workers().collect();
        pool.vacate(|state| matches!(state, SlotState::Finished | SlotState::Resting));
        self.refill(id);
        self.replace_next(id);
    }

    /// Retires the next worker that is to be replaced, unless another one is stopping or starting.
    pub(super) fn replace_next(&mut self, id: PoolId) {
        loop {
            let Some(pool) = self.pools.get_mut(&id) else { return };
            if pool.replacing.is_empty() {
                return;
            }
            let is_changing = pool.slots.iter().any(|slot| match slot.state {
                SlotState::Taken(worker) => self
                    .workers
                    .get(&worker)
                    .is_some_and(|worker| worker.stage != WorkerStage::Running),
                SlotState::Backoff { .. } => true,
                SlotState::Vacant | SlotState::Resting | SlotState::Finished => false,
            });
            if is_changing {
                return;
            }
            let Some(next) = pool.replacing.pop_front() else { return };
            self.retire(next);
        }
    }

    /// Changes the pools to those of a new plan; pools that are equal in both are not touched.
    pub(super) fn new_plan(&mut self, plan: SwitchPlan) {
        if plan.check().is_err() || self.is_draining {
            return;
        }
        self.limits = plan.limits;
        let mut wanted: BTreeMap<Arc<str>, PoolPlan> =
            plan.pools.into_iter().map(|pool| (pool.name.clone(), pool)).collect();
        for (name, id) in self.pool_names.clone() {
            match wanted.remove(&name) {
                Some(plan) => self.change_pool(id, plan),
                None => {
                    self.pool_names.remove(&name);
                    self.drain_pool(id, PoolMode::Removed);
                    self.pool_shrank(id);
                }
            }
        }
        for plan in wanted.into_values() {
            let id = self.add_pool(plan);
            self.refill(id);
        }
    }

    fn change_pool(&mut self, id: PoolId, plan: PoolPlan) {
        let Some(pool) = self.pools.get_mut(&id) else { return };
        if pool.plan == plan {
            return;
        }
        let old = std::mem::replace(&mut pool.plan, plan);
        let plan = pool.plan.clone();
        pool.resize();
        let too_many: Vec<WorkerId> = pool.workers_from(plan.max).collect();
        let workers: Vec<WorkerId> = pool.workers().collect();
        for worker in workers {
            if let Some(worker) = self.workers.get_mut(&worker) {
                worker.timeouts = Timeouts::new(&plan);
            }
            if let Some(ping) = plan.ping.as_ref().filter(|_| old.ping.is_none()) {
                self.set_timer(self.now.after(ping.interval), Timer::Ping(worker));
            }
        }
        self.set_idle_timer(id);
        self.set_next_sweep(id);
        for worker in too_many {
            self.retire(worker);
        }
        // Workers that have served several clients must not go on with only one of them.
        let is_shared_no_more = old.sharing != plan.sharing && plan.sharing == Sharing::OneClient;
        if old.launch == plan.launch && !is_shared_no_more {
            self.refill(id);
        } else {
            self.replace_all(id);
        }
    }
}
