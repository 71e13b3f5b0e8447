//! Lines of a client on their way, with what of them is not whole yet taken into account.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, ReadBuf};

use crate::limits::{Patience, Reserved};

/// How long a line that has begun may keep us waiting; bytes that come earn more time.
const LINE_WITHIN: Duration = Duration::from_secs(30);

/// Reads on as long as there is room for the line that has begun, and patience.
#[derive(Debug)]
pub(super) struct MeteredLines<R> {
    inner: R,
    held: Reserved,
    /// For the rest of a line.
    patience: Option<Patience>,
}

impl<R> MeteredLines<R> {
    pub(super) fn new(inner: R, held: Reserved) -> Self {
        Self { inner, held, patience: None }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for MeteredLines<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let n_before = buffer.filled().len();
        let read = Pin::new(&mut self.inner).poll_read(cx, buffer);
        if read.is_pending() && self.patience.as_mut().is_some_and(|one| one.is_over(cx)) {
            return Poll::Ready(Err(io::Error::other("a line came too slowly")));
        }
        std::task::ready!(read)?;
        let read = buffer.filled().get(n_before..).unwrap_or_default();
        let begun = match memchr::memrchr(b'\n', read) {
            Some(end) => {
                self.held.give_back();
                self.patience = None;
                read.len() - end - 1
            }
            None => read.len(),
        };
        if begun > 0 {
            let patience = self.patience.get_or_insert_with(|| Patience::new(LINE_WITHIN));
            patience.earn(begun as u64);
        }
        match self.held.take(begun) {
            true => Poll::Ready(Ok(())),
            false => Poll::Ready(Err(io::Error::other("too much is sent at once"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tokio::io::AsyncReadExt;

    use super::*;
    use crate::limits::ByteQuota;

    #[tokio::test(start_paused = true)]
    async fn a_line_that_is_never_finished_ends_the_connection() {
        let room = Arc::new(ByteQuota::default());
        let (mut client, server) = tokio::io::duplex(1 << 20);
        let mut kept = MeteredLines::new(server, room.hold("a"));
        tokio::io::AsyncWriteExt::write_all(&mut client, b"whole\nbegun").await.unwrap();
        let mut buffer = [0; 64];
        assert_eq!(kept.read(&mut buffer).await.unwrap(), 11);
        assert!(kept.read(&mut buffer).await.is_err());
        // Between lines everybody may take their time.
        let (mut client, server) = tokio::io::duplex(1 << 20);
        let mut kept = MeteredLines::new(server, room.hold("a"));
        tokio::io::AsyncWriteExt::write_all(&mut client, b"whole\n").await.unwrap();
        assert_eq!(kept.read(&mut buffer).await.unwrap(), 6);
        let silent = tokio::time::timeout(10 * LINE_WITHIN, kept.read(&mut buffer)).await;
        assert!(silent.is_err(), "{silent:?}");
    }

    #[tokio::test]
    async fn a_line_that_never_ends_takes_its_part_and_no_more() {
        let room = Arc::new(ByteQuota::default());
        let endless = MeteredLines::new(tokio::io::repeat(b'x'), room.hold("a"));
        let read = endless.take(100 << 20).read_to_end(&mut Vec::new()).await;
        assert!(read.is_err());
        let lines = tokio::io::repeat(b'\n').take(100 << 20);
        let read = MeteredLines::new(lines, room.hold("a")).read_to_end(&mut Vec::new()).await;
        assert_eq!(read.unwrap(), 100 << 20);
    }
}
