//! Response bodies: cut when their token is revoked, and counted until they were read.
//!
//! A stream that is open when its token is revoked ends, whether or not the handler behind
//! it cares. It breaks instead of ending properly, so that nobody takes it for complete.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use http_body_util::{BodyExt as _, StreamBody};
use hyper::body::{Frame, SizeHint};
use tokio_util::sync::CancellationToken;

use crate::limits::{ByteQuota, QuotaReservation, RETRY_AFTER_SECONDS, holding};
use crate::problem::{Problem, kinds};

/// Smaller bodies are not counted: they are about what any request costs, and those are limited.
const SMALL_BYTES: u64 = 4 << 10;

/// The answer, if there is room for it until `name` has read it. One that cannot be taken back
/// `must_be_given` all the same.
pub(super) fn count_unread(
    response: Response,
    n_bytes: u64,
    answers: &Arc<ByteQuota>,
    name: &str,
    must_be_given: bool,
) -> Response {
    if n_bytes < SMALL_BYTES {
        return response;
    }
    let held = answers.reserve(name);
    if !held.take_whole(usize::try_from(n_bytes).unwrap_or(usize::MAX)) && !must_be_given {
        return Problem::of(kinds::NO_ROOM_FOR_ANSWER)
            .remedy("read those that were asked for first, one after the other")
            .retry_after(RETRY_AFTER_SECONDS)
            .into_response();
    }
    let held = Arc::new(held);
    response.map(|inner| Body::new(QuotaBody { inner, held }))
}

struct QuotaBody {
    inner: Body,
    held: Arc<QuotaReservation>,
}

impl HttpBody for QuotaBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let held = self.held.clone();
        // They may wait in a connection for longer than the body exists.
        let keep = |bytes| holding(bytes, held);
        let polled = Pin::new(&mut self.inner).poll_frame(cx);
        polled.map(|frame| frame.map(|frame| frame.map(|frame| frame.map_data(keep))))
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

/// Time for a handler to end its stream before it is cut; with the time in which a change is
/// noticed it stays within a second.
pub(super) const GOODBYE: Duration = Duration::from_millis(300);

/// Waits until a revoked token's connections have had their time; for ever without a token.
pub(super) async fn revoked_for_long(revoked: Option<CancellationToken>) {
    until_revoked(revoked).await;
    tokio::time::sleep(GOODBYE).await;
}

/// Waits until a token is revoked; for ever without one.
pub(super) async fn until_revoked(revoked: Option<CancellationToken>) {
    match revoked {
        Some(revoked) => revoked.cancelled().await,
        None => std::future::pending().await,
    }
}

#[derive(Debug, thiserror::Error)]
#[error("the token was revoked")]
struct TokenRevoked;

/// A body that comes as a stream: neither its length nor its end is known beforehand. `held` is
/// released with it.
pub(super) fn revocable<H: Send + 'static>(
    inner: Body,
    revoked: Option<CancellationToken>,
    held: H,
) -> Body {
    let end = Box::pin(revoked_for_long(revoked));
    let frames = stream::unfold(Some((inner, end, held)), async |open| {
        let (mut inner, mut end, held) = open?;
        tokio::select! {
            biased;
            () = &mut end => Some((Err(axum::Error::new(TokenRevoked)), None)),
            frame = inner.frame() => Some((frame?, Some((inner, end, held)))),
        }
    });
    Body::new(StreamBody::new(frames))
}

#[cfg(test)]
mod tests {
    use axum::http::StatusCode;

    use super::*;

    #[tokio::test]
    async fn answers_that_nobody_reads_leave_no_room_for_more_of_them() {
        let room = Arc::new(ByteQuota::default());
        let answer = |name: &str, must_be_given| {
            let bytes = vec![0; 20 << 20];
            count_unread(Response::new(Body::from(bytes)), 20 << 20, &room, name, must_be_given)
        };
        let (first, second) = (answer("a", false), answer("a", false));
        assert_eq!((first.status(), second.status()), (StatusCode::OK, StatusCode::OK));
        assert_eq!(answer("a", false).status(), StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(answer("a", true).status(), StatusCode::OK);
        assert_eq!(answer("b", false).status(), StatusCode::OK);
        // As long as the bytes are there, not the body.
        let bytes = first.into_body().frame().await.unwrap().unwrap().into_data().unwrap();
        assert_eq!(answer("a", false).status(), StatusCode::SERVICE_UNAVAILABLE);
        drop(bytes);
        assert_eq!(answer("a", false).status(), StatusCode::OK);
    }
}
