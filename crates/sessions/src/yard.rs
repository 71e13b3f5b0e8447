//! What all sessions of one process share, and putting right what an earlier one left.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::json;
use store::{Batch, Changes, Durability, EventLog, Filter, SessionRecord, StoreError};
use wire::{Draft, Json, Kind, SessionId};

use crate::mint;
use crate::session::{SessionHandle, WeakHandle};
use crate::settings::{Settings, WorkerSetup};

#[derive(Clone)]
pub struct Yard {
    pub log: Arc<dyn EventLog>,
    pub settings: Settings,
    pub setup: WorkerSetup,
    pub live: Arc<Live>,
}

/// The sessions that run in this process, for those who only know an id.
#[derive(Debug, Default)]
pub struct Live(Mutex<HashMap<SessionId, WeakHandle>>);

impl Live {
    pub(crate) fn add(&self, handle: &SessionHandle) {
        let mut live = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        live.retain(|id, weak| weak.upgrade(*id).is_some());
        live.insert(handle.id(), handle.downgrade());
    }

    pub fn find(&self, id: SessionId) -> Option<SessionHandle> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&id)?.upgrade(id)
    }
}

impl std::fmt::Debug for Yard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Yard").field("settings", &self.settings).finish_non_exhaustive()
    }
}

impl Yard {
    /// Ends the turns of sessions whose process died, so that they can be used again.
    /// Sessions that a living process owns are left alone.
    pub async fn recover(&self) -> Result<Vec<SessionId>, StoreError> {
        let filter =
            Filter { has_active_turn: Some(true), limit: Filter::MAX_LIMIT, ..Filter::default() };
        let mut recovered = Vec::new();
        for record in self.log.sessions(filter).await? {
            match self.log.claim(record.id).await {
                Ok(_claim) => {
                    // It may have ended between the listing and the claim.
                    let Some(record) = self.log.session(record.id).await? else { continue };
                    self.mend(&record).await?;
                    recovered.push(record.id);
                }
                Err(StoreError::InUse { .. } | StoreError::NoSuchSession(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(recovered)
    }

    /// Puts one claimed session right: reports lost events, ends an interrupted turn.
    pub async fn mend(&self, record: &SessionRecord) -> Result<(), StoreError> {
        let mut drafts = Vec::new();
        if let Some(damage) = self.log.recover(record.id).await? {
            let payload = json!({ "lostFrom": damage.lost_from.0, "lostTo": damage.lost_to.0 });
            drafts.push(draft(Kind::LogRecovered, None, &payload));
        }
        let Some(turn) = record.active_turn else {
            return self.append_if_any(record.id, drafts, Changes::default()).await;
        };
        let payload = json!({
            "stopReason": "error",
            "error": {
                "category": "interrupted",
                "message": "Switchyard ended while this turn was running",
                "remedy": "send the prompt again",
            },
        });
        drafts.push(draft(Kind::TurnEnded, Some(turn), &payload));
        let changes = Changes { active_turn: Some(None), ..Changes::default() };
        self.append_if_any(record.id, drafts, changes).await
    }

    async fn append_if_any(
        &self,
        session: SessionId,
        drafts: Vec<Draft>,
        changes: Changes,
    ) -> Result<(), StoreError> {
        if drafts.is_empty() {
            return Ok(());
        }
        let batch = Batch::new(session, drafts).durable(Durability::Power).with(changes);
        self.log.append(batch).await.map(|_| ())
    }
}

/// An event of our own, now.
pub(crate) fn draft(
    kind: Kind,
    turn: Option<wire::TurnId>,
    payload: &impl serde::Serialize,
) -> Draft {
    Draft { at: mint::now(), turn, kind, payload: Json::of(payload) }
}
