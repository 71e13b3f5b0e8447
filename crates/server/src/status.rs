//! The status of a session, as clients see it.

use serde::{Deserialize, Serialize};
use sessions::desk::Status;
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

impl From<Status> for SessionStatus {
    fn from(status: Status) -> Self {
        match status {
            Status::Idle => Self::Idle,
            Status::Running => Self::Running,
            Status::RequiresAction => Self::RequiresAction,
            Status::Interrupted => Self::Interrupted,
            Status::Closed => Self::Closed,
            Status::Damaged => Self::Damaged,
        }
    }
}
