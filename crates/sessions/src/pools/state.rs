//! The state of the pools: keys, their warm workers, shared workers, and who uses what.
//!
//! Plain bookkeeping under one lock; nothing here waits, starts or ends anything. Functions
//! that take workers out give them to the caller, who ends them after the lock is free.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use serde::Serialize;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use wire::Json;

use super::fingerprint::Fingerprint;
use super::key::PoolKey;
use super::prepared::WarmWorkerState;
use super::settings::WarmSettings;
use crate::host::{AgentCommand, Host, HostSlot};

/// Keys that are remembered; the least recently used is forgotten for a new one.
const MAX_KEYS: usize = 256;
/// Warm workers of a key that may fail one after the other before it is left alone.
const MAX_FAILED_IN_ROW: u32 = 3;
/// How long it is left alone then.
const REST_AFTER_FAILURES: Duration = Duration::from_secs(60);

#[derive(Debug, Default)]
pub(super) struct PoolsState {
    pub(super) warm: WarmSettings,
    pub(super) keys: HashMap<Arc<PoolKey>, PoolKeyEntry>,
    pub(super) shared: HashMap<u64, SharedWorker>,
    /// Every slot that somebody has.
    pub(super) leased: HashMap<u64, Weak<HostSlot>>,
    /// Keys that want one more warm worker, each once.
    pub(super) orders: VecDeque<Arc<PoolKey>>,
    /// A task works on the orders.
    pub(super) is_starting: bool,
    pub(super) starting: Option<Arc<PoolKey>>,
    pub(super) last_id: u64,
    pub(super) total: PoolCounts,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PoolCounts {
    /// Sessions that got a worker which was ready.
    pub hits: u64,
    /// Sessions that had to start one.
    pub misses: u64,
    /// Warm workers that were started.
    pub starts: u64,
    /// Warm workers that did not start, ended by themselves or said too much.
    pub failures: u64,
}

#[derive(Debug)]
pub(super) struct PoolKeyEntry {
    pub(super) command: AgentCommand,
    /// Params that the next session is likely to be opened with, if any client would send them.
    pub(super) params: Option<Json>,
    /// The oldest first.
    pub(super) warm: VecDeque<WarmWorker>,
    pub(super) n_in_use: usize,
    pub(super) last_used: Instant,
    pub(super) counts: PoolCounts,
    n_failed_in_row: u32,
    rest_until: Option<Instant>,
}

impl PoolKeyEntry {
    fn new(command: &AgentCommand) -> Self {
        Self {
            command: command.clone(),
            params: None,
            warm: VecDeque::new(),
            n_in_use: 0,
            last_used: Instant::now(),
            counts: PoolCounts::default(),
            n_failed_in_row: 0,
            rest_until: None,
        }
    }

    /// Forgets failures, as a worker has done what it was for.
    pub(super) fn forgive(&mut self) {
        self.n_failed_in_row = 0;
        self.rest_until = None;
    }

    fn is_resting(&self) -> bool {
        self.rest_until.is_some_and(|until| Instant::now() < until)
    }
}

/// A worker that waits to be used.
#[derive(Debug)]
pub(super) struct WarmWorker {
    pub(super) id: u64,
    pub(super) slot: Arc<HostSlot>,
    pub(super) host: Arc<Host>,
    /// The params that its session was opened with.
    pub(super) params: Option<Json>,
    pub(super) fingerprint: Fingerprint,
    pub(super) n_bytes: u64,
    pub(super) take: oneshot::Sender<()>,
    pub(super) watching: JoinHandle<WarmWorkerState>,
}

impl WarmWorker {
    /// Takes over what is left of it from the task that listens to it.
    pub(super) async fn take(self) -> WarmWorkerState {
        // A watcher that is gone has an answer all the same.
        let _ = self.take.send(());
        self.watching.await.unwrap_or(WarmWorkerState::Gone)
    }

    /// Ends it in good order.
    pub(super) async fn end(self) {
        let slot = self.slot.clone();
        if let WarmWorkerState::Session(prepared) = self.take().await {
            prepared.discard().await;
        }
        slot.shut_down().await;
    }
}

/// A worker that several sessions use.
#[derive(Debug)]
pub(super) struct SharedWorker {
    pub(super) key: Arc<PoolKey>,
    pub(super) slot: Arc<HostSlot>,
    pub(super) fingerprint: Fingerprint,
    pub(super) n_users: usize,
    /// When the last of them let go, or the last one came.
    pub(super) since: Instant,
    /// Its program has changed: those who use it may go on, nobody else joins.
    pub(super) is_retired: bool,
    pub(super) counts: PoolCounts,
    pub(super) n_bytes: u64,
}

impl PoolsState {
    pub(super) fn next_id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }

    /// The entry of a key that is used now, and the workers that had to go for it.
    pub(super) fn touch(
        &mut self,
        key: &Arc<PoolKey>,
        command: &AgentCommand,
    ) -> (&mut PoolKeyEntry, Vec<WarmWorker>) {
        let mut gone = Vec::new();
        if !self.keys.contains_key(key) && self.keys.len() >= MAX_KEYS {
            let oldest = self.keys.iter().min_by_key(|(_, entry)| entry.last_used);
            if let Some(oldest) = oldest.map(|(key, _)| key.clone()) {
                gone.extend(self.keys.remove(&oldest).into_iter().flat_map(|entry| entry.warm));
            }
        }
        let entry = self.keys.entry(key.clone()).or_insert_with(|| PoolKeyEntry::new(command));
        entry.last_used = Instant::now();
        (entry, gone)
    }

    pub(super) fn count(&mut self, key: &PoolKey, count: impl Fn(&mut PoolCounts)) {
        count(&mut self.total);
        if let Some(entry) = self.keys.get_mut(key) {
            count(&mut entry.counts);
        }
    }

