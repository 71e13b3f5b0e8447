//! Workers that stand ready before anybody asks, and workers that several sessions share.
//!
//! In: the command of an agent. Out: a slot, with a worker in it that has already answered
//! `initialize` (and, for plain params, `session/new`) if one stood ready. A key becomes warm with
//! its first use; from then on a replacement is started after each.
//!
//! Always true: a worker is used by one session, unless its agent shares workers; one warm
//! start runs at a time; count, memory and idle time of what waits are bounded; a worker that
//! has died, or that would be started differently now, is not handed out; what fails is not
//! tried for ever.

mod fingerprint;
mod key;
mod lease;
mod prepared;
mod settings;
mod shared_workers;
mod snapshot;
mod starting;
mod state;
mod upkeep;

use std::sync::{Arc, Mutex};

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use wire::Json;

use crate::host::{AgentCommand, FailingAgents, HostSlot};
use crate::lock::lock;
use crate::settings::{SessionSettings, WorkerSetup};

use key::PoolKey;
pub(crate) use lease::PoolBacking;
pub(crate) use prepared::PreparedSession;
use prepared::WarmWorkerState;
pub use settings::WarmSettings;
pub use snapshot::{PoolKeySnapshot, PoolsSnapshot};
pub use state::PoolCounts;
use state::{PoolsState, SharedWorker, WarmWorker};

/// The pools of one process. Dropping them ends what waits in them.
#[derive(Debug)]
pub struct Pools {
    inner: Arc<PoolsInner>,
}

#[derive(Debug)]
struct PoolsInner {
    setup: WorkerSetup,
    settings: SessionSettings,
    failing: FailingAgents,
    state: Mutex<PoolsState>,
    closing: CancellationToken,
    /// Background tasks, so that a shut-down can wait for them.
    tasks: TaskTracker,
}

impl Drop for Pools {
    fn drop(&mut self) {
        self.inner.closing.cancel();
    }
}

impl Pools {
    /// Call it inside a runtime: a task looks after the workers.
    pub fn new(setup: WorkerSetup, settings: SessionSettings, warm: WarmSettings) -> Self {
        let inner = Arc::new(PoolsInner {
            setup,
            settings,
            failing: FailingAgents::default(),
            state: Mutex::new(PoolsState { warm, ..PoolsState::default() }),
            closing: CancellationToken::new(),
            tasks: TaskTracker::new(),
        });
        inner.tasks.spawn(task::boxed(inner.clone().keep_up()));
        Self { inner }
    }

    /// A slot for one session; shutting it down or dropping it ends its use.
    ///
    /// `new_params` are those of the `session/new` that follows at once: the slot may come
    /// with an agent in which that is done already. Without them the session is opened later,
    /// or brought back, and an agent that stands ready is taken when it is needed.
    ///
    /// Never fails and never waits for an agent: a slot without one starts it when it is used.
    pub async fn slot(
        &self,
        command: AgentCommand,
        new_params: Option<&Json>,
        model: Option<&str>,
    ) -> Arc<HostSlot> {
        let inner = &self.inner;
        if key::can_be_shared(&command) {
            return inner.shared_slot(command).await;
        }
        let key = Arc::new(PoolKey::new(&command, model));
        inner.note_use(&key, &command, new_params);
        let taken = match new_params {
            Some(_) => inner.take_ready(&key, &command, new_params).await,
            None => None,
        };
        let (slot, prepared) = taken.unwrap_or_else(|| (inner.cold_slot(command), None));
        inner.lease(&slot, key, None, prepared);
        slot
    }

    /// Starts a worker that sessions do not share before its first use, if such workers are kept
    /// warm at all.
    pub fn prewarm(&self, command: &AgentCommand, new_params: Option<&Json>, model: Option<&str>) {
        let key = Arc::new(PoolKey::new(command, model));
        self.inner.note_use(&key, command, new_params);
        lock(&self.inner.state).order(&key);
        self.inner.start_ordered();
    }

    /// New settings, from now on; what they no longer allow is ended.
    pub fn configure(&self, warm: WarmSettings) {
        let gone = {
            let mut state = lock(&self.inner.state);
            state.warm = warm;
            state.trim()
        };
        self.inner.end(gone, "the settings have changed");
    }

