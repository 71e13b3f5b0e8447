//! What is done about a reader, the longer it takes nothing.

use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use super::Pace;

/// Whoever takes a chunk within this time is not worth reading a page anew for.
const SHORT_WAIT: Duration = Duration::from_millis(100);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// Nothing is held for it any more.
    Rest,
    /// It will be told.
    Warn,
    /// It loses its connection.
    Evict,
}

/// Counts from its making.
#[derive(Debug)]
pub(super) struct Patience {
    pace: Pace,
    since: Instant,
    next: Step,
}

impl Patience {
    pub(super) fn new(pace: Pace) -> Self {
        Self { pace, since: Instant::now(), next: Step::Rest }
    }

    /// Waits until the next step is due. Dropping the future skips none.
    pub(super) async fn next(&mut self) -> Step {
        let (after, then) = match self.next {
            Step::Rest => (SHORT_WAIT.min(self.pace.warn_after), Step::Warn),
            Step::Warn => (self.pace.warn_after, Step::Evict),
            Step::Evict => (self.pace.evict_after, Step::Evict),
        };
        sleep_until(self.since + after).await;
        std::mem::replace(&mut self.next, then)
    }
}
