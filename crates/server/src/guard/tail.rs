//! The body of an answer, for as long as its reader may have it.
//!
//! A stream that is open when its token is revoked ends, whether or not the handler behind
//! it cares. It breaks instead of ending properly, so that nobody takes it for complete.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use hyper::body::{Frame, SizeHint};
use tokio_util::sync::CancellationToken;

use super::arrival::Busy;
use super::shares::Share;

/// Time for a handler to say goodbye before its stream is cut; with the time in which a
/// change is noticed it stays within a second.
pub(super) const GOODBYE: Duration = Duration::from_millis(300);

pub(super) struct Tail {
    inner: Body,
    end: Pin<Box<dyn Future<Output = ()> + Send>>,
    is_cut: bool,
    _busy: Busy,
    _share: Arc<Share>,
}

/// Waits until a revoked token's connections have had their time; for ever without a token.
pub(super) async fn overdue(revoked: Option<CancellationToken>) {
    let Some(revoked) = revoked else { return std::future::pending().await };
    revoked.cancelled().await;
    tokio::time::sleep(GOODBYE).await;
}

impl Tail {
    pub(super) fn wrap(
        inner: Body,
        revoked: Option<CancellationToken>,
        busy: Busy,
        share: Arc<Share>,
    ) -> Body {
        let end = Box::pin(overdue(revoked));
        Body::new(Self { inner, end, is_cut: false, _busy: busy, _share: share })
    }
}

#[derive(Debug, thiserror::Error)]
#[error("the token was revoked")]
struct Revoked;

impl HttpBody for Tail {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if self.is_cut {
            return Poll::Ready(None);
        }
        if self.end.as_mut().poll(cx).is_ready() {
            self.is_cut = true;
            return Poll::Ready(Some(Err(axum::Error::new(Revoked))));
        }
        Pin::new(&mut self.inner).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
