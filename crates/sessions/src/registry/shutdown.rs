//! The end of the registry: all turns and all workers, at once.
//!
//! In: how long turns may go on. Out: no worker is left. A command that ends its own sessions gives
//! their agents the usual patience. A daemon has promised a time at which it ends: until then turns
//! and agents have all the time that they want, and then all that is left is hurried.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, timeout, timeout_at};

use super::{LiveSession, RegistryEntry, SessionRegistry};
use crate::lock::lock;
use crate::session::SessionPhase;

/// Where turns get no grace, the wait for cancelled ones that do not end is this short as well.
const CANCEL_WITHIN_NO_GRACE: Duration = Duration::from_secs(2);
/// The wait for cancelled turns at the end of a drain: nearly all agents were seen to answer within
/// a second, and what the others would still say is not worth the promise.
const CANCEL_WITHIN_HURRY: Duration = Duration::from_secs(1);
/// After that, from the end of an agent's input to SIGTERM: enough to write what is left, if the
/// agent has ended its turn. Half a second later follows SIGKILL ([`bus::Launch::hurry`]), and so all
/// is over within two seconds.
const EOF_WITHIN_HURRY: Duration = Duration::from_millis(200);

/// What becomes of prompts that wait when all turns are cancelled.
#[derive(Debug, Clone, Copy)]
enum WaitingPrompts {
    Dropped,
    Kept,
}

impl SessionRegistry {
    /// Takes no new work, cancels the turns that run, and ends every worker with the patience that
    /// is usual.
    pub async fn shut_down(&self) {
        self.stopping.cancel();
        let entries = self.all_entries();
        self.cancel_all(&entries, WaitingPrompts::Dropped, CANCEL_WITHIN_NO_GRACE).await;
        self.end_all(entries).await;
    }

    /// Takes no new work, and lets turns and agents come to an end until `limit` has passed. Then
    /// cancels the turns that are left, and ends every worker within two seconds. Prompts that wait
    /// are left to the next process.
    pub async fn drain(&self, limit: Duration) {
        let until = Instant::now() + limit;
        self.stopping.cancel();
        let entries = self.all_entries();
        for live in all_live(&entries) {
            let _ = live.handle.hold().await;
        }
        let _ = timeout_at(until, all_idle(&entries)).await;
        let left = until.saturating_duration_since(Instant::now());
        let within = left.max(CANCEL_WITHIN_HURRY);
        self.cancel_all(&entries, WaitingPrompts::Kept, within).await;
        let hurry_at = until.max(Instant::now() + EOF_WITHIN_HURRY);
        let ending = self.end_all(entries);
        tokio::pin!(ending);
        if timeout_at(hurry_at, &mut ending).await.is_err() {
            tracing::warn!("agents that have not ended in time are killed");
            self.context.setup.hurry.cancel();
            ending.await;
        }
    }

    fn all_entries(&self) -> Vec<Arc<RegistryEntry>> {
        lock(&self.entries).values().cloned().collect()
    }

    /// Cancels all turns, and waits for those that do not end, no longer than for one that a client
    /// has cancelled.
    async fn cancel_all(
        &self,
        entries: &[Arc<RegistryEntry>],
        waiting: WaitingPrompts,
        within: Duration,
    ) {
        let mut cancelling = tokio::task::JoinSet::new();
        for live in all_live(entries) {
            let handle = live.handle.clone();
            cancelling.spawn(task::boxed(async move {
                let _ = match waiting {
                    WaitingPrompts::Dropped => handle.cancel("shutdown").await,
                    WaitingPrompts::Kept => handle.stop_turn("shutdown").await,
                };
            }));
        }
        let all_cancelled = cancelling.join_all();
        let _ = timeout(within.min(self.context.settings.cancel_grace), all_cancelled).await;
    }

    /// Ends all sessions at once, as each may take the whole stop ladder; then the workers that
    /// stand ready.
    async fn end_all(&self, entries: Vec<Arc<RegistryEntry>>) {
        let mut ending = tokio::task::JoinSet::new();
        for entry in entries {
            ending.spawn(task::boxed(async move {
                if let Some(live) = entry.get() {
                    live.end().await;
                }
            }));
        }
        ending.join_all().await;
        self.pools.shut_down().await;
    }
}

fn all_live(entries: &[Arc<RegistryEntry>]) -> impl Iterator<Item = &LiveSession> {
    entries.iter().filter_map(|entry| entry.get())
}

async fn all_idle(entries: &[Arc<RegistryEntry>]) {
    for live in all_live(entries) {
        let mut phase = live.handle.phase();
        let is_done = |phase: &SessionPhase| {
            !matches!(phase, SessionPhase::Running | SessionPhase::RequiresAction)
        };
        let _ = phase.wait_for(is_done).await;
    }
}
