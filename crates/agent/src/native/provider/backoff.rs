//! Waits before a request is repeated.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::Duration;

use jiff::Timestamp;

/// Longest single wait. An endpoint that wants us to come back later is asked again now and then,
/// until [`MAX_WAITED`] has passed.
pub(super) const MAX_WAIT: Duration = Duration::from_secs(60);
/// Longest sum of all waits of one request: a person sits in front of it.
pub(super) const MAX_WAITED: Duration = Duration::from_secs(150);
/// Longest wait that doubling leads to.
const MAX_BACKOFF: Duration = Duration::from_secs(20);

/// The wait before the `attempt`-th repetition, counted from 1.
pub(super) fn wait(first: Duration, attempt: u32, asked: Option<Duration>) -> Duration {
    if let Some(asked) = asked {
        return asked.min(MAX_WAIT);
    }
    let doubled = first.saturating_mul(1 << attempt.saturating_sub(1).min(16)).min(MAX_BACKOFF);
    // Seeded from the system's randomness once per thread, and different each time.
    let random = RandomState::new().build_hasher().finish().to_le_bytes()[0];
    // Between three quarters and five quarters: those who failed together do not come back
    // together.
    doubled.mul_f64(0.75 + f64::from(random) / 510.0)
}

/// The time in `Retry-After`: seconds, or a date.
pub(super) fn asked(value: &str, now: Timestamp) -> Option<Duration> {
    let value = value.trim();
    if let Ok(seconds) = value.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some(Duration::MAX);
    }
    let date = jiff::fmt::rfc2822::parse(value).ok()?;
    // A date that has passed means: now.
    Some(Duration::try_from(date.timestamp().duration_since(now)).unwrap_or_default())
}

#[cfg(test)]
mod tests;
