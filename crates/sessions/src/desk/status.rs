//! The status of a session, in whichever process it runs.
//!
//! In: its record. Out: one word. Of a session that runs in this process its task knows; of one
//! that runs in another, or did, the claim and the end of its log tell.

use std::collections::HashSet;

use store::{EventLog, Owner, SessionRecord, StoreError};
use wire::{Seq, SessionId};

use super::Desk;
use crate::session::Phase;

/// The status of a session, as lists show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    Idle,
    Running,
    RequiresAction,
    /// Its process ended in the middle of a turn.
    Interrupted,
    Closed,
    Damaged,
}

/// Last events that are searched for an open question: an agent that waits says little meanwhile.
const LOOKED_AT: usize = 500;

impl Desk {
    /// Why the session's task halted; none once it is woken again.
    pub fn halted(&self, id: SessionId) -> Option<String> {
        self.phase(id)?.borrow().halted().map(str::to_owned)
    }

    pub async fn status(&self, record: &SessionRecord) -> Status {
        let phase = self.live(record.id).map(|handle| handle.phase().borrow().clone());
        match (record, phase) {
            (SessionRecord { damage: Some(_), .. }, _) => Status::Damaged,
            (_, Some(Phase::RequiresAction)) => Status::RequiresAction,
            // Listed a moment before the session's own task says so.
            _ if self.yard.pending.count(record.id) > 0 => Status::RequiresAction,
            (SessionRecord { active_turn: Some(_), .. }, Some(_)) => Status::Running,
            (SessionRecord { active_turn: Some(_), .. }, None) => {
                // If the owner cannot be found out, the record counts.
                elsewhere(&*self.yard.log, record).await.unwrap_or(Status::Running)
            }
            _ => at_rest(record),
        }
    }
}

fn at_rest(record: &SessionRecord) -> Status {
    if record.is_closed { Status::Closed } else { Status::Idle }
}

/// The status of a session whose running turn is not one of this registry.
async fn elsewhere(log: &dyn EventLog, record: &SessionRecord) -> Result<Status, StoreError> {
    Ok(match log.owner(record.id).await? {
        Owner::ThisLog => Status::Running,
        Owner::Other { .. } if is_asking(log, record).await? => Status::RequiresAction,
        Owner::Other { .. } => Status::Running,
        // The turn may have ended in good order since the record was read.
        Owner::Nobody => match log.session(record.id).await? {
            Some(now) if now.active_turn.is_none() => at_rest(&now),
            _ => Status::Interrupted,
        },
    })
}

/// Whether one of the last events is a question that nobody has answered.
async fn is_asking(log: &dyn EventLog, record: &SessionRecord) -> Result<bool, StoreError> {
    let after = Seq(record.head.0.saturating_sub(LOOKED_AT as u64));
    let mut waiting = HashSet::new();
    for event in &log.read(record.id, after, LOOKED_AT).await? {
        waiting.extend(event.asked_person().map(|asked| asked.id));
        if let Some(request) = event.own().and_then(|own| own.answered()) {
            waiting.remove(&request);
        }
    }
    Ok(!waiting.is_empty())
}
