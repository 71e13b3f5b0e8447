//! The only way to stdout: a bounded queue and the one task that writes it.
//!
//! In: whole lines, or many lines in one frame. Out: the same bytes in the same order.
//! When the reader is slow the queue fills and `send` waits: pressure reaches the sender, never
//! the heap. After the output broke, `send` waits for ever, because the connection is ending and
//! there is nobody left to tell.

use bytes::Bytes;
use std::io;
use tokio::io::{AsyncWrite, AsyncWriteExt as _};
use tokio::sync::mpsc;

// Frames, not bytes: a flood packs up to FRAME_BYTES into a frame, so the queue holds at most
// 4 MiB of it. Only a scripted `big` line makes a larger frame.
const MAX_FRAMES: usize = 64;

/// A good size for frames that carry many lines: large enough to make system calls rare.
pub(super) const FRAME_BYTES: usize = 64 * 1024;

enum Frame {
    Bytes(Bytes),
    Close,
}

#[derive(Clone)]
pub(super) struct Outbox {
    frames: mpsc::Sender<Frame>,
}

pub(super) struct Writer {
    frames: mpsc::Receiver<Frame>,
}

pub(super) fn outbox() -> (Outbox, Writer) {
    let (sender, receiver) = mpsc::channel(MAX_FRAMES);
    (Outbox { frames: sender }, Writer { frames: receiver })
}

impl Outbox {
    pub(super) async fn send(&self, bytes: impl Into<Bytes>) {
        if self.frames.send(Frame::Bytes(bytes.into())).await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// Lets the writer end after everything that was sent before.
    pub(super) async fn close(&self) {
        // An error means that the writer ended already, which is what was wanted.
        let _ = self.frames.send(Frame::Close).await;
    }
}

impl Writer {
    /// Writes until [`Outbox::close`] or until the output breaks.
    pub(super) async fn run(mut self, mut output: impl AsyncWrite + Unpin) -> io::Result<()> {
        while let Some(frame) = self.frames.recv().await {
            let Frame::Bytes(bytes) = frame else { break };
            output.write_all(&bytes).await?;
            // Flushing only when nothing waits keeps single messages quick and floods cheap.
            if self.frames.is_empty() {
                output.flush().await?;
            }
        }
        output.flush().await
    }
}
