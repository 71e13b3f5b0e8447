//! Workers that several sessions use at once.

use std::sync::Arc;
use std::time::Instant;

use super::PoolsInner;
use super::key::PoolKey;
use super::state::{PoolCounts, SharedWorker};
use crate::host::{AgentCommand, HostSlot};
use crate::lock::lock;

impl PoolsInner {
    /// A slot of one session in front of the one that they share.
    pub(super) async fn shared_slot(self: &Arc<Self>, command: AgentCommand) -> Arc<HostSlot> {
        let slot = self.cold_slot(command.clone());
        let key = Arc::new(PoolKey::shared(&command));
        let shared = self.join(&key, command).await;
        self.lease(&slot, key, Some(shared), None);
        slot
    }

    /// One more user of the worker for this command, which is made if need be.
    async fn join(
        self: &Arc<Self>,
        key: &Arc<PoolKey>,
        mut command: AgentCommand,
    ) -> (u64, Arc<HostSlot>) {
        if let Some(dir) = lock(&self.state).warm.shared_cwd.clone() {
            command.cwd = dir;
        }
        let current = {
            let state = lock(&self.state);
            let current = state.shared.values().find(|it| it.key == *key && !it.is_retired);
            current.map(|shared| shared.slot.command().clone())
        };
        // As the worker that runs would be started now, or as the new one will be.
        let now = self.fingerprint(current.as_ref().unwrap_or(&command)).await;
        let own = match &current {
            Some(_) => self.fingerprint(&command).await,
            None => now.clone(),
        };

        let mut state = lock(&self.state);
        let mut outdated = Vec::new();
        let found = state.shared.iter_mut().find(|(_, it)| it.key == *key && !it.is_retired);
        if let Some((id, shared)) = found {
            if shared.fingerprint == now {
                let is_hit = shared.slot.running().is_some();
                let count = |counts: &mut PoolCounts| match is_hit {
                    true => counts.hits += 1,
                    false => counts.misses += 1,
                };
                shared.n_users += 1;
                shared.since = Instant::now();
                count(&mut shared.counts);
                let joined = (*id, shared.slot.clone());
                count(&mut state.total);
                return joined;
            }
            shared.is_retired = true;
            let id = *id;
            if shared.n_users == 0 {
                outdated.extend(state.shared.remove(&id));
            }
        }
        let slot = self.cold_slot(command);
        let id = state.next_id();
        state.total.misses += 1;
        let shared = SharedWorker {
            key: key.clone(),
            slot: slot.clone(),
            fingerprint: own,
            n_users: 1,
            since: Instant::now(),
            is_retired: false,
            counts: PoolCounts { misses: 1, ..PoolCounts::default() },
            n_bytes: 0,
        };
        if !self.closing.is_cancelled() {
            state.shared.insert(id, shared);
        }
        drop(state);
        self.end_shared(outdated);
        (id, slot)
    }
}