    /// Orders one more warm worker, unless there is a reason against it.
    pub(super) fn order(&mut self, key: &Arc<PoolKey>) {
        if self.is_wanted(key) && !self.orders.contains(key) {
            self.orders.push_back(key.clone());
        }
    }

    pub(super) fn is_wanted(&self, key: &Arc<PoolKey>) -> bool {
        let has_room =
            |entry: &PoolKeyEntry| entry.warm.len() < self.warm.max_per_key && !entry.is_resting();
        self.warm.is_warm(&key.agent) && self.keys.get(key).is_some_and(has_room)
    }

    /// Notes that a warm worker failed. It is tried again, but not for ever.
    pub(super) fn failed(&mut self, key: &Arc<PoolKey>) {
        self.count(key, |counts| counts.failures += 1);
        if let Some(entry) = self.keys.get_mut(key) {
            entry.n_failed_in_row = entry.n_failed_in_row.saturating_add(1);
            if entry.n_failed_in_row >= MAX_FAILED_IN_ROW {
                entry.rest_until = Some(Instant::now() + REST_AFTER_FAILURES);
            }
        }
        self.order(key);
    }

    pub(super) fn n_warm(&self) -> usize {
        self.keys.values().map(|entry| entry.warm.len()).sum()
    }

    /// Takes workers of keys that were used before `key` was, until one more has room.
    /// `None` if there is none for it.
    pub(super) fn make_room(&mut self, key: &Arc<PoolKey>) -> Option<Vec<WarmWorker>> {
        let last_used = self.keys.get(key)?.last_used;
        let mut gone = Vec::new();
        while self.n_warm() >= self.warm.max_workers {
            let (_, oldest) = self.oldest().filter(|(_, entry)| entry.last_used < last_used)?;
            gone.push(oldest.warm.pop_front()?);
        }
        Some(gone)
    }

    /// The least recently used of the keys that have warm workers.
    fn oldest(&mut self) -> Option<(&Arc<PoolKey>, &mut PoolKeyEntry)> {
        let filled = self.keys.iter_mut().filter(|(_, entry)| !entry.warm.is_empty());
        filled.min_by_key(|(_, entry)| entry.last_used)
    }

    /// Takes out the workers that the settings do not allow.
    pub(super) fn trim(&mut self) -> Vec<WarmWorker> {
        let mut gone = Vec::new();
        for (key, entry) in &mut self.keys {
            let max = if self.warm.is_warm(&key.agent) { self.warm.max_per_key } else { 0 };
            let n_over = entry.warm.len().saturating_sub(max);
            gone.extend(entry.warm.drain(..n_over));
        }
        while self.n_warm() > self.warm.max_workers {
            gone.extend(self.oldest().and_then(|(_, entry)| entry.warm.pop_front()));
        }
        gone
    }

    /// Takes the least recently used workers until the others fit into `max_memory_bytes`.
    pub(super) fn shed(&mut self) -> (Vec<WarmWorker>, Vec<SharedWorker>) {
        let (mut warm, mut shared) = (Vec::new(), Vec::new());
        while self.n_bytes() > self.warm.max_memory_bytes {
            let key = self.oldest().map(|(key, entry)| (key.clone(), entry.last_used));
            let unused = self.shared.iter().filter(|(_, shared)| shared.n_users == 0);
            let unused = unused.min_by_key(|(_, shared)| shared.since);
            let unused = unused.map(|(id, shared)| (*id, shared.since));
            match (key, unused) {
                (Some((_, last_used)), Some((id, since))) if since <= last_used => {
                    shared.extend(self.shared.remove(&id));
                }
                (None, Some((id, _))) => shared.extend(self.shared.remove(&id)),
                (Some((key, _)), _) => {
                    // The next one would be as large.
                    self.orders.retain(|other| *other != key);
                    let Some(entry) = self.keys.get_mut(&key) else { break };
                    entry.rest_until = Some(Instant::now() + REST_AFTER_FAILURES);
                    warm.extend(entry.warm.pop_front());
                }
                (None, None) => break,
            }
        }
        (warm, shared)
    }

    /// The memory of all workers that nobody uses.
    pub(super) fn n_bytes(&self) -> u64 {
        let warm = self.keys.values().flat_map(|entry| &entry.warm).map(|warm| warm.n_bytes);
        let shared = self.shared.values().filter(|shared| shared.n_users == 0);
        warm.chain(shared.map(|shared| shared.n_bytes)).sum()
    }

    /// Takes out workers that were not used for the idle time. A key that nobody uses is forgotten.
    pub(super) fn take_idle(&mut self) -> (Vec<WarmWorker>, Vec<SharedWorker>) {
        let idle = self.warm.idle;
        let mut warm = Vec::new();
        self.keys.retain(|_, entry| {
            let is_idle = entry.last_used.elapsed() >= idle;
            if is_idle {
                warm.extend(entry.warm.drain(..));
            }
            !is_idle || entry.n_in_use > 0
        });
        let Self { keys, orders, .. } = self;
        orders.retain(|key| keys.get(key).is_some_and(|entry| entry.last_used.elapsed() < idle));
        let is_idle =
            |shared: &mut SharedWorker| shared.n_users == 0 && shared.since.elapsed() >= idle;
        let shared = self.shared.extract_if(|_, shared| is_idle(shared));
        (warm, shared.map(|(_, shared)| shared).collect())
    }

    /// Takes one warm worker out, wherever it is.
    pub(super) fn take_warm(&mut self, key: &PoolKey, id: u64) -> Option<WarmWorker> {
        let entry = self.keys.get_mut(key)?;
        let at = entry.warm.iter().position(|warm| warm.id == id)?;
        entry.warm.remove(at)
    }
}
