//! How long a client may keep us waiting for the rest of what it has begun to send.
//!
//! Only waiting counts. There is a budget of it, and what arrives earns more, so that a large
//! upload on a slow line passes, and one byte now and then does not.

use std::pin::Pin;
use std::task::Context;
use std::time::Duration;

use tokio::time::{Instant, Sleep};

/// The slowest line on which an upload makes sense.
const LEAST_BYTES_PER_SECOND: u64 = 16 << 10;

#[derive(Debug)]
pub struct Patience {
    /// Waiting that is left, and the most that can be saved up.
    budget: Duration,
    full_budget: Duration,
    waiting: Option<(Instant, Pin<Box<Sleep>>)>,
}

impl Patience {
    pub fn new(full_budget: Duration) -> Self {
        Self { budget: full_budget, full_budget, waiting: None }
    }

    /// Books the waiting that has ended and the bytes that it brought.
    pub fn earn(&mut self, n_bytes: u64) {
        if let Some((since, _)) = self.waiting.take() {
            self.budget = self.budget.saturating_sub(since.elapsed());
        }
        let micros = n_bytes.saturating_mul(1_000_000) / LEAST_BYTES_PER_SECOND;
        let earned = self.budget.saturating_add(Duration::from_micros(micros));
        self.budget = earned.min(self.full_budget);
    }

    /// Whether there is none left, while nothing comes.
    pub fn is_over(&mut self, cx: &mut Context<'_>) -> bool {
        let budget = self.budget;
        let (_, alarm) = self
            .waiting
            .get_or_insert_with(|| (Instant::now(), Box::pin(tokio::time::sleep(budget))));
        alarm.as_mut().poll(cx).is_ready()
    }
}
