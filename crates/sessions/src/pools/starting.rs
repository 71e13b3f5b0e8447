//! Starts warm workers, one at a time over all keys.
//!
//! In: orders. Out: workers that wait to be used, each with a task that listens to it. A key
//! whose workers fail is left alone after a few tries.

use std::sync::Arc;

use tokio::sync::oneshot;
use wire::Json;

use super::fingerprint::Fingerprint;
use super::key::{self, PoolKey};
use super::prepared::{self, PreparedSession};
use super::state::WarmWorker;
use super::{PoolsInner, blocking};
use crate::host::{AgentCommand, Host, HostError, HostSlot};
use crate::link::LinkError;
use crate::lock::lock;

struct WarmOrder {
    key: Arc<PoolKey>,
    command: AgentCommand,
    params: Option<Json>,
}

struct WarmStart {
    slot: Arc<HostSlot>,
    host: Arc<Host>,
    prepared: Option<PreparedSession>,
    fingerprint: Fingerprint,
}

#[derive(Debug, thiserror::Error)]
enum WarmStartError {
    #[error(transparent)]
    Host(#[from] HostError),
    #[error(transparent)]
    Link(#[from] LinkError),
    #[error("it was not ready in time")]
    Late,
}

impl PoolsInner {
    /// Starts the task that works on the orders, unless one does.
    pub(super) fn start_ordered(self: &Arc<Self>) {
        let mut state = lock(&self.state);
        if state.is_starting || state.orders.is_empty() || self.closing.is_cancelled() {
            return;
        }
        state.is_starting = true;
        drop(state);
        let inner = self.clone();
        self.tasks.spawn(task::boxed(async move {
            tokio::select! {
                biased;
                // Dropping a start ends what it has started.
                () = inner.closing.cancelled() => {}
                () = inner.start_all() => {}
            }
        }));
    }

    async fn start_all(self: &Arc<Self>) {
        while let Some(order) = self.next_order() {
            let within = lock(&self.state).warm.start_within;
            let started = tokio::time::timeout(within, self.start(&order)).await;
            self.settle(order, started.unwrap_or(Err(WarmStartError::Late)));
            self.bound_memory().await;
        }
    }

    fn next_order(self: &Arc<Self>) -> Option<WarmOrder> {
        let mut state = lock(&self.state);
        while let Some(key) = state.orders.pop_front() {
            if !state.is_wanted(&key) {
                continue;
            }
            let Some(gone) = state.make_room(&key) else { continue };
            self.end(gone, "another one needs the place");
            state.count(&key, |counts| counts.starts += 1);
            let opens_sessions = state.warm.opens_sessions;
            let Some(entry) = state.keys.get(&key) else { continue };
            let order = WarmOrder {
                command: entry.command.clone(),
                params: entry.params.clone().filter(|_| opens_sessions),
                key: key.clone(),
            };
            state.starting = Some(key);
            return Some(order);
        }
        state.is_starting = false;
        None
    }

    async fn start(&self, order: &WarmOrder) -> Result<WarmStart, WarmStartError> {
        // Before the start: what changes meanwhile is a change.
        let fingerprint = self.fingerprint(&order.command).await;
        let slot = self.cold_slot(order.command.clone());
        let host = slot.host().await?;
        let opened = match &order.params {
            Some(params) => PreparedSession::open(&host, params).await.map(Some),
            None => Ok(None),
        };
        let prepared = match opened {
            Ok(prepared) => prepared,
            // The session that wants this worker will hear the same, and may know what to do.
            Err(
                error @ (LinkError::AuthRequired { .. }
                | LinkError::Refused { .. }
                | LinkError::ModeNotSet { .. }
                | LinkError::NoSessionId),
            ) => {
                tracing::debug!(agent = order.key.agent, %error, "no session in a warm worker");
                None
            }
            Err(error) => {
                slot.shut_down().await;
                return Err(error.into());
            }
        };
        Ok(WarmStart { slot, host, prepared, fingerprint })
    }

    fn settle(self: &Arc<Self>, order: WarmOrder, started: Result<WarmStart, WarmStartError>) {
        let WarmOrder { key, params, .. } = order;
        let mut state = lock(&self.state);
        state.starting = None;
        let WarmStart { slot, host, prepared, fingerprint } = match started {
            Ok(started) => started,
            Err(error) => {
                tracing::info!(agent = key.agent, %error, "cannot start a warm worker");
                return state.failed(&key);
            }
        };
        if !state.is_wanted(&key) {
            drop(state);
            self.tasks.spawn(task::boxed(async move {
                if let Some(prepared) = prepared {
                    prepared.discard().await;
                }
                slot.shut_down().await;
            }));
            return;
        }
        let id = state.next_id();
        let (take, taken) = oneshot::channel();
        let params = params.filter(|_| prepared.is_some());
        let lost = {
            let (pools, key) = (Arc::downgrade(self), key.clone());
            move |why: &'static str| {
                if let Some(pools) = pools.upgrade() {
                    pools.lost(&key, id, why);
                }
            }
        };
        // It cannot be lost before it is in its place: the lock is held.
        let watching = task::spawn(prepared::watch(host.clone(), prepared, taken, lost));
        tracing::debug!(agent = key.agent, pid = host.pid(), "a warm worker is ready");
        let warm = WarmWorker { id, slot, host, params, fingerprint, n_bytes: 0, take, watching };
        if let Some(entry) = state.keys.get_mut(&key) {
            entry.warm.push_back(warm);
        }
        state.order(&key);
    }

    /// Takes out a warm worker that is no longer of use.
    fn lost(self: &Arc<Self>, key: &Arc<PoolKey>, id: u64, why: &'static str) {
        let mut state = lock(&self.state);
        // One that was taken out is somebody else's business.
        let Some(warm) = state.take_warm(key, id) else { return };
        tracing::info!(agent = key.agent, pid = warm.host.pid(), why, "a warm worker is lost");
        state.failed(key);
        drop(state);
        self.end_slot(warm.slot);
        self.start_ordered();
    }

    pub(super) async fn fingerprint(&self, command: &AgentCommand) -> Fingerprint {
        let watched = match key::can_be_shared(command) {
            // Its sessions read the files of a directory when they are opened.
            true => Vec::new(),
            false => lock(&self.state).warm.watched.clone(),
        };
        let (command, setup) = (command.clone(), self.setup.clone());
        blocking(move || Fingerprint::take(&command, &setup, &watched)).await
    }
}
