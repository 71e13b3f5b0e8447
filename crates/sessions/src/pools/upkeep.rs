//! The regular upkeep of the pools: idle workers, programs that change, memory.

use std::sync::Arc;

use super::key::PoolKey;
use super::{PoolsInner, blocking};
use crate::lock::lock;

impl PoolsInner {
    /// Looks after the workers until the pools are closed.
    pub(super) async fn keep_up(self: Arc<Self>) {
        loop {
            let every = lock(&self.state).warm.check_every;
            tokio::select! {
                () = self.closing.cancelled() => return,
                () = tokio::time::sleep(every) => {}
            }
            let (warm, shared) = lock(&self.state).take_idle();
            self.end(warm, "it was not used");
            self.end_shared(shared);
            self.replace_outdated().await;
            self.bound_memory().await;
            self.start_ordered();
        }
    }

    /// Ends warm workers that a new start would make different, and orders those.
    async fn replace_outdated(self: &Arc<Self>) {
        for (key, id) in self.all_warm() {
            let command = lock(&self.state).keys.get(&*key).map(|entry| entry.command.clone());
            let Some(command) = command else { continue };
            let now = self.fingerprint(&command).await;
            let mut state = lock(&self.state);
            let is_outdated = state.keys.get(&*key).is_some_and(|entry| {
                entry.warm.iter().any(|warm| warm.id == id && warm.fingerprint != now)
            });
            let outdated = is_outdated.then(|| state.take_warm(&key, id)).flatten();
            if let Some(outdated) = outdated {
                if let Some(entry) = state.keys.get_mut(&key) {
                    entry.forgive();
                }
                state.order(&key);
                self.end(vec![outdated], "what it was started from has changed");
            }
        }
    }

    fn all_warm(&self) -> Vec<(Arc<PoolKey>, u64)> {
        let state = lock(&self.state);
        let of_key = state
            .keys
            .iter()
            .flat_map(|(key, entry)| entry.warm.iter().map(|warm| (key.clone(), warm.id)));
        of_key.collect()
    }

    /// Measures workers that nobody uses, and ends the least recently used while it is too much.
    pub(super) async fn bound_memory(self: &Arc<Self>) {
        let (ids, keepers): (Vec<u64>, Vec<u32>) = {
            let state = lock(&self.state);
            let warm = state.keys.values().flat_map(|entry| &entry.warm);
            let warm = warm.map(|warm| (warm.id, warm.host.worker.keeper_pid()));
            let shared = state.shared.iter();
            let shared = shared
                .filter_map(|(id, shared)| Some((*id, shared.slot.running()?.worker.keeper_pid())));
            warm.chain(shared).unzip()
        };
        if ids.is_empty() {
            return;
        }
        let measured = blocking(move || bus::resident_bytes(&keepers)).await;
        let mut state = lock(&self.state);
        for (id, n_bytes) in ids.into_iter().zip(measured) {
            let warm = state.keys.values_mut().flat_map(|entry| &mut entry.warm);
            if let Some(warm) = warm.into_iter().find(|warm| warm.id == id) {
                warm.n_bytes = n_bytes;
            } else if let Some(shared) = state.shared.get_mut(&id) {
                shared.n_bytes = n_bytes;
            }
        }
        let (warm, shared) = state.shed();
        drop(state);
        self.end(warm, "warm workers need too much memory");
        self.end_shared(shared);
    }
}
