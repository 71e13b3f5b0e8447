//! The half of a connection that speaks.

use std::time::Duration;

use bytes::BytesMut;
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::Line;

/// Lines written with one system call when they wait anyway.
const BATCH_LINES: usize = 64;
/// What is queued when we close is short (a cancel, an answer) or not wanted any more.
const FLUSH_ON_CLOSE: Duration = Duration::from_millis(200);

/// Writes until the connection closes or the peer stops reading, and says whether the
/// peer stalled. Dropping `writer` at the end is what the peer sees as end of file.
pub(super) async fn run<W: AsyncWrite + Unpin>(
    mut writer: W,
    mut lines: mpsc::Receiver<Line>,
    write_stall: Duration,
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
            written = write_all(&mut writer, &mut bytes, write_stall) => match written {
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
        write_all(&mut writer, &mut bytes, FLUSH_ON_CLOSE).await;
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
    stall: Duration,
) -> Written {
    while !bytes.is_empty() {
        match tokio::time::timeout(stall, writer.write_buf(bytes)).await {
            Ok(Ok(n)) if n > 0 => {}
            Ok(_) => return Written::Gone,
            Err(_) => return Written::Stalled,
        }
    }
    match tokio::time::timeout(stall, writer.flush()).await {
        Ok(Ok(())) => Written::All,
        Ok(Err(_)) => Written::Gone,
        Err(_) => Written::Stalled,
    }
}
