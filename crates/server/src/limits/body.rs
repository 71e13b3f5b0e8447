//! A request's body with a limit on its size and on the patience of its reader.
//!
//! The time that a handler takes is not the client's: only waiting counts ([`Patience`]). A body
//! whose sender is not let in any more while it comes is none.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, HttpBody};
use hyper::body::{Frame, SizeHint};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

use super::{HttpLimits, Patience, Reserved};
use crate::problem::{Problem, kinds};

/// Why a body was broken off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    #[error("the body is too large")]
    TooLarge,
    #[error("the body came too slowly")]
    TooSlow,
    #[error("too much is sent at once")]
    NoRoom,
    #[error("the token was revoked")]
    Revoked,
}

impl Fault {
    pub fn problem(self, max_bytes: u64) -> Problem {
        match self {
            Self::TooLarge => Problem::of(kinds::BODY_TOO_LARGE)
                .detail(format!("at most {max_bytes} bytes are taken here")),
            Self::TooSlow => Problem::of(kinds::BODY_TOO_SLOW),
            Self::NoRoom => {
                Problem::of(kinds::NO_ROOM_FOR_REQUEST).retry_after(super::COME_BACK_SECONDS)
            }
            Self::Revoked => Problem::unauthorized(),
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
            3 => Some(Fault::NoRoom),
            4 => Some(Fault::Revoked),
            _ => None,
        }
    }

    fn set(&self, fault: Fault) {
        let mark = match fault {
            Fault::TooLarge => 1,
            Fault::TooSlow => 2,
            Fault::NoRoom => 3,
            Fault::Revoked => 4,
        };
        self.0.store(mark, Ordering::Relaxed);
    }
}

/// What a body may be.
#[derive(Debug)]
pub struct Terms {
    pub max_bytes: u64,
    /// Where it is kept, unless it goes to the disk as it comes.
    pub held: Option<Arc<Reserved>>,
    /// Cancelled when its sender is not let in any more.
    pub revoked: Option<CancellationToken>,
}

#[derive(Debug)]
pub struct Metered {
    inner: Body,
    n_left: u64,
    held: Option<Arc<Reserved>>,
    revoked: Option<Pin<Box<WaitForCancellationFutureOwned>>>,
    patience: Patience,
    note: FaultNote,
}

impl Metered {
    pub fn wrap(inner: Body, terms: Terms, limits: &HttpLimits) -> (Body, FaultNote) {
        let note = FaultNote::default();
        // Most requests have none.
        if inner.is_end_stream() {
            return (inner, note);
        }
        let metered = Self {
            inner,
            n_left: terms.max_bytes,
            held: terms.held,
            revoked: terms.revoked.map(|revoked| Box::pin(revoked.cancelled_owned())),
            patience: Patience::new(limits.body_timeout),
            note: note.clone(),
        };
        (Body::new(metered), note)
    }

    fn break_off(&self, fault: Fault) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        self.note.set(fault);
        Poll::Ready(Some(Err(axum::Error::new(fault))))
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
        if self.revoked.as_mut().is_some_and(|revoked| revoked.as_mut().poll(cx).is_ready()) {
            return self.break_off(Fault::Revoked);
        }
        match Pin::new(&mut self.inner).poll_frame(cx) {
            Poll::Ready(Some(Ok(frame))) => {
                let n_data = frame.data_ref().map_or(0, Bytes::len);
                let n_bytes = n_data as u64;
                self.patience.earn(n_bytes);
                match self.n_left.checked_sub(n_bytes) {
                    None => self.break_off(Fault::TooLarge),
                    Some(_) if self.held.as_ref().is_some_and(|held| !held.take(n_data)) => {
                        self.break_off(Fault::NoRoom)
                    }
                    Some(left) => {
                        self.n_left = left;
                        Poll::Ready(Some(Ok(frame)))
                    }
                }
            }
            Poll::Ready(other) => Poll::Ready(other),
            Poll::Pending if self.patience.is_over(cx) => self.break_off(Fault::TooSlow),
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

#[cfg(test)]
mod tests;
