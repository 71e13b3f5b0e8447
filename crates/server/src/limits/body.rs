//! A request's body with a limit on its size and on the patience of its reader.
//!
//! The time that a handler takes is not the client's: only waiting counts. There is a budget of it,
//! and what arrives earns more, so that a large upload on a slow line passes, and one byte now and
//! then does not. A body is broken off when its sender's token is revoked.

use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use hyper::body::{Frame, SizeHint};
use tokio::time::{Instant, Sleep};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

use super::{HttpLimits, QuotaReservation};
use crate::problem::{Problem, kinds};

/// Why a body was broken off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BodyFault {
    #[error("the body is too large")]
    TooLarge,
    #[error("the body came too slowly")]
    TooSlow,
    #[error("too much is sent at once")]
    NoRoom,
    #[error("the token was revoked")]
    Revoked,
}

impl BodyFault {
    pub fn problem(self, max_bytes: u64) -> Problem {
        match self {
            Self::TooLarge => Problem::of(kinds::BODY_TOO_LARGE)
                .detail(format!("at most {max_bytes} bytes are taken here")),
            Self::TooSlow => Problem::of(kinds::BODY_TOO_SLOW),
            Self::NoRoom => {
                Problem::of(kinds::NO_ROOM_FOR_REQUEST).retry_after(super::RETRY_AFTER_SECONDS)
            }
            Self::Revoked => Problem::unauthorized(),
        }
    }
}

/// Tells the guard, after the handler, why the body was broken off: the first fault counts.
pub(super) type BodyFaultNote = Arc<OnceLock<BodyFault>>;

/// The limits of one body.
#[derive(Debug)]
pub struct BodyLimits {
    pub max_bytes: u64,
    /// The quota that it counts against, unless it goes to the disk as it comes.
    pub reservation: Option<Arc<QuotaReservation>>,
    /// Cancelled when its sender's token is revoked.
    pub revoked: Option<CancellationToken>,
}

#[derive(Debug)]
pub struct MeteredBody {
    inner: Body,
    n_left: u64,
    reservation: Option<Arc<QuotaReservation>>,
    revoked: Option<Pin<Box<WaitForCancellationFutureOwned>>>,
    wait_budget: WaitBudget,
    note: BodyFaultNote,
}

impl MeteredBody {
    pub fn wrap(inner: Body, terms: BodyLimits, limits: &HttpLimits) -> (Body, BodyFaultNote) {
        let note = BodyFaultNote::default();
        // Most requests have no body.
        if inner.is_end_stream() {
            return (inner, note);
        }
        let metered = Self {
            inner,
            n_left: terms.max_bytes,
            reservation: terms.reservation,
            revoked: terms.revoked.map(|revoked| Box::pin(revoked.cancelled_owned())),
            wait_budget: WaitBudget::new(limits.body_timeout),
            note: note.clone(),
        };
        (Body::new(metered), note)
    }

    fn break_off(&self, fault: BodyFault) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let _ = self.note.set(fault);
        Poll::Ready(Some(Err(axum::Error::new(fault))))
    }
}

impl HttpBody for MeteredBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if let Some(fault) = self.note.get().copied() {
            return self.break_off(fault);
        }
        if self.revoked.as_mut().is_some_and(|revoked| revoked.as_mut().poll(cx).is_ready()) {
            return self.break_off(BodyFault::Revoked);
        }
        match Pin::new(&mut self.inner).poll_frame(cx) {
            Poll::Ready(Some(Ok(frame))) => {
                let n_data = frame.data_ref().map_or(0, Bytes::len);
                let n_bytes = n_data as u64;
                self.wait_budget.earn(n_bytes);
                let Some(left) = self.n_left.checked_sub(n_bytes) else {
                    return self.break_off(BodyFault::TooLarge);
                };
                self.n_left = left;
                match self.reservation.as_ref().is_none_or(|reserved| reserved.take(n_data)) {
                    true => Poll::Ready(Some(Ok(frame))),
                    false => self.break_off(BodyFault::NoRoom),
                }
            }
            Poll::Ready(other) => Poll::Ready(other),
            Poll::Pending if self.wait_budget.is_over(cx) => self.break_off(BodyFault::TooSlow),
            Poll::Pending => Poll::Pending,
        }
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

/// The slowest line on which an upload makes sense.
const LEAST_BYTES_PER_SECOND: u64 = 16 << 10;

/// How long a client may keep us waiting for the rest of what it has begun to send.
#[derive(Debug)]
pub struct WaitBudget {
    /// Waiting that is left, and the most that can be saved up.
    budget: Duration,
    full_budget: Duration,
    waiting: Option<(Instant, Pin<Box<Sleep>>)>,
}

impl WaitBudget {
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

    /// Whether no time is left, while nothing comes.
    pub fn is_over(&mut self, cx: &mut Context<'_>) -> bool {
        let budget = self.budget;
        let (_, alarm) = self
            .waiting
            .get_or_insert_with(|| (Instant::now(), Box::pin(tokio::time::sleep(budget))));
        alarm.as_mut().poll(cx).is_ready()
    }
}

#[cfg(test)]
mod tests;
