//! The status of a session, in whichever process it runs.
//!
//! In: its record. Out: one word. Of a session that runs in this process its task knows; of one
//! that runs in another, or did, the claim and the end of its log tell.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};
use store::{ClaimOwner, EventLog, SessionRecord, StoreError};
use utoipa::ToSchema;
use wire::{Seq, SessionId, TurnId};

use super::SessionRegistry;
use crate::details::SessionDetails;
use crate::session::SessionPhase;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum SessionStatus {
    Idle,
    Running,
    /// A question waits for an answer.
    RequiresAction,
    /// Its process ended in the middle of a turn.
    Interrupted,
    /// It could not go on, because its log could not.
    Failed,
    Closed,
    Damaged,
    /// It is a fork whose conversation is still being copied.
    Copying,
}

/// Last events that are searched for an open question: an agent that waits says little meanwhile.
const MAX_SEARCHED_EVENTS: usize = 500;

impl SessionRegistry {
    /// Why the session could not go on; none once it is woken again.
    pub fn halted(&self, id: SessionId) -> Option<String> {
        self.context.halted.get(id).map(|halt| halt.why)
    }

    /// Whether `turn` ran when the session could not go on: it does not run any more, also where
    /// the log does not say so yet.
    pub fn has_halted(&self, id: SessionId, turn: TurnId) -> bool {
        self.context.halted.get(id).is_some_and(|halt| halt.turn == Some(turn))
    }

    pub async fn status(&self, record: &SessionRecord) -> SessionStatus {
        let phase = self.awake_handle(record.id).map(|handle| handle.phase().borrow().clone());
        match (record, phase) {
            (SessionRecord { damage: Some(_), .. }, _) => SessionStatus::Damaged,
            (SessionRecord { active_turn: Some(_), .. }, None)
                if SessionDetails::read(record).is_partial =>
            {
                SessionStatus::Copying
            }
            (_, None) if self.halted(record.id).is_some() => SessionStatus::Failed,
            (_, Some(SessionPhase::RequiresAction)) => SessionStatus::RequiresAction,
            // Listed a moment before the session's own task says so.
            _ if self.context.pending.count(record.id) > 0 => SessionStatus::RequiresAction,
            (SessionRecord { active_turn: Some(_), .. }, Some(_)) => SessionStatus::Running,
            (SessionRecord { active_turn: Some(_), .. }, None) => {
                // If the owner cannot be found out, the record counts.
                elsewhere(&*self.context.log, record).await.unwrap_or(SessionStatus::Running)
            }
            _ => at_rest(record),
        }
    }
}

fn at_rest(record: &SessionRecord) -> SessionStatus {
    if record.is_closed { SessionStatus::Closed } else { SessionStatus::Idle }
}

/// The status of a session whose running turn is not one of this registry.
async fn elsewhere(
    log: &dyn EventLog,
    record: &SessionRecord,
) -> Result<SessionStatus, StoreError> {
    Ok(match log.owner(record.id).await? {
        ClaimOwner::ThisLog => SessionStatus::Running,
        ClaimOwner::Other { .. } if is_asking(log, record).await? => SessionStatus::RequiresAction,
        ClaimOwner::Other { .. } => SessionStatus::Running,
        // The turn may have ended in good order since the record was read.
        ClaimOwner::Nobody => match log.session(record.id).await? {
            Some(now) if now.active_turn.is_none() => at_rest(&now),
            _ => SessionStatus::Interrupted,
        },
    })
}

/// Whether one of the last events is a question that nobody has answered.
async fn is_asking(log: &dyn EventLog, record: &SessionRecord) -> Result<bool, StoreError> {
    let after = Seq(record.head.0.saturating_sub(MAX_SEARCHED_EVENTS as u64));
    let mut waiting = HashSet::new();
    for event in &log.read(record.id, after, MAX_SEARCHED_EVENTS).await? {
        waiting.extend(event.question_for_person().map(|asked| asked.id));
        if let Some(request) = event.own().and_then(|own| own.answered_question()) {
            waiting.remove(&request);
        }
    }
    Ok(!waiting.is_empty())
}
