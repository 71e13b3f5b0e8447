//! Reads what a client sends, and counts its unfinished message against its quota.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, ReadBuf};

use crate::limits::{QuotaReservation, WaitBudget};

/// How long the rest of a message may take; bytes that arrive earn more time.
const MESSAGE_WITHIN: Duration = Duration::from_secs(30);

/// A reader that fails when an unfinished message exceeds its quota or its time.
#[derive(Debug)]
pub(super) struct MeteredMessages<S> {
    inner: S,
    /// Quota taken by the unfinished message; none between messages.
    begun: Arc<QuotaReservation>,
    /// Time left for the rest of the message.
    patience: Option<WaitBudget>,
    /// Whether messages end with a line; if not, the reader gives the quota back after each.
    are_lines: bool,
}

impl<S> MeteredMessages<S> {
    pub(super) fn lines(inner: S, begun: QuotaReservation) -> Self {
        Self { inner, begun: Arc::new(begun), patience: None, are_lines: true }
    }

    /// `begun` is given back by whoever has read a whole message.
    pub(super) fn of_socket(inner: S, begun: Arc<QuotaReservation>) -> Self {
        Self { inner, begun, patience: None, are_lines: false }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for MeteredMessages<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.begun.n_bytes() == 0 {
            self.patience = None;
        }
        let n_before = buffer.filled().len();
        let read = Pin::new(&mut self.inner).poll_read(cx, buffer);
        if read.is_pending() && self.patience.as_mut().is_some_and(|one| one.is_over(cx)) {
            return Poll::Ready(Err(io::Error::new(
                io::ErrorKind::TimedOut,
                "a message came too slowly",
            )));
        }
        std::task::ready!(read)?;
        let read = buffer.filled().get(n_before..).unwrap_or_default();
        let end = if self.are_lines { memchr::memrchr(b'\n', read) } else { None };
        let n_begun = match end {
            Some(end) => {
                self.begun.give_back();
                self.patience = None;
                read.len() - end - 1
            }
            None => read.len(),
        };
        if n_begun > 0 {
            let patience = self.patience.get_or_insert_with(|| WaitBudget::new(MESSAGE_WITHIN));
            patience.earn(n_begun as u64);
        }
        match self.begun.take(n_begun) {
            true => Poll::Ready(Ok(())),
            false => Poll::Ready(Err(io::Error::new(
                io::ErrorKind::QuotaExceeded,
                "too much is sent at once",
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;
    use crate::limits::ByteQuota;

    #[tokio::test(start_paused = true)]
    async fn a_message_that_is_never_finished_ends_the_connection() {
        let quota = Arc::new(ByteQuota::default());
        let mut buffer = [0; 64];
        let (mut client, server) = tokio::io::duplex(1 << 20);
        let mut lines = MeteredMessages::lines(server, quota.reserve("a"));
        client.write_all(b"whole\nbegun").await.unwrap();
        assert_eq!(lines.read(&mut buffer).await.unwrap(), 11);
        assert!(lines.read(&mut buffer).await.is_err());
        let (mut client, server) = tokio::io::duplex(1 << 20);
        let mut messages = MeteredMessages::of_socket(server, Arc::new(quota.reserve("a")));
        client.write_all(b"begun").await.unwrap();
        assert_eq!(messages.read(&mut buffer).await.unwrap(), 5);
        assert!(messages.read(&mut buffer).await.is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn between_messages_everybody_may_take_their_time() {
        let quota = Arc::new(ByteQuota::default());
        let mut buffer = [0; 64];
        let (mut client, server) = tokio::io::duplex(1 << 20);
        let mut lines = MeteredMessages::lines(server, quota.reserve("a"));
        client.write_all(b"whole\n").await.unwrap();
        assert_eq!(lines.read(&mut buffer).await.unwrap(), 6);
        let silent = tokio::time::timeout(10 * MESSAGE_WITHIN, lines.read(&mut buffer)).await;
        assert!(silent.is_err(), "{silent:?}");
        let (mut client, server) = tokio::io::duplex(1 << 20);
        let begun = Arc::new(quota.reserve("a"));
        let mut messages = MeteredMessages::of_socket(server, begun.clone());
        client.write_all(b"whole").await.unwrap();
        assert_eq!(messages.read(&mut buffer).await.unwrap(), 5);
        begun.give_back();
        let silent = tokio::time::timeout(10 * MESSAGE_WITHIN, messages.read(&mut buffer)).await;
        assert!(silent.is_err(), "{silent:?}");
    }

    #[tokio::test]
    async fn a_message_that_never_ends_takes_its_part_and_no_more() {
        let quota = Arc::new(ByteQuota::default());
        let endless = MeteredMessages::lines(tokio::io::repeat(b'x'), quota.reserve("a"));
        let read = endless.take(100 << 20).read_to_end(&mut Vec::new()).await;
        assert!(read.is_err());
        let lines = tokio::io::repeat(b'\n').take(100 << 20);
        let read =
            MeteredMessages::lines(lines, quota.reserve("a")).read_to_end(&mut Vec::new()).await;
        assert_eq!(read.unwrap(), 100 << 20);
    }
}
