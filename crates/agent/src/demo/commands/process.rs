//! Commands that misbehave as a process: its end, its stderr, its descendants.
//!
//! In: arguments. Out: orders to the connection, bytes on stderr, processes.
//! What the script said before it died is still delivered to a client that reads.

use super::tools::PretendedCall;
use super::{ConnectionEnd, UsageError};
use crate::demo::connection::ConnectionOrder;
use crate::demo::turn::DemoTurn;
use std::process::Stdio;
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;
use tokio::sync::oneshot;

const CRASH_CODE: i32 = 101;

// Hostile descendants end by themselves after five minutes, so that a test that fails to end them
// does not leave them for ever.
//
// The script gets its own text as $0 and the depth as $1. Each descendant leaves its session and
// its parent (`setsid --fork`), ignores what asks it to end, tells its pid on stderr, and keeps the
// agent's stdout open: a host that waits for the end of that pipe waits for it.
const HOSTILE_SCRIPT: &str = r#"trap "" TERM INT HUP
echo $$ >&2
if [ "$1" -gt 1 ]; then setsid --fork sh -c "$0" "$0" $(($1 - 1)) </dev/null; fi
exec sleep 300 2>/dev/null"#;

// Lines of a usual length, so that readers by line and readers by block both see something real.
const STDERR_LINE: &[u8; 64] = b"noise on stderr, which nobody needs and everybody has to drain.\n";
const STDERR_LINES_PER_WRITE: usize = 256;

/// Keeps the connection from being read any more.
pub(super) async fn stop_reading(turn: &DemoTurn) {
    // Errors mean that the connection is ending, and then nothing is read either.
    let (done, is_done) = oneshot::channel();
    let _ = turn.connection.orders.send(ConnectionOrder::StopReading(done)).await;
    let _ = is_done.await;
}

pub(super) async fn write_lines(n_lines: u64) {
    for n in 1..=n_lines {
        write_stderr(format!("stderr line {n}\n").as_bytes()).await;
    }
}

pub(super) async fn crash(turn: &DemoTurn, when: Option<&str>) -> Result<(), UsageError> {
    let call = PretendedCall::new(turn, "execute", None);
    let (n_steps, code) = match when {
        None => (0, CRASH_CODE),
        Some("before-tool") => (1, CRASH_CODE),
        Some("during-tool") => (2, CRASH_CODE),
        Some("after-tool") => (3, CRASH_CODE),
        Some(code) => (0, code.parse().map_err(|_| UsageError)?),
    };
    if n_steps > 0 {
        call.announce(turn).await;
    }
    if n_steps > 1 {
        call.begin(turn).await;
    }
    if n_steps > 2 {
        call.complete(turn).await;
    }
    turn.connection.order_the_end(ConnectionEnd::Exit(code)).await
}

/// Writes so many bytes to stderr, however long nobody reads them.
pub(in crate::demo) async fn flood_stderr(n_bytes: u64) {
    let piece = STDERR_LINE.repeat(STDERR_LINES_PER_WRITE);
    let mut n_left = n_bytes;
    while n_left > 0 {
        let n = usize::try_from(n_left).unwrap_or(usize::MAX).min(piece.len());
        write_stderr(&piece[..n]).await;
        n_left -= n as u64;
    }
}

/// Writes to stderr. One that is closed is no reason to stop.
async fn write_stderr(bytes: &[u8]) {
    let mut stderr = tokio::io::stderr();
    let _ = stderr.write_all(bytes).await;
    let _ = stderr.flush().await;
}

/// Starts `n` chains of descendants, each `depth` long, and lists their pids.
pub(super) async fn children(n: u32, depth: u32) -> String {
    let mut pids = Vec::new();
    for _ in 0..n {
        match hostile_chain(depth).await {
            Ok(found) => pids.extend(found),
            Err(problem) => return format!("cannot start descendants: {problem}\n"),
        }
    }
    format!("pids {}\n", pids.join(" "))
}

async fn hostile_chain(depth: u32) -> std::io::Result<Vec<String>> {
    let child = Command::new("setsid")
        .args(["--fork", "sh", "-c", HOSTILE_SCRIPT, HOSTILE_SCRIPT])
        .arg(depth.to_string())
        .stdin(Stdio::null())
        .stdout(Stdio::inherit())
        .stderr(Stdio::piped())
        .spawn()?;
    // Ends when every descendant has told its pid and closed its stderr.
    let output = child.wait_with_output().await?;
    let text = String::from_utf8_lossy(&output.stderr);
    Ok(text.split_whitespace().map(str::to_owned).collect())
}
