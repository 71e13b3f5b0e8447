//! A request's body with a limit on its size and on the patience of its reader.
//!
//! The time that a handler takes is not the client's: only waiting counts. A body starts
//! with a budget of waiting, and what arrives earns more, so a large upload on a slow line
//! passes, and one byte now and then does not.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::http::StatusCode;
use hyper::body::{Frame, SizeHint};
use tokio::time::{Instant, Sleep};

use super::HttpLimits;
use crate::problem::Problem;

/// The slowest line on which an upload makes sense.
const LEAST_BYTES_PER_SECOND: u64 = 16 << 10;

/// Why a body was broken off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    #[error("the body is too large")]
    TooLarge,
    #[error("the body came too slowly")]
    TooSlow,
}

impl Fault {
    pub fn problem(self, max_bytes: u64) -> Problem {
        match self {
            Self::TooLarge => {
                let title = "the body is too large";
                Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "body-too-large", title)
                    .detail(format!("at most {max_bytes} bytes are taken here"))
            }
            Self::TooSlow => {
                let title = "the body came too slowly";
                Problem::new(StatusCode::REQUEST_TIMEOUT, "body-too-slow", title)
            }
        }
    }
}

/// Tells the guard, after the handler, what became of the body.
#[derive(Debug, Clone, Default)]
pub struct FaultNote(Arc<AtomicU8>);

impl FaultNote {
    pub fn get(&self) -> Option<Fault> {
        match self.0.load(Ordering::Relaxed) {
            1 => Some(Fault::TooLarge),
            2 => Some(Fault::TooSlow),
            _ => None,
        }
    }

    fn set(&self, fault: Fault) {
        let mark = match fault {
            Fault::TooLarge => 1,
            Fault::TooSlow => 2,
        };
        self.0.store(mark, Ordering::Relaxed);
    }
}

#[derive(Debug)]
pub struct Metered {
    inner: Body,
    n_left: u64,
    /// Waiting that is left, and the most that can be saved up.
    budget: Duration,
    full_budget: Duration,
    waiting: Option<(Instant, Pin<Box<Sleep>>)>,
    note: FaultNote,
}

impl Metered {
    pub fn wrap(inner: Body, max_bytes: u64, limits: &HttpLimits) -> (Body, FaultNote) {
        let note = FaultNote::default();
        // Most requests have none.
        if inner.is_end_stream() {
            return (inner, note);
        }
        let metered = Self {
            inner,
            n_left: max_bytes,
            budget: limits.body_timeout,
            full_budget: limits.body_timeout,
            waiting: None,
            note: note.clone(),
        };
        (Body::new(metered), note)
    }

    fn break_off(&self, fault: Fault) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        self.note.set(fault);
        Poll::Ready(Some(Err(axum::Error::new(fault))))
    }

    /// Books the waiting that has ended and the bytes that it brought.
    fn account(&mut self, n_bytes: u64) {
        if let Some((since, _)) = self.waiting.take() {
            self.budget = self.budget.saturating_sub(since.elapsed());
        }
        let micros = n_bytes.saturating_mul(1_000_000) / LEAST_BYTES_PER_SECOND;
        let earned = self.budget.saturating_add(Duration::from_micros(micros));
        self.budget = earned.min(self.full_budget);
    }
}

impl HttpBody for Metered {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if let Some(fault) = self.note.get() {
            return self.break_off(fault);
        }
        match Pin::new(&mut self.inner).poll_frame(cx) {
            Poll::Ready(Some(Ok(frame))) => {
                let n_bytes = frame.data_ref().map_or(0, |data| data.len() as u64);
                self.account(n_bytes);
                match self.n_left.checked_sub(n_bytes) {
                    None => self.break_off(Fault::TooLarge),
                    Some(left) => {
                        self.n_left = left;
                        Poll::Ready(Some(Ok(frame)))
                    }
                }
            }
            Poll::Ready(other) => Poll::Ready(other),
            Poll::Pending => {
                let budget = self.budget;
                let (_, alarm) = self
                    .waiting
                    .get_or_insert_with(|| (Instant::now(), Box::pin(tokio::time::sleep(budget))));
                if alarm.as_mut().poll(cx).is_ready() {
                    return self.break_off(Fault::TooSlow);
                }
                Poll::Pending
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

#[cfg(test)]
mod tests;
