//! A slot's link to the pools: the session or agent that stands ready for it, and its lease.
//!
//! A session that is done with its agent shuts its slot down or drops it; either ends the
//! lease. That ends a worker which the session had for itself. A shared worker goes on, and
//! is ended when nobody has used it for the idle time.

use std::sync::{Arc, Mutex, Weak};
use std::time::Instant;

use wire::Json;

use super::key::{self, PoolKey};
use super::{PoolsInner, PreparedSession};
use crate::host::{AgentCommand, Host, HostSlot};
use crate::lock::lock;

/// The pools behind a slot, which looks there before it starts an agent itself.
#[derive(Debug)]
pub(crate) struct PoolBacking {
    pools: Weak<PoolsInner>,
    key: Arc<PoolKey>,
    /// The slot that has the worker, if several sessions share it.
    shared: Option<Arc<HostSlot>>,
    lease: Mutex<Option<SlotLease>>,
    /// A session that stands open in the slot's agent, and what it was opened with.
    prepared: Mutex<Option<(Json, PreparedSession)>>,
}

impl PoolBacking {
    pub(super) fn new(
        pools: &Arc<PoolsInner>,
        lease: SlotLease,
        shared: Option<Arc<HostSlot>>,
        prepared: Option<(Json, PreparedSession)>,
    ) -> Self {
        Self {
            pools: Arc::downgrade(pools),
            key: lease.key.clone(),
            shared,
            lease: Mutex::new(Some(lease)),
            prepared: Mutex::new(prepared),
        }
    }

    pub(crate) fn shared(&self) -> Option<&Arc<HostSlot>> {
        self.shared.as_ref()
    }

    /// An agent that stands ready, instead of one that would have to be started.
    pub(crate) async fn ready(&self, command: &AgentCommand) -> Option<Arc<Host>> {
        let pools = self.pools.upgrade()?;
        pools.note_use(&self.key, command, None);
        if let Some((slot, _)) = pools.take_ready(&self.key, command, None).await {
            return slot.take_host().await;
        }
        lock(&pools.state).count(&self.key, |counts| counts.misses += 1);
        None
    }

    /// Orders a warm worker for the next session, as the slot had to start one itself.
    pub(crate) fn started(&self) {
        if let Some(pools) = self.pools.upgrade() {
            lock(&pools.state).order(&self.key);
            pools.start_ordered();
        }
    }

    /// The session that stands open, if it was opened with these params and its agent lives.
    pub(crate) fn take_prepared(&self, params: &Json) -> Option<PreparedSession> {
        let (had, prepared) = self.take_any_prepared()?;
        if key::are_same(&had, params) && prepared.is_usable() {
            return Some(prepared);
        }
        self.discard(prepared);
        None
    }

    /// Frees the session that stands open, which nobody will want.
    pub(crate) fn discard_prepared(&self) {
        if let Some((_, prepared)) = self.take_any_prepared() {
            self.discard(prepared);
        }
    }

    fn take_any_prepared(&self) -> Option<(Json, PreparedSession)> {
        lock(&self.prepared).take()
    }

    fn discard(&self, prepared: PreparedSession) {
        if let Some(pools) = self.pools.upgrade() {
            pools.tasks.spawn(task::boxed(prepared.discard()));
        }
    }

    /// The slot is not used any more.
    pub(crate) fn end_lease(&self) {
        drop(lock(&self.lease).take());
        drop(self.take_any_prepared());
    }
}

/// The use of a slot by one session, until dropped.
#[derive(Debug)]
pub(super) struct SlotLease {
    pools: Weak<PoolsInner>,
    id: u64,
    key: Arc<PoolKey>,
    /// The shared worker's id.
    shared: Option<u64>,
}

impl SlotLease {
    pub(super) fn new(
        pools: &Arc<PoolsInner>,
        id: u64,
        key: Arc<PoolKey>,
        shared: Option<u64>,
    ) -> Self {
        Self { pools: Arc::downgrade(pools), id, key, shared }
    }
}

impl Drop for SlotLease {
    fn drop(&mut self) {
        let Some(pools) = self.pools.upgrade() else { return };
        let mut state = lock(&pools.state);
        state.leased.remove(&self.id);
        let Some(shared_id) = self.shared else {
            if let Some(entry) = state.keys.get_mut(&self.key) {
                entry.n_in_use = entry.n_in_use.saturating_sub(1);
            }
            return;
        };
        let Some(shared) = state.shared.get_mut(&shared_id) else { return };
        shared.n_users = shared.n_users.saturating_sub(1);
        shared.since = Instant::now();
        let is_over = shared.is_retired && shared.n_users == 0;
        let over = is_over.then(|| state.shared.remove(&shared_id)).flatten();
        drop(state);
        // Outside a runtime its end comes with its last handle.
        if tokio::runtime::Handle::try_current().is_ok() {
            pools.end_shared(over.into_iter().collect());
        }
    }
}
