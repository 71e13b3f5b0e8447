//! Lets sessions go on by themselves: those whose tasks had failed, as soon as the log takes appends
//! again, and those in which prompts of an earlier process wait.
//!
//! In: halted sessions, a log in trouble, and what the start of this process has found. Out: what
//! logs lack, with the true reason; and turns. Nobody has to ask for it: who only watches, or has
//! sent a prompt that was accepted, would wait for ever.

use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use store::StoreError;
use wire::SessionId;

use super::{RegistryError, SessionRegistry};
use crate::lock::lock;

/// The pause between two tries: a person who has made room sees at once that it helped.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// The pause where it failed again and again: each try costs a look and a page of the log.
const LONGEST_PAUSE: Duration = Duration::from_secs(4);
/// Whether the log's files are still there, and whether it takes appends again, is looked at so
/// often: monitoring asks less often.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// Agents that are started at a time for prompts that wait: as many as a person might start.
const STARTED_AT_ONCE: usize = 4;

/// Mends until the registry is gone or shuts down.
pub(super) async fn run(registry: Weak<SessionRegistry>) {
    let mut pause = FIRST_PAUSE;
    loop {
        let Some(known) = registry.upgrade() else { return };
        let (stopping, halted) = (known.stopping.clone(), known.context.halted.clone());
        let is_waiting = !halted.to_mend().is_empty();
        drop(known);
        tokio::select! {
            () = stopping.cancelled() => return,
            // Of those that come now the pause counts from here on.
            () = halted.next(), if !is_waiting => pause = FIRST_PAUSE,
            () = tokio::time::sleep(if is_waiting { pause } else { LOOK_EVERY }) => {}
        }
        let Some(registry) = registry.upgrade() else { return };
        pause = match registry.mend().await {
            true => FIRST_PAUSE,
            false => (pause * 2).min(LONGEST_PAUSE),
        };
    }
}

impl SessionRegistry {
    /// Starts the task that mends, which ends with the registry.
    pub(super) fn keep_mending(self: &Arc<Self>) {
        task::spawn(run(Arc::downgrade(self)));
    }

    /// Lets prompts have their turns that were accepted by an earlier process.
    pub fn resume_waiting(self: &Arc<Self>, sessions: Vec<SessionId>) {
        let sessions = Arc::new(Mutex::new(sessions.into_iter()));
        for _ in 0..STARTED_AT_ONCE {
            let (registry, sessions) = (self.clone(), sessions.clone());
            task::spawn(async move {
                let next = || lock(&sessions).next();
                while let Some(id) = next() {
                    if let Err(error) = registry.resume_one(id).await {
                        tracing::warn!(session = %id, %error, "its prompts still wait");
                    }
                }
            });
        }
    }

    async fn resume_one(&self, id: SessionId) -> Result<(), RegistryError> {
        // The session's task sees by itself that prompts wait; their agents are not all to be
        // started at once.
        let started = self.session(id).await?.link().await?;
        started.map(drop).map_err(RegistryError::Agent)
    }

    /// Tries once; false if something is left.
    async fn mend(&self) -> bool {
        let log = self.log();
        if !log.health().is_writable() && log.probe().await.is_err() {
            return false;
        }
        let mut is_all = true;
        for id in self.context.halted.to_mend() {
            if self.stopping.is_cancelled() {
                return true;
            }
            match self.mend_one(id).await {
                Ok(()) => tracing::info!(session = %id, "goes on after a failure of the log"),
                Err(error) => {
                    tracing::warn!(session = %id, %error, "cannot be put right yet");
                    is_all = false;
                    if !log.health().is_writable() {
                        return false;
                    }
                }
            }
        }
        is_all
    }

    async fn mend_one(&self, id: SessionId) -> Result<(), RegistryError> {
        match self.session(id).await {
            // Deleted meanwhile, or another process has it and puts it right.
            Err(RegistryError::NoSuchSession(_)) => {}
            Err(RegistryError::Open(crate::open::OpenError::Store(StoreError::InUse {
                ..
            }))) => {}
            woken => return woken.map(drop),
        }
        self.context.halted.remove(id);
        Ok(())
    }
}
