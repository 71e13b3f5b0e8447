//! The half of a connection that speaks.

use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::{Line, Patience};

/// Lines written with one system call when they wait anyway.
const BATCH_LINES: usize = 64;
/// What is queued when we close is short (a cancel, an answer) or not wanted any more.
const FLUSH_ON_CLOSE: Duration = Duration::from_millis(200);

/// When a peer counts as stalled.
pub(super) struct Stall {
    /// It took no byte for this long.
    pub(super) after: Duration,
    pub(super) patience: Arc<Patience>,
}

/// Writes until the connection closes or the peer stops reading, and says whether the
/// peer stalled. Dropping `writer` at the end is what the peer sees as end of file.
pub(super) async fn run<W: AsyncWrite + Unpin>(
    mut writer: W,
    mut lines: mpsc::Receiver<Line>,
    stall: Stall,
    closing: CancellationToken,
    stalled: CancellationToken,
) {
    let mut batch = Vec::with_capacity(BATCH_LINES);
    // Outlives an interrupted write, so that a line is never cut in two.
    let mut bytes = BytesMut::new();
    loop {
        let n_lines = tokio::select! {
            biased;
            n_lines = lines.recv_many(&mut batch, BATCH_LINES) => n_lines,
            () = closing.cancelled() => break,
        };
        if n_lines == 0 {
            break;
        }
        join(&mut batch, &mut bytes);
        tokio::select! {
            written = write_all(&mut writer, &mut bytes, &stall) => match written {
                Written::All => {}
                Written::Stalled => {
                    stalled.cancel();
                    break;
                }
                Written::Gone => break,
            },
            () = closing.cancelled() => break,
        }
    }
    // Senders that wait for room are told at once; what is queued gets one last chance.
    closing.cancel();
    lines.close();
    while let Ok(line) = lines.try_recv() {
        batch.push(line);
    }
    join(&mut batch, &mut bytes);
    if !stalled.is_cancelled() {
        let last = Stall { after: FLUSH_ON_CLOSE, patience: Arc::default() };
        write_all(&mut writer, &mut bytes, &last).await;
    }
    let _ = tokio::time::timeout(FLUSH_ON_CLOSE, writer.shutdown()).await;
}

fn join(batch: &mut Vec<Line>, bytes: &mut BytesMut) {
    bytes.reserve(batch.iter().map(|line| line.bytes.len()).sum());
    for line in batch.drain(..) {
        bytes.extend_from_slice(&line.bytes);
    }
}

enum Written {
    All,
    /// No byte went out for too long.
    Stalled,
    /// The peer closed its end.
    Gone,
}

async fn write_all<W: AsyncWrite + Unpin>(
    writer: &mut W,
    bytes: &mut BytesMut,
    stall: &Stall,
) -> Written {
    loop {
        let count = stall.patience.count();
        let step = async {
            match bytes.is_empty() {
                true => writer.flush().await.map(|()| 0),
                false => writer.write_buf(bytes).await,
            }
        };
        match tokio::time::timeout(stall.after, step).await {
            Ok(Ok(0)) if bytes.is_empty() => return Written::All,
            Ok(Ok(n)) if n > 0 => {}
            Ok(_) => return Written::Gone,
            Err(_) if stall.patience.has_run_out(count) => return Written::Stalled,
            Err(_) => {}
        }
    }
}
