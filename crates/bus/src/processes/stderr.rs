//! A worker's stderr: always read, never kept whole.
//!
//! In: bytes, as fast as the worker writes them, but for a flood. Out: the last 16 KiB for error
//! messages, and lines for whoever listens. Nobody has to listen: a full queue drops lines and
//! counts them, so that a worker never blocks on its stderr for want of a reader.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::net::unix::pipe;
use tokio::sync::mpsc;

use super::paced_output::{PacedOutput, READ_BYTES};

/// Enough for a stack trace; it goes into error messages and events.
const TAIL_BYTES: usize = 16 * 1024;
/// A stderr line is for people; what is longer is a dump.
const MAX_LINE_BYTES: usize = 8 * 1024;
/// With the line limit this bounds the queue to 1 MiB per worker.
const QUEUE_LINES: usize = 128;

/// One line without its newline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StderrLine {
    /// Lossy UTF-8; of a line that is longer than 8 KiB its beginning.
    pub text: String,
}

/// Lines as they come. Dropping it is fine: stderr is drained anyway.
#[derive(Debug)]
pub struct StderrLines {
    lines: mpsc::Receiver<StderrLine>,
    n_dropped: Arc<AtomicU64>,
}

impl StderrLines {
    /// The next line; `None` after the last process that held stderr is gone.
    pub async fn recv(&mut self) -> Option<StderrLine> {
        self.lines.recv().await
    }

    /// How many lines were dropped so far.
    pub fn n_dropped(&self) -> u64 {
        self.n_dropped.load(Ordering::Relaxed)
    }
}

/// The last bytes of a stream.
#[derive(Debug, Default)]
pub(crate) struct StderrTail(Mutex<VecDeque<u8>>);

impl StderrTail {
    pub(crate) fn text(&self) -> String {
        let mut bytes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(bytes.make_contiguous()).into_owned()
    }

    fn push(&self, chunk: &[u8]) {
        let chunk = chunk.get(chunk.len().saturating_sub(TAIL_BYTES)..).unwrap_or_default();
        let mut bytes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let n_too_many = (bytes.len() + chunk.len()).saturating_sub(TAIL_BYTES);
        bytes.drain(..n_too_many);
        bytes.extend(chunk);
    }
}

/// The writing end, to be given to [`drain`]: splits chunks into lines and passes them on if there
/// is room.
pub(crate) struct StderrSink {
    line: Vec<u8>,
    n_dropped: Arc<AtomicU64>,
    lines: mpsc::Sender<StderrLine>,
}

pub(crate) fn channel() -> (StderrSink, StderrLines) {
    let (sender, lines) = mpsc::channel(QUEUE_LINES);
    let n_dropped = Arc::new(AtomicU64::new(0));
    let sink = StderrSink { line: Vec::new(), n_dropped: Arc::clone(&n_dropped), lines: sender };
    (sink, StderrLines { lines, n_dropped })
}

/// Reads until the last writer is gone.
pub(crate) async fn drain(
    mut stderr: PacedOutput<pipe::Receiver>,
    tail: Arc<StderrTail>,
    mut sink: StderrSink,
) {
    let mut chunk = vec![0; READ_BYTES];
    while let Ok(n) = stderr.read(&mut chunk).await {
        let Some(read) = chunk.get(..n).filter(|read| !read.is_empty()) else { break };
        tail.push(read);
        sink.feed(read);
    }
    sink.finish();
}

impl StderrSink {
    fn feed(&mut self, chunk: &[u8]) {
        for piece in chunk.split_inclusive(|byte| *byte == b'\n') {
            match piece.strip_suffix(b"\n") {
                Some(end_of_line) => {
                    self.extend(end_of_line);
                    self.pass_on();
                }
                None => self.extend(piece),
            }
        }
    }

    fn finish(&mut self) {
        if !self.line.is_empty() {
            self.pass_on();
        }
    }

    fn extend(&mut self, bytes: &[u8]) {
        let room = MAX_LINE_BYTES - self.line.len();
        self.line.extend(bytes.iter().take(room));
    }

    fn pass_on(&mut self) {
        let bytes = self.line.strip_suffix(b"\r").unwrap_or(&self.line);
        let line = StderrLine { text: String::from_utf8_lossy(bytes).into_owned() };
        self.line.clear();
        if self.lines.try_send(line).is_err() {
            // The queue is full, or nobody listens.
            self.n_dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests;
