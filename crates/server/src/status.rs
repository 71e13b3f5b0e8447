//! The status of a session, as clients see it.

use serde::{Deserialize, Serialize};
use sessions::registry::SessionActivity;
use utoipa::ToSchema;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SessionStatus {
    Idle,
    Running,
    /// A question waits for an answer.
    RequiresAction,
    /// Its process ended in the middle of a turn.
    Interrupted,
    Closed,
    Damaged,
}

impl From<SessionActivity> for SessionStatus {
    fn from(status: SessionActivity) -> Self {
        match status {
            SessionActivity::Idle => Self::Idle,
            SessionActivity::Running => Self::Running,
            SessionActivity::RequiresAction => Self::RequiresAction,
            SessionActivity::Interrupted => Self::Interrupted,
            SessionActivity::Closed => Self::Closed,
            SessionActivity::Damaged => Self::Damaged,
        }
    }
}
