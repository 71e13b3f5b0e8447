//! Cancelling, closing and deleting sessions of the registry.

use std::time::Duration;

use store::{Batch, Claim, ClaimOwner, RecordChanges, StoreError};
use wire::SessionId;
use wire::event::SessionClosed;

use super::{RegistryError, SessionRegistry};
use crate::context::draft;
use crate::lock::lock;
use crate::open;
use crate::session::SessionError;

/// How often a session that is to be deleted is ended, if others wake it again and again.
const MAX_END_TRIES: u32 = 40;
/// The wait before it is ended again: another process may just be opening it.
const END_AGAIN_AFTER: Duration = Duration::from_millis(50);

impl SessionRegistry {
    /// Cancels the turns of the session, if it is awake. Refused if another process has it: its
    /// turns are not known here.
    pub async fn cancel(&self, id: SessionId, by: &str) -> Result<(), RegistryError> {
        if let Some(session) = self.awake_handle(id) {
            // One that has ended meanwhile runs nothing.
            let _ended = session.cancel(by).await;
            return Ok(());
        }
        if let ClaimOwner::Other { pid } = self.context.log.owner(id).await? {
            return Err(StoreError::InUse { session: id, pid }.into());
        }
        if self.record(id).await?.active_turn.is_none() {
            return Ok(());
        }
        // What a failure or an earlier process left is not to run, whenever the log takes that.
        let is_halted = self.halted(id).is_some();
        self.context.halted.drop_all(id);
        match self.context.end_unfinished(id).await {
            Err(StoreError::InUse { .. }) => {
                // Its task is just ending, or somebody wakes it.
                match self.session(id).await {
                    Ok(session) => drop(session.cancel(by).await),
                    Err(_) if is_halted => {}
                    Err(error) => return Err(error),
                }
                Ok(())
            }
            Err(_) if is_halted => Ok(()),
            ended => Ok(ended?),
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
        self.cancel(id, "close").await?;
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
        match self.record(id).await {
            // What is left of it can be forgotten.
            Err(RegistryError::Open(open::OpenError::Store(StoreError::SessionLost {
                ..
            }))) => {}
            found => {
                found?;
                let _claim = self.end_for_good(id).await?;
            }
        }
        self.context.halted.remove(id);
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
}
