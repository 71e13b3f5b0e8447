//! A recorder between two peers on stdio, which writes down every line.
//!
//! In: `acp-tap OUT.ndjson -- CMD ARGS…` and our stdin. Out: the child's stdout, byte for byte, its
//! exit code, and one JSON [`TranscriptEntry`] per line appended to the file.
//! A line is written down before it is passed on, so that an answer never stands before its
//! question. The end of either stream is passed on, even while the child lives.

use crate::transcript::{Direction, Transcript, TranscriptEntry};
use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;

const USAGE: &str = "usage: acp-tap OUT.ndjson -- CMD ARGS…";

// How long to read on after the child's exit, when its last output is still in the pipe. A
// grandchild that holds the pipe open must not keep us: without the tap the client would have seen
// the exit at once.
const DRAIN_AFTER_EXIT: Duration = Duration::from_secs(2);

const CHUNK_BYTES: usize = 64 * 1024;

/// Reads a file that `acp-tap` wrote.
pub fn read(path: impl AsRef<Path>) -> io::Result<Transcript> {
    Transcript::read(path)
}

/// The program `acp-tap`; gives its exit code.
pub fn run(args: impl IntoIterator<Item = OsString>) -> io::Result<i32> {
    let mut args = args.into_iter();
    let (Some(out), Some(dashes), Some(program)) = (args.next(), args.next(), args.next()) else {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, USAGE));
    };
    if dashes != "--" {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, USAGE));
    }
    let record = OpenOptions::new().create(true).append(true).open(out)?;
    let record = Arc::new(Mutex::new(record));

    let mut child =
        Command::new(program).args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let to_child = child.stdin.take().unwrap();
    let from_child = child.stdout.take().unwrap();

    let asked = LineRecorder::new(Direction::ClientToAgent, Arc::clone(&record));
    thread::spawn(move || {
        // The child may have closed its input, or ended; the client then finds out by itself.
        let _ = dup(rustix::stdio::stdin()).and_then(|stdin| asked.pump(stdin, to_child));
        let _ = File::open("/dev/null").map(rustix::stdio::dup2_stdin);
    });
    let (is_drained, drained) = mpsc::channel();
    let said = LineRecorder::new(Direction::AgentToClient, record);
    thread::spawn(move || {
        let _ = dup(rustix::stdio::stdout()).and_then(|stdout| said.pump(from_child, stdout));
        let _ = File::options().write(true).open("/dev/null").map(rustix::stdio::dup2_stdout);
        let _ = is_drained.send(());
    });

    let status = child.wait()?;
    let _ = drained.recv_timeout(DRAIN_AFTER_EXIT);
    Ok(exit_code(status))
}

// Our own handles, because std's cannot be closed and its stdout waits for whole lines.
fn dup(fd: impl AsFd) -> io::Result<File> {
    let fd: OwnedFd = rustix::io::dup(fd)?;
    Ok(File::from(fd))
}

/// The exit code as a shell reports it.
fn exit_code(status: ExitStatus) -> i32 {
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or_default())
}

/// Writes down the lines of one direction.
struct LineRecorder {
    direction: Direction,
    record: Arc<Mutex<File>>,
    /// A line whose end has not come yet.
    unfinished: Vec<u8>,
}

impl LineRecorder {
    fn new(direction: Direction, record: Arc<Mutex<File>>) -> Self {
        Self { direction, record, unfinished: Vec::new() }
    }

    /// Passes everything on; drops both ends when either has ended.
    fn pump(mut self, mut from: impl Read, mut to: impl Write) -> io::Result<()> {
        let mut chunk = vec![0; CHUNK_BYTES];
        loop {
            let n_read = match from.read(&mut chunk) {
                Err(problem) if problem.kind() == io::ErrorKind::Interrupted => continue,
                other => other?,
            };
            if n_read == 0 {
                break;
            }
            self.hear(&chunk[..n_read])?;
            to.write_all(&chunk[..n_read])?;
        }
        if self.unfinished.is_empty() { Ok(()) } else { self.write_down() }
    }

    fn hear(&mut self, bytes: &[u8]) -> io::Result<()> {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.unfinished.extend_from_slice(piece);
            if self.unfinished.ends_with(b"\n") {
                self.unfinished.pop();
                self.write_down()?;
            }
        }
        Ok(())
    }

    fn write_down(&mut self) -> io::Result<()> {
        let line = String::from_utf8_lossy(&self.unfinished).into_owned();
        self.unfinished.clear();
        let mut entry = serde_json::to_vec(&TranscriptEntry { direction: self.direction, line })?;
        entry.push(b'\n');
        self.record.lock().unwrap().write_all(&entry)
    }
}
