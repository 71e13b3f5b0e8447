//! The choice of a worker in a pool, with the start of one more where that helps.

use std::collections::BTreeSet;

use super::ids::PoolId;
use super::pool::{CircuitBreaker, PoolMode, SlotState};
use super::refusal::{Refusal, UNAVAILABLE};
use super::worker::WorkerStage;
use super::{ClientId, Sharing, Switch, WorkerId};

pub(super) enum WorkerChoice {
    Worker(WorkerId),
    /// One will run soon.
    Wait,
    Refuse(Refusal),
}

impl Switch {
    /// Chooses the least loaded worker; one that takes its input comes before one that does not.
    /// With `needs_room`, only workers that may have another session.
    pub(super) fn choose(
        &mut self,
        client: ClientId,
        id: PoolId,
        needs_room: bool,
    ) -> WorkerChoice {
        let Some(pool) = self.pools.get_mut(&id) else {
            return WorkerChoice::Refuse(Refusal::no_route("the pool is gone"));
        };
        if pool.mode != PoolMode::Serving || self.is_draining {
            return WorkerChoice::Refuse(Refusal::draining().of_pool(&pool.plan.name));
        }
        if !std::mem::replace(&mut pool.is_woken, true) {
            self.refill(id);
        }
        let Some(pool) = self.pools.get(&id) else { return WorkerChoice::Wait };
        if pool.is_private() {
            return self.choose_own(client, id, needs_room);
        }
        let max_sessions = pool.max_sessions();
        let (mut n_starting, mut n_running, mut is_all_busy, mut best) = (0, 0, true, None);
        for worker in pool.workers().filter_map(|worker| self.workers.get(&worker)) {
            match worker.stage {
                WorkerStage::Starting => n_starting += 1,
                WorkerStage::Running => {
                    n_running += 1;
                    if needs_room && worker.sessions.len() + worker.n_opening >= max_sessions {
                        continue;
                    }
                    is_all_busy &= !worker.calls.is_empty();
                    let rank = (worker.level, worker.load(), worker.slot);
                    if best.is_none_or(|(lowest, _)| rank < lowest) {
                        best = Some((rank, worker.id));
                    }
                }
                WorkerStage::Draining | WorkerStage::Stopping => {}
            }
        }
        if let Some((_, worker)) = best {
            if is_all_busy && n_starting == 0 {
                self.start_one(id, true);
            }
            return WorkerChoice::Worker(worker);
        }
        if n_starting > 0 || self.start_one(id, true) {
            return WorkerChoice::Wait;
        }
        self.choice_without_worker(id, n_running)
    }

    /// The client's own worker, or one that never had a client.
    fn choose_own(&mut self, client: ClientId, id: PoolId, needs_room: bool) -> WorkerChoice {
        let Some(pool) = self.pools.get(&id) else { return WorkerChoice::Wait };
        let home = self.clients.get(&client).and_then(|client| client.home(id));
        let (mut n_starting, mut n_running) = (0, 0);
        for worker in pool.workers().filter_map(|worker| self.workers.get(&worker)) {
            match worker.stage {
                WorkerStage::Running if home == Some(worker.id) => {
                    let is_full = worker.sessions.len() + worker.n_opening >= pool.max_sessions();
                    if needs_room && is_full {
                        let refusal = Refusal::overloaded("no more sessions are allowed");
                        return WorkerChoice::Refuse(refusal.of_pool(&pool.plan.name));
                    }
                    return WorkerChoice::Worker(worker.id);
                }
                WorkerStage::Starting => n_starting += 1,
                WorkerStage::Running => n_running += 1,
                WorkerStage::Draining | WorkerStage::Stopping => {}
            }
        }
        let is_fresh = |id: &WorkerId| {
            let worker = self.workers.get(id);
            worker.is_some_and(|worker| worker.stage == WorkerStage::Running && !worker.has_served)
        };
        if let Some(fresh) = pool.workers().find(is_fresh) {
            return WorkerChoice::Worker(fresh);
        }
        // Each waiting client needs a worker of its own.
        let mut waiting = BTreeSet::from([client]);
        waiting.extend(pool.waiting.iter().map(|(whose, _)| *whose));
        let is_started = n_starting < waiting.len() && self.start_one(id, true);
        if n_starting > 0 || is_started {
            return WorkerChoice::Wait;
        }
        self.choice_without_worker(id, n_running)
    }

    /// What a client gets for which there is no worker and none can be started now: a wait, or the
    /// refusal.
    fn choice_without_worker(&self, id: PoolId, n_running: usize) -> WorkerChoice {
        let Some(pool) = self.pools.get(&id) else { return WorkerChoice::Wait };
        let name = &pool.plan.name;
        if let CircuitBreaker::Open { until } = pool.circuit {
            let wait = until.since(self.now);
            let last = pool.last_failure.as_deref().unwrap_or("unknown");
            let message = format!(
                "pool `{name}` has failed: its workers died too often, the last because: {last}; \
                 it is tried again in {wait} ms"
            );
            let refusal = Refusal::new(UNAVAILABLE, "pool_failed", message);
            return WorkerChoice::Refuse(refusal.of_pool(name).retry_after(wait));
        }
        let is_coming = |state: &SlotState| match state {
            SlotState::Backoff { .. } => true,
            SlotState::Taken(worker) => {
                self.workers.get(worker).is_some_and(|worker| worker.stage != WorkerStage::Running)
            }
            SlotState::Vacant | SlotState::Resting | SlotState::Finished => false,
        };
        let is_any_coming = pool.usable().iter().any(|slot| is_coming(&slot.state));
        let full = match pool.plan.sharing {
            Sharing::Shared if n_running > 0 => "every worker has as many sessions as it may have",
            _ if is_any_coming => return WorkerChoice::Wait,
            Sharing::OneClient if n_running > 0 => "every worker serves another client",
            Sharing::Shared | Sharing::OneClient => {
                let message = format!("pool `{name}` has no worker left and restarts none");
                let refusal = Refusal::new(UNAVAILABLE, "no_worker", message);
                return WorkerChoice::Refuse(refusal.of_pool(name));
            }
        };
        WorkerChoice::Refuse(Refusal::overloaded(full).of_pool(name))
    }

    /// Starts a worker if a slot is free and the circuit allows it; in a resting slot only if
    /// somebody asks.
    pub(super) fn start_one(&mut self, id: PoolId, is_asked_for: bool) -> bool {
        let Some(pool) = self.pools.get(&id) else { return false };
        let may_start =
            matches!(pool.circuit, CircuitBreaker::Closed | CircuitBreaker::Probing(None));
        if !may_start || pool.mode != PoolMode::Serving || self.is_draining {
            return false;
        }
        let is_free = |state: &SlotState| match state {
            SlotState::Vacant => true,
            SlotState::Resting => is_asked_for,
            SlotState::Finished | SlotState::Backoff { .. } | SlotState::Taken(_) => false,
        };
        let Some(slot) = pool.usable().iter().position(|slot| is_free(&slot.state)) else {
            return false;
        };
        self.start_worker(id, u32::try_from(slot).unwrap_or(u32::MAX));
        true
    }
}
