//! The timeouts of a pool's requests.

use super::PoolPlan;
use super::routed_message::{CallKind, RoutedMessage};

/// The timeouts of requests by kind, counted from when these came.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Timeouts {
    prompt: Option<u64>,
    /// For a replayed `initialize` and a move of a session, for which a prompt may wait.
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

    pub(super) fn of_message(self, routed: &RoutedMessage<'_>) -> Option<u64> {
        self.of(routed.kind).filter(|_| routed.is_request())
    }
}
