//! The use of a slot by one session, and its end.
//!
//! Whoever has a session keeps its lease for as long as the session may need its agent.
//! Letting go of it ends the worker of a session that had one for itself; a shared worker
//! goes on, and is ended when nobody has used it for the idle time.

use std::sync::{Arc, Weak};
use std::time::Instant;

use super::Inner;
use super::key::Key;
use crate::host::HostSlot;

#[derive(Debug)]
pub struct Lease {
    pools: Weak<Inner>,
    held: Option<Held>,
}

#[derive(Debug)]
struct Held {
    id: u64,
    key: Arc<Key>,
    slot: Arc<HostSlot>,
    /// The shared worker's id.
    shared: Option<u64>,
}

impl Lease {
    pub(super) fn new(
        pools: &Arc<Inner>,
        id: u64,
        key: Arc<Key>,
        slot: Arc<HostSlot>,
        shared: Option<u64>,
    ) -> Self {
        Self { pools: Arc::downgrade(pools), held: Some(Held { id, key, slot, shared }) }
    }

    /// Whether other sessions may be using the same worker.
    pub fn is_shared(&self) -> bool {
        self.held.as_ref().is_some_and(|held| held.shared.is_some())
    }

    /// Lets go, and waits until the worker has ended if it was the session's own.
    pub async fn let_go(mut self) {
        if let Some(slot) = self.give_back() {
            slot.shut_down().await;
        }
    }

    /// The slot that nobody wants any more, if it is so.
    fn give_back(&mut self) -> Option<Arc<HostSlot>> {
        let Held { id, key, slot, shared } = self.held.take()?;
        let Some(pools) = self.pools.upgrade() else { return Some(slot) };
        let mut state = pools.state();
        state.leased.remove(&id);
        let Some(shared_id) = shared else {
            if let Some(entry) = state.keys.get_mut(&key) {
                entry.n_in_use = entry.n_in_use.saturating_sub(1);
            }
            return Some(slot);
        };
        let shared = state.shared.get_mut(&shared_id)?;
        shared.n_users = shared.n_users.saturating_sub(1);
        shared.since = Instant::now();
        let is_over = shared.is_retired && shared.n_users == 0;
        is_over.then(|| state.shared.remove(&shared_id)).flatten().map(|shared| shared.slot)
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let Some(slot) = self.give_back() else { return };
        match (self.pools.upgrade(), tokio::runtime::Handle::try_current()) {
            (Some(pools), Ok(_)) => {
                pools.tasks.spawn(async move { slot.shut_down().await });
            }
            (None, Ok(runtime)) => {
                runtime.spawn(async move { slot.shut_down().await });
            }
            // Dropping the slot ends its worker at once.
            (_, Err(_)) => {}
        }
    }
}
