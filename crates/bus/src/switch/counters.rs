//! The counters of the switch, and its status.

use std::sync::Arc;

use serde::Serialize;

use super::pool::{CircuitBreaker, PoolMode, SwitchPool};
use super::worker::WorkerStage;
use super::{MonotonicMillis, Switch, WorkerId};

/// Totals since the start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Counters {
    pub lines_from_clients: u64,
    pub lines_from_workers: u64,
    pub bytes_from_clients: u64,
    pub bytes_from_workers: u64,
    /// Requests of clients that were taken, and how they ended: each ends exactly once, or
    /// its client left first.
    pub requests: u64,
    pub answered_by_workers: u64,
    pub answered_by_switch: u64,
    pub abandoned: u64,
    pub timed_out: u64,
    /// Requests of workers that reached a client.
    pub asked_by_workers: u64,
    /// Notifications that had nowhere to go.
    pub undelivered: u64,
    /// Responses that match no open request: late, doubled or made up.
    pub unasked: u64,
    pub bad_lines_from_clients: u64,
    pub bad_lines_from_workers: u64,
    /// Updates that a worker replayed while a session was moved to it.
    pub swallowed: u64,
    pub sessions_moved: u64,
    pub sessions_lost: u64,
    /// Sessions that nobody claimed and whose workers were asked to close them.
    pub sessions_closed: u64,
    pub clients_came: u64,
    pub clients_evicted: u64,
    pub worker_starts: u64,
    pub worker_deaths: u64,
    pub pool_failures: u64,
    pub pauses: u64,
}

/// A snapshot of the switch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SwitchStatus {
    pub n_sessions: usize,
    /// Requests of clients that wait for an answer.
    pub n_open: usize,
    pub pools: Vec<PoolStatus>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PoolStatus {
    pub name: Arc<str>,
    pub state: PoolState,
    /// Milliseconds until a worker is tried again, in a pool that has failed.
    pub retry_in_ms: Option<u64>,
    /// Requests that wait for a worker to start.
    #[serde(rename = "waiting")]
    pub n_waiting: usize,
    pub last_failure: Option<String>,
    pub workers: Vec<WorkerStatus>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum PoolState {
    Serving,
    /// Too many deaths.
    Failed,
    /// One worker is tried after a failure.
    Probing,
    Draining,
    Stopped,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkerStatus {
    #[serde(rename = "id")]
    pub worker: WorkerId,
    pub slot: u32,
    /// Filled in by the event loop, like the queued bytes and whether it is paused; `None` before
    /// it runs.
    pub pid: Option<u32>,
    pub state: WorkerStage,
    #[serde(rename = "requests")]
    pub n_calls: usize,
    #[serde(rename = "sessions")]
    pub n_sessions: usize,
    #[serde(rename = "clients")]
    pub n_clients: usize,
    #[serde(rename = "memoryBytes")]
    pub n_memory_bytes: u64,
    #[serde(rename = "queuedBytes")]
    pub n_queued_bytes: Option<usize>,
    #[serde(rename = "paused")]
    pub is_paused: bool,
}

impl Switch {
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    pub fn status(&self, now: MonotonicMillis) -> SwitchStatus {
        SwitchStatus {
            n_sessions: self.sessions.len(),
            n_open: self.clients.values().map(|client| client.n_open).sum(),
            pools: self.pools.values().map(|pool| self.pool_status(pool, now)).collect(),
        }
    }

    fn pool_status(&self, pool: &SwitchPool, now: MonotonicMillis) -> PoolStatus {
        let (state, retry_in_ms) = match (pool.mode, pool.circuit) {
            (PoolMode::Stopped | PoolMode::Removed, _) if pool.n_workers() == 0 => {
                (PoolState::Stopped, None)
            }
            (PoolMode::Stopped | PoolMode::Removed, _) => (PoolState::Draining, None),
            (PoolMode::Serving, CircuitBreaker::Open { until }) => {
                (PoolState::Failed, Some(until.since(now)))
            }
            (PoolMode::Serving, CircuitBreaker::Probing(_)) => (PoolState::Probing, None),
            (PoolMode::Serving, CircuitBreaker::Closed) => (PoolState::Serving, None),
        };
        let workers =
            pool.workers().filter_map(|id| self.workers.get(&id)).map(|worker| WorkerStatus {
                worker: worker.id,
                slot: worker.slot,
                pid: None,
                state: worker.stage,
                n_calls: worker.calls.len(),
                n_sessions: worker.sessions.len(),
                n_clients: worker.clients.len(),
                n_memory_bytes: worker.n_memory_bytes,
                n_queued_bytes: None,
                is_paused: false,
            });
        PoolStatus {
            name: pool.plan.name.clone(),
            state,
            retry_in_ms,
            n_waiting: pool.waiting.len(),
            last_failure: pool.last_failure.clone(),
            workers: workers.collect(),
        }
    }
}
