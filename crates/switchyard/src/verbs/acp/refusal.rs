//! Tells an editor why there is nothing to serve it with.
//!
//! An editor that starts an agent which ends at once says that it has ended, and no more. So its
//! first request is answered with what went wrong and what to do, in the form in which a daemon
//! tells the same; then the process ends as any other command does.

use std::io::IsTerminal as _;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio_util::sync::CancellationToken;
use wire::{LineSplitter, Message, MessageKind, RpcError};

use crate::outcome::Failure;
use crate::stdio::{self, StdinReader, StdoutWriter};

/// How long a first request is waited for: editors send one as soon as they have started us.
const ASKS_WITHIN: Duration = Duration::from_secs(10);
/// How long an editor may take to end us once it has the answer; one that sees us end first may
/// say only that.
const LEAVES_WITHIN: Duration = Duration::from_secs(5);

/// Answers the editor with the failure, and returns it as that of the command.
pub(crate) async fn refuse(failure: Failure, stop: &CancellationToken) -> Failure {
    if std::io::stdin().is_terminal() {
        return failure;
    }
    let (mut reader, mut writer) = stdio::open();
    let error = RpcError::from(&failure.fault());
    let mut lines = LineSplitter::new(wire::limits::CLIENT_LINE_BYTES);
    let mut within = ASKS_WITHIN;
    loop {
        let answered = answer_next(&mut reader, &mut writer, &mut lines, &error);
        tokio::select! {
            answered = tokio::time::timeout(within, answered) => match answered {
                Ok(Ok(true)) => within = LEAVES_WITHIN,
                // The editor has left, or never was there.
                Ok(_) | Err(_) => return failure,
            },
            () = stop.cancelled() => return failure,
        }
    }
}

/// Answers the next request; false when there is none any more.
async fn answer_next(
    reader: &mut StdinReader,
    writer: &mut StdoutWriter,
    lines: &mut LineSplitter,
    error: &RpcError,
) -> std::io::Result<bool> {
    loop {
        while let Some(line) = lines.next_line() {
            let message = line.ok().and_then(|line| Message::parse(line).ok());
            let asked = message.filter(|message| message.kind() == MessageKind::Request);
            let Some(asked) = asked else { continue };
            writer.write_all(wire::error_line(&asked.id(), error).as_bytes()).await?;
            writer.flush().await?;
            return Ok(true);
        }
        if reader.read_buf(lines.buffer()).await? == 0 {
            return Ok(false);
        }
    }
}
