//! Lines of a client on their way, with what of them is not whole yet taken into account.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, ReadBuf};

use crate::limits::Held;

/// Reads on as long as there is room for the line that has begun.
#[derive(Debug)]
pub(super) struct Kept<R> {
    inner: R,
    held: Held,
}

impl<R> Kept<R> {
    pub(super) fn new(inner: R, held: Held) -> Self {
        Self { inner, held }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for Kept<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let n_before = buffer.filled().len();
        std::task::ready!(Pin::new(&mut self.inner).poll_read(cx, buffer))?;
        let read = buffer.filled().get(n_before..).unwrap_or_default();
        let begun = match memchr::memrchr(b'\n', read) {
            Some(end) => {
                self.held.give_back();
                read.len() - end - 1
            }
            None => read.len(),
        };
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
    use crate::limits::Room;

    #[tokio::test]
    async fn a_line_that_never_ends_takes_its_part_and_no_more() {
        let room = Arc::new(Room::default());
        let endless = Kept::new(tokio::io::repeat(b'x'), room.hold("a"));
        let read = endless.take(100 << 20).read_to_end(&mut Vec::new()).await;
        assert!(read.is_err());
        let lines = tokio::io::repeat(b'\n').take(100 << 20);
        let read = Kept::new(lines, room.hold("a")).read_to_end(&mut Vec::new()).await;
        assert_eq!(read.unwrap(), 100 << 20);
    }
}
