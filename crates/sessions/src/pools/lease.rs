//! A slot's link to the pools: the session or agent that stands ready for it, and its lease.
//!
//! A session that is done with its agent shuts its slot down or drops it; either ends the
//! lease. That ends a worker which the session had for itself. A shared worker goes on, and
//! is ended when nobody has used it for the idle time.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::Instant;

use wire::Json;

use super::key::{self, PoolKey};
use super::{PoolsInner, PreparedSession};
use crate::host::{AgentCommand, Host, HostSlot};
use crate::lock::lock;

/// The pools behind a slot, which looks there before it starts an agent itself; and the use of the
/// slot by one session.
#[derive(Debug)]
pub(crate) struct PoolBacking {
    pools: Weak<PoolsInner>,
    /// The lease's id.
    id: u64,
    key: Arc<PoolKey>,
    /// The slot that has the worker, if several sessions share it, and that worker's id.
    shared: Option<(u64, Arc<HostSlot>)>,
    is_over: AtomicBool,
    /// A session that stands open in the slot's agent, and what it was opened with.
    prepared: Mutex<Option<(Json, PreparedSession)>>,
}

impl PoolsInner {
    /// Gives `slot` to one session.
    pub(super) fn lease(
        self: &Arc<Self>,
        slot: &Arc<HostSlot>,
        key: Arc<PoolKey>,
        shared: Option<(u64, Arc<HostSlot>)>,
        prepared: Option<(Json, PreparedSession)>,
    ) {
        let mut state = lock(&self.state);
        let id = state.next_id();
        state.leased.insert(id, Arc::downgrade(slot));
        if shared.is_none()
            && let Some(entry) = state.keys.get_mut(&key)
        {
            entry.n_in_use += 1;
        }
        drop(state);
        let (pools, prepared) = (Arc::downgrade(self), Mutex::new(prepared));
        let is_over = AtomicBool::new(false);
        // A slot is handed out once.
        let _ = slot.backing.set(PoolBacking { pools, id, key, shared, is_over, prepared });
        if self.closing.is_cancelled() {
            slot.refuse_starts();
            self.end_slot(slot.clone());
        }
    }
}

impl PoolBacking {
    pub(crate) fn shared(&self) -> Option<&Arc<HostSlot>> {
        self.shared.as_ref().map(|(_, slot)| slot)
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

    /// The session that stands open, if it was opened with the params that are `wanted` and its
    /// agent lives. Any other is freed, as nobody will want it.
    pub(crate) fn take_prepared(&self, wanted: Option<&Json>) -> Option<PreparedSession> {
        let (had, prepared) = lock(&self.prepared).take()?;
        let is_same = wanted.is_some_and(|wanted| key::are_same(&had, wanted));
        if is_same && prepared.link.host.is_present() {
            return Some(prepared);
        }
        if let Some(pools) = self.pools.upgrade() {
            pools.tasks.spawn(task::boxed(prepared.discard()));
        }
        None
    }

    /// The slot is not used any more.
    pub(crate) fn end_lease(&self) {
        if !self.is_over.swap(true, Ordering::Relaxed) {
            self.let_go();
        }
        drop(lock(&self.prepared).take());
    }

    fn let_go(&self) {
        let Some(pools) = self.pools.upgrade() else { return };
        let mut state = lock(&pools.state);
        state.leased.remove(&self.id);
        let Some((shared_id, _)) = &self.shared else {
            if let Some(entry) = state.keys.get_mut(&self.key) {
                entry.n_in_use = entry.n_in_use.saturating_sub(1);
            }
            return;
        };
        let Some(shared) = state.shared.get_mut(shared_id) else { return };
        shared.n_users = shared.n_users.saturating_sub(1);
        shared.since = Instant::now();
        let is_over = shared.is_retired && shared.n_users == 0;
        let over = is_over.then(|| state.shared.remove(shared_id)).flatten();
        drop(state);
        // Outside a runtime its end comes with its last handle.
        if tokio::runtime::Handle::try_current().is_ok() {
            pools.end_shared(over);
        }
    }
}

impl Drop for PoolBacking {
    fn drop(&mut self) {
        self.end_lease();
    }
}
