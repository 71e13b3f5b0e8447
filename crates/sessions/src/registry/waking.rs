//! Wakes sessions that are only in the log.
//!
//! In: a session's id, and the order of a client that opens it again. Out: its handle. It is woken
//! once, however many ask at the same time; its agent is started when it is needed.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Mutex;
use wire::SessionId;

use super::{LiveSession, RegistryError, SessionRegistry};
use crate::details::{CreationParams, SessionDetails};
use crate::host::{AgentCommand, HostSlot};
use crate::lock::lock;
use crate::open::{self, OpenOptions};
use crate::order::SessionOrder;
use crate::session::SessionHandle;

/// The wait for a session to be put aside: an unused one is at once, a prompted one stays.
const PUT_ASIDE_WITHIN: Duration = Duration::from_secs(1);

/// A client's request to open an earlier session again.
pub(crate) struct ReopenRequest<'a> {
    /// Makes the client's order, or refuses it, from what the session was made of.
    pub(crate) order:
        &'a (dyn Fn(&CreationParams) -> Result<SessionOrder, RegistryError> + Send + Sync),
    /// An agent that runs and has no session yet.
    pub(crate) spare: &'a Mutex<Option<OpenOptions>>,
}

impl ReopenRequest<'_> {
    /// The spare agent, if it was started by this command, though maybe in another directory.
    async fn spare(&self, wanted: &AgentCommand) -> Option<Arc<HostSlot>> {
        let is_wanted = |options: &mut OpenOptions| {
            let cwd = wanted.cwd.clone();
            AgentCommand { cwd, ..options.slot.command().clone() } == *wanted
        };
        Some(self.spare.lock().await.take_if(is_wanted)?.slot)
    }
}

impl SessionRegistry {
    /// A session by its id, woken if it is only in the log.
    pub async fn session(&self, id: SessionId) -> Result<SessionHandle, RegistryError> {
        self.awake(id, None).await.map(|live| live.handle)
    }

    /// As [`session`](Self::session), with the order of the client that opens it; but as it is if
    /// its agent runs or another client has it open.
    pub(crate) async fn reopen_session(
        &self,
        id: SessionId,
        again: &ReopenRequest<'_>,
    ) -> Result<SessionHandle, RegistryError> {
        if let Some(handle) = self.awake_handle(id)
            && self.n_clients(id) == 0
            && let Ok(None) = handle.offer().await
        {
            handle.put_aside_if_unused();
            let _ = tokio::time::timeout(PUT_ASIDE_WITHIN, handle.ended()).await;
        }
        self.awake(id, Some(again)).await.map(|live| live.handle)
    }

    /// A session, woken if need be, with its agent's slot.
    pub(super) async fn awake(
        &self,
        id: SessionId,
        again: Option<&ReopenRequest<'_>>,
    ) -> Result<LiveSession, RegistryError> {
        loop {
            self.check_open()?;
            let entry = lock(&self.entries).entry(id).or_default().clone();
            self.put_aside_unused();
            let waking = || async {
                let live = self.wake(id, again).await?;
                self.remove_at_end(&entry, &live.handle);
                Ok(live)
            };
            let live = match entry.get_or_try_init(waking).await {
                Ok(live) => live,
                Err(error) => {
                    self.remove(id, &entry);
                    return Err(error);
                }
            };
            if !live.handle.is_over() {
                return Ok(live.clone());
            }
            // Its claim must be free before it can be woken.
            live.handle.ended().await;
            self.remove(id, &entry);
        }
    }

    async fn wake(
        &self,
        id: SessionId,
        again: Option<&ReopenRequest<'_>>,
    ) -> Result<LiveSession, RegistryError> {
        let record = self.record(id).await?;
        let details = SessionDetails::read(&record);
        let made_of = CreationParams::read(&*self.context.log, &record).await?;
        let said = again.map(|again| (again.order)(&made_of)).transpose()?;
        let mut order = SessionOrder::of_earlier(&record, &details, &made_of);
        if let Some(said) = &said {
            order.adopt(said);
        }
        let policy = self.policy(order.permissions);
        let command = self.command(&order, policy.mode).await?;
        let mut claimed = open::claim(&self.context, id).await?;
        if let Some(said) = &said {
            claimed.adopt_order(&self.context, said).await?;
        }
        let spare = match again {
            Some(again) => again.spare(&command).await,
            None => None,
        };
        let slot = match spare {
            Some(slot) => slot,
            None => {
                let model = order.initial_options.model.as_deref();
                self.pools.slot(command, None, model).await
            }
        };
        let options = OpenOptions { slot: slot.clone(), policy, order };
        let handle = open::wake(&self.context, &options, claimed)?;
        tracing::info!(session = %id, "session woken");
        Ok(LiveSession { handle, slot })
    }
}
