//! The writing half of a connection: queued lines to bytes, and the detection of a stalled peer.

use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::{Patience, QueuedLine};

/// Lines written with one system call when they wait anyway.
const BATCH_LINES: usize = 64;
/// How long a closing connection still writes: what is queued then is short (a cancel, an answer)
/// or not wanted any more.
const FLUSH_ON_CLOSE: Duration = Duration::from_millis(200);

/// When a peer counts as stalled.
pub(super) struct StallRule {
    /// It took no byte for this long.
    pub(super) after: Duration,
    pub(super) patience: Arc<Patience>,
}

/// Writes until the connection closes or the peer stops reading, and says whether the
/// peer stalled. Dropping `writer` at the end is what the peer sees as end of file.
pub(super) async fn run<W: AsyncWrite + Unpin>(
    mut writer: W,
    mut lines: mpsc::Receiver<QueuedLine>,
    stall: StallRule,
    closing: CancellationToken,
    stalled: CancellationToken,
) {
    let mut batch = Vec::with_capacity(BATCH_LINES);
    // Outlives an interrupted write, so that a line is never cut in two.
    let mut bytes = Bytes::new();
    loop {
        let n_lines = tokio::select! {
            biased;
            n_lines = lines.recv_many(&mut batch, BATCH_LINES) => n_lines,
            () = closing.cancelled() => break,
        };
        if n_lines == 0 {
            break;
        }
        bytes = joined(&batch);
        tokio::select! {
            written = write_all(&mut writer, &mut bytes, &stall) => match written {
                // Gives back the lines' permits, so that others can be queued.
                WriteOutcome::All => {
                    batch.clear();
                    // An empty `Bytes` still keeps its whole line in memory.
                    bytes = Bytes::new();
                }
                WriteOutcome::Stalled => {
                    stalled.cancel();
                    break;
                }
                WriteOutcome::Gone => break,
            },
            () = closing.cancelled() => break,
        }
    }
    // Senders that wait for room are told at once; what is queued gets one last chance.
    closing.cancel();
    lines.close();
    batch.clear();
    while let Ok(line) = lines.try_recv() {
        batch.push(line);
    }
    if !stalled.is_cancelled() {
        let last = StallRule { after: FLUSH_ON_CLOSE, patience: Arc::default() };
        if let WriteOutcome::All = write_all(&mut writer, &mut bytes, &last).await {
            write_all(&mut writer, &mut joined(&batch), &last).await;
        }
    }
    let _ = tokio::time::timeout(FLUSH_ON_CLOSE, writer.shutdown()).await;
}

/// The batch as one buffer; a single line, which may be large, is not copied.
fn joined(batch: &[QueuedLine]) -> Bytes {
    if let [line] = batch {
        return line.bytes.clone();
    }
    let mut bytes = BytesMut::with_capacity(batch.iter().map(|line| line.bytes.len()).sum());
    for line in batch {
        bytes.extend_from_slice(&line.bytes);
    }
    bytes.freeze()
}

enum WriteOutcome {
    All,
    /// No byte went out for too long.
    Stalled,
    /// The peer closed its end.
    Gone,
}

async fn write_all<W: AsyncWrite + Unpin>(
    writer: &mut W,
    bytes: &mut Bytes,
    stall: &StallRule,
) -> WriteOutcome {
    loop {
        let count = stall.patience.count();
        let step = async {
            match bytes.is_empty() {
                true => writer.flush().await.map(|()| 0),
                false => writer.write_buf(bytes).await,
            }
        };
        match tokio::time::timeout(stall.after, step).await {
            Ok(Ok(0)) if bytes.is_empty() => return WriteOutcome::All,
            Ok(Ok(n)) if n > 0 => {}
            Ok(_) => return WriteOutcome::Gone,
            Err(_) if stall.patience.has_run_out(count) => return WriteOutcome::Stalled,
            Err(_) => {}
        }
    }
}