    /// Ends every worker that came from here, also those that sessions still have. Slots that
    /// are asked for later do not start anything.
    pub async fn shut_down(&self) {
        let inner = &self.inner;
        inner.closing.cancel();
        let (warm, shared, leased) = {
            let mut state = lock(&inner.state);
            state.orders.clear();
            let warm = state.keys.drain().flat_map(|(_, entry)| entry.warm).collect();
            let shared: Vec<_> = state.shared.drain().map(|(_, shared)| shared).collect();
            let leased: Vec<_> =
                state.leased.drain().filter_map(|(_, slot)| slot.upgrade()).collect();
            (warm, shared, leased)
        };
        inner.end(warm, "shutting down");
        inner.end_shared(shared);
        for slot in leased {
            inner.end_slot(slot);
        }
        inner.tasks.close();
        inner.tasks.wait().await;
    }
}

impl PoolsInner {
    fn cold_slot(&self, command: AgentCommand) -> Arc<HostSlot> {
        let (setup, settings) = (self.setup.clone(), self.settings.clone());
        let slot = HostSlot::among(&self.failing, command, setup, settings);
        if self.closing.is_cancelled() {
            slot.refuse_starts();
        }
        Arc::new(slot)
    }

    fn note_use(
        self: &Arc<Self>,
        key: &Arc<PoolKey>,
        command: &AgentCommand,
        new_params: Option<&Json>,
    ) {
        if self.closing.is_cancelled() {
            return;
        }
        let mut state = lock(&self.state);
        let (entry, gone) = state.touch(key, command);
        if let Some(params) = new_params {
            entry.params = Some(params.clone()).filter(key::are_plain);
        }
        self.end(gone, "its key is forgotten");
    }

    /// A warm worker that lives and is what a new one would be; the oldest first, so that
    /// none waits for long. Another one is ordered for it.
    async fn take_ready(
        self: &Arc<Self>,
        key: &Arc<PoolKey>,
        command: &AgentCommand,
        new_params: Option<&Json>,
    ) -> Option<(Arc<HostSlot>, Option<(Json, PreparedSession)>)> {
        loop {
            let warm = lock(&self.state).keys.get_mut(key)?.warm.pop_front()?;
            if self.fingerprint(command).await != warm.fingerprint {
                if let Some(entry) = lock(&self.state).keys.get_mut(key) {
                    entry.forgive();
                }
                self.end(vec![warm], "what it was started from has changed");
                continue;
            }
            let (slot, params, host) = (warm.slot.clone(), warm.params.clone(), warm.host.clone());
            let kept = warm.take().await;
            if matches!(kept, WarmWorkerState::Gone) || !host.is_present() {
                tracing::info!(agent = key.agent, pid = host.pid(), "a warm worker was gone");
                lock(&self.state).failed(key);
                self.end_slot(slot);
                continue;
            }
            self.note_hit(key);
            let WarmWorkerState::Session(prepared) = kept else { return Some((slot, None)) };
            return match (params, new_params) {
                (Some(had), Some(wanted)) if key::are_same(&had, wanted) => {
                    Some((slot, Some((had, *prepared))))
                }
                _ => {
                    self.tasks.spawn(task::boxed(prepared.discard()));
                    Some((slot, None))
                }
            };
        }
    }

    fn note_hit(self: &Arc<Self>, key: &Arc<PoolKey>) {
        let mut state = lock(&self.state);
        state.count(key, |counts| counts.hits += 1);
        if let Some(entry) = state.keys.get_mut(key) {
            entry.forgive();
        }
        state.order(key);
        drop(state);
        self.start_ordered();
    }

    fn end(&self, warm: Vec<WarmWorker>, why: &str) {
        for warm in warm {
            tracing::debug!(pid = warm.host.pid(), why, "ending a warm worker");
            self.tasks.spawn(task::boxed(warm.end()));
        }
    }

    fn end_shared(&self, shared: impl IntoIterator<Item = SharedWorker>) {
        for shared in shared {
            tracing::debug!(agent = shared.key.agent, "ending a shared worker");
            self.end_slot(shared.slot);
        }
    }

    fn end_slot(&self, slot: Arc<HostSlot>) {
        self.tasks.spawn(task::boxed(async move { slot.shut_down().await }));
    }
}

/// Runs work that may block on a thread where it may.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // The runtime is going away, and this task with it.
            Err(_) => std::future::pending().await,
        },
    }
}
