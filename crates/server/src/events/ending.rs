//! Why a stream of events is over, and the last frame that says so.

use serde_json::json;
use store::StoreError;

use super::frame_buffer::FrameBuffer;
use super::query::FrameId;
use crate::problem::Problem;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum StreamEnd {
    /// The turn or the idleness that the reader waited for has come.
    Done(&'static str),
    SessionDeleted,
    Revoked,
    DaemonStopping,
    /// The reader took too little for too long.
    Evicted {
        resume_after: Option<FrameId>,
    },
    /// The log cannot be read any further. It may be another time, unless the problem is the client's
    /// to solve.
    Broken(Box<Problem>),
}

impl StreamEnd {
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Done(_) => "stream_end",
            Self::SessionDeleted => "session_deleted",
            Self::Revoked => "revoked",
            Self::DaemonStopping => "daemon_stopping",
            Self::Evicted { .. } => "client_evicted",
            Self::Broken(_) => "stream_error",
        }
    }

    pub(super) fn write(&self, buffer: &mut FrameBuffer) {
        let data = match self {
            Self::Done(reason) => json!({ "reason": reason }),
            Self::SessionDeleted | Self::Revoked | Self::DaemonStopping => json!({}),
            Self::Evicted { resume_after } => json!({
                "reason": "too_slow",
                "resumeAfter": resume_after.map(|id| id.to_string()),
            }),
            Self::Broken(problem) => json!(problem),
        };
        buffer.push_notice(self.name(), &data);
    }

    /// The WebSocket's close code.
    pub(super) fn close_code(&self) -> u16 {
        match self {
            Self::Done(_) | Self::SessionDeleted => 1000,
            Self::DaemonStopping => 1001,
            Self::Revoked | Self::Evicted { .. } => 1008,
            Self::Broken(_) => 1011,
        }
    }
}

impl From<StoreError> for StreamEnd {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::NoSuchSession(_) => Self::SessionDeleted,
            error => Self::Broken(Box::new(error.into())),
        }
    }
}
