//! Cancelling, closing and deleting sessions of the registry, and shutting all of them down.

use std::sync::Arc;
use std::time::Duration;

use store::{Batch, Claim, ClaimOwner, RecordChanges, StoreError};
use wire::SessionId;
use wire::event::SessionClosed;

use super::{LiveSession, RegistryEntry, RegistryError, SessionRegistry};
use crate::context::draft;
use crate::lock::lock;
use crate::open;
use crate::session::{SessionError, SessionPhase};

/// How often a session that is to be deleted is ended, if others wake it again and again.
const MAX_END_TRIES: u32 = 40;
/// The wait before it is ended again: another process may just be opening it.
const END_AGAIN_AFTER: Duration = Duration::from_millis(50);

/// Where turns get no grace, the wait for cancelled ones that do not end is this short as well.
const CANCEL_WITHIN_NO_GRACE: Duration = Duration::from_secs(2);

impl SessionRegistry {
    /// Cancels the turns of the session, if it is awake. Refused if another process has it: its
    /// turns are not known here.
    pub async fn cancel(&self, id: SessionId, by: &str) -> Result<(), RegistryError> {
        if let Some(session) = self.awake_handle(id) {
            // One that has ended meanwhile runs nothing.
            let _ended = session.cancel(by).await;
            return Ok(());
        }
        match self.context.log.owner(id).await? {
            ClaimOwner::Other { pid } => Err(StoreError::InUse { session: id, pid }.into()),
            ClaimOwner::Nobody | ClaimOwner::ThisLog => Ok(()),
        }
    }

    /// Cancels what runs and ends the session's worker; it can be prompted again.
    pub async fn close(&self, id: SessionId) -> Result<(), RegistryError> {
        if let Some(live) = self.live_session(id)
            && !live.handle.is_over()
        {
            let closing = async {
                live.handle.cancel("close").await?;
                live.handle.close().await
            };
            match closing.await {
                // Another was faster, or nobody had used it for long.
                Err(SessionError::PutAside) => live.handle.ended().await,
                closed => {
                    closed?;
                    live.end().await;
                    return Ok(());
                }
            }
        }
        let record = self.record(id).await?;
        if record.is_closed {
            return Ok(());
        }
        let _taken = open::claim(&self.context, id).await?;
        let closed = vec![draft(None, SessionClosed {})];
        let changes = RecordChanges { is_closed: Some(true), ..RecordChanges::default() };
        self.context.log.append(Batch::new(id, closed).with(changes)).await?;
        Ok(())
    }

    /// Ends a session and removes its log and its own directory.
    pub async fn delete(&self, id: SessionId) -> Result<(), RegistryError> {
        self.record(id).await?;
        let _claim = self.end_for_good(id).await?;
        if !self.context.log.delete(id).await? {
            // Another was faster.
            return Err(RegistryError::NoSuchSession(id.to_string()));
        }
        if let Some(dirs) = &self.context.settings.own_dirs
            && let Err(error) = tokio::fs::remove_dir_all(dirs.join(id.as_str())).await
            && error.kind() != std::io::ErrorKind::NotFound
        {
            // The next start tries again: the session itself is deleted.
            tracing::warn!(session = %id, %error, "cannot remove its own directory");
        }
        Ok(())
    }

    /// Ends a session in such a way that nobody wakes it again.
    async fn end_for_good(&self, id: SessionId) -> Result<Claim, RegistryError> {
        let mut n_tries = 0;
        loop {
            let entry = lock(&self.entries).get(&id).cloned();
            if let Some(live) = entry.as_ref().and_then(|entry| entry.get()) {
                let _ = live.handle.cancel("delete").await;
                live.end().await;
            }
            if let Some(entry) = &entry {
                self.remove(id, entry);
            }
            n_tries += 1;
            match self.context.log.claim(id).await {
                Ok(claim) => return Ok(claim),
                // Somebody has woken it meanwhile.
                Err(StoreError::InUse { .. }) if n_tries < MAX_END_TRIES => {
                    tokio::time::sleep(END_AGAIN_AFTER).await;
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Takes no new work, lets turns finish for as long as `grace`, then cancels them, and
    /// ends every worker.
    pub async fn shut_down(&self, grace: Duration) {
        self.stopping.cancel();
        let entries: Vec<Arc<RegistryEntry>> = lock(&self.entries).values().cloned().collect();
        let live: Vec<&LiveSession> = entries.iter().filter_map(|entry| entry.get()).collect();
        let all_idle = async {
            for live in &live {
                let mut phase = live.handle.phase();
                let is_done = |phase: &SessionPhase| {
                    !matches!(phase, SessionPhase::Running | SessionPhase::RequiresAction)
                };
                let _ = phase.wait_for(is_done).await;
            }
        };
        let _ = tokio::time::timeout(grace, all_idle).await;
        for live in &live {
            let _ = live.handle.cancel_soon("shutdown").await;
        }
        let all_cancelled = async {
            for live in &live {
                let _ = live.handle.cancel("shutdown").await;
            }
        };
        let patience = self.context.settings.cancel_grace;
        let within = if grace.is_zero() { patience.min(CANCEL_WITHIN_NO_GRACE) } else { patience };
        let _ = tokio::time::timeout(within, all_cancelled).await;
        // All at once: each may take the whole stop ladder.
        let mut ending = tokio::task::JoinSet::new();
        for entry in entries.clone() {
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
