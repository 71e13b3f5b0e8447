//! A response body that is cut when its reader takes nothing for too long.
//!
//! In: a body's chunks, each made when the one before was taken. Out: the same. A connection is
//! watched for its peer as a whole, but HTTP/2 has many bodies on one: what one of them has open
//! is closed when its reader takes nothing for too long, and the body is cut.

use std::pin::pin;
use std::time::Duration;

use axum::BoxError;
use axum::body::Bytes;
use futures_util::{Stream, StreamExt as _, stream};
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

pub(crate) fn with_stall_timeout<E: Into<BoxError> + Send + 'static>(
    chunks: impl Stream<Item = Result<Bytes, E>> + Send + 'static,
    patience: Duration,
) -> impl Stream<Item = Result<Bytes, BoxError>> {
    let (sender, receiver) = mpsc::channel(1);
    let (cut, is_cut) = oneshot::channel();
    task::spawn(async move {
        let mut chunks = pin!(chunks);
        loop {
            match timeout(patience, sender.reserve()).await {
                Ok(Ok(place)) => match chunks.next().await {
                    Some(chunk) => place.send(chunk.map_err(Into::into)),
                    None => return,
                },
                // The body was dropped.
                Ok(Err(_)) => return,
                Err(_) => {
                    let _gone = cut.send(());
                    return;
                }
            }
        }
    });
    stream::unfold((receiver, Some(is_cut)), async |(mut receiver, is_cut)| {
        match receiver.recv().await {
            Some(chunk) => Some((chunk, (receiver, is_cut))),
            None if is_cut?.await.is_ok() => {
                Some((Err("nothing was taken for too long".into()), (receiver, None)))
            }
            None => None,
        }
    })
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::Arc;

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(30);

    /// Three chunks that have something open.
    fn chunks(open: Arc<()>) -> impl Stream<Item = Result<Bytes, Infallible>> {
        stream::unfold((1, open), async |(n, open)| {
            (n <= 3).then(|| (Ok(Bytes::from(vec![n])), (n + 1, open)))
        })
    }

    #[tokio::test(start_paused = true)]
    async fn a_reader_gets_all_of_it_however_slowly() {
        let mut body = pin!(with_stall_timeout(chunks(Arc::default()), PATIENCE));
        let mut read = Vec::new();
        while let Some(chunk) = body.next().await {
            read.extend(chunk.unwrap());
            tokio::time::sleep(PATIENCE / 2).await;
        }
        assert_eq!(read, [1, 2, 3]);
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_open_for_one_that_takes_nothing_is_closed_and_it_is_told() {
        let open = Arc::new(());
        let mut body = pin!(with_stall_timeout(chunks(open.clone()), PATIENCE));
        body.next().await.unwrap().unwrap();

        tokio::time::sleep(2 * PATIENCE).await;

        assert_eq!(Arc::strong_count(&open), 1);
        body.next().await.unwrap().unwrap();
        assert!(body.next().await.unwrap().is_err());
        assert!(body.next().await.is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_open_for_one_that_is_gone_is_closed() {
        let open = Arc::new(());
        let mut body = Box::pin(with_stall_timeout(chunks(open.clone()), PATIENCE));
        body.next().await.unwrap().unwrap();

        drop(body);
        tokio::task::yield_now().await;

        assert_eq!(Arc::strong_count(&open), 1);
    }
}
