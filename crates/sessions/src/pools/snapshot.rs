//! A snapshot of the pools, for people and for metrics.

use std::path::PathBuf;

use serde::Serialize;

use super::Pools;
use super::state::PoolCounts;
use crate::lock::lock;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PoolsSnapshot {
    /// By agent and directory.
    pub keys: Vec<PoolKeySnapshot>,
    pub warm: usize,
    /// Resident memory of what nobody uses, when it was last looked at.
    pub memory_bytes: u64,
    /// Since the start, also of keys that are forgotten; these only grow.
    pub total: PoolCounts,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PoolKeySnapshot {
    pub agent: String,
    /// None for a shared worker.
    pub cwd: Option<PathBuf>,
    pub model: Option<String>,
    pub is_shared: bool,
    /// Workers that stand ready.
    pub warm: usize,
    pub is_starting: bool,
    /// Sessions that have a worker.
    pub in_use: usize,
    pub memory_bytes: u64,
    #[serde(flatten)]
    pub counts: PoolCounts,
}

impl Pools {
    pub fn snapshot(&self) -> PoolsSnapshot {
        let state = lock(&self.inner.state);
        let own = state.keys.iter().map(|(key, entry)| PoolKeySnapshot {
            agent: key.agent.clone(),
            cwd: key.cwd.clone(),
            model: key.model.clone(),
            is_shared: false,
            warm: entry.warm.len(),
            is_starting: state.starting.as_ref() == Some(key),
            in_use: entry.n_in_use,
            memory_bytes: entry.warm.iter().map(|warm| warm.n_bytes).sum(),
            counts: entry.counts,
        });
        let shared = state.shared.values().map(|shared| PoolKeySnapshot {
            agent: shared.key.agent.clone(),
            cwd: None,
            model: None,
            is_shared: true,
            warm: usize::from(shared.n_users == 0 && shared.slot.running().is_some()),
            is_starting: false,
            in_use: shared.n_users,
            memory_bytes: shared.n_bytes,
            counts: shared.counts,
        });
        let mut keys: Vec<PoolKeySnapshot> = own.chain(shared).collect();
        keys.sort_by(|a, b| (&a.agent, &a.cwd, &a.model).cmp(&(&b.agent, &b.cwd, &b.model)));
        let warm = keys.iter().map(|key| key.warm).sum();
        PoolsSnapshot { keys, warm, memory_bytes: state.n_bytes(), total: state.total }
    }
}
