//! How long the requests of a pool may take.

use super::PoolPlan;
use super::parcel::{CallKind, Parcel};

/// How long requests may take, counted from when they came.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Timeouts {
    prompt: Option<u64>,
    /// The client's `initialize` and a move of a session, for which a prompt may wait.
    before: Option<u64>,
    other: Option<u64>,
}

impl Timeouts {
    pub(super) fn new(plan: &PoolPlan) -> Self {
        let (prompt, other) = (plan.prompt_timeout, plan.request_timeout);
        Self { prompt, before: other.or(prompt), other }
    }

    pub(super) fn of(self, kind: CallKind) -> Option<u64> {
        match kind {
            CallKind::Prompt => self.prompt,
            CallKind::Replay | CallKind::Move => self.before,
            _ => self.other,
        }
    }

    pub(super) fn of_parcel(self, parcel: &Parcel<'_>) -> Option<u64> {
        self.of(parcel.kind).filter(|_| parcel.is_request())
    }
}
