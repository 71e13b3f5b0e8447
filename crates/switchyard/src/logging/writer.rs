//! Writes log lines, to stderr or by a thread of its own.
//!
//! A command writes to stderr itself: its lines stand between the others that it prints. A
//! daemon hands lines to a thread through a bounded queue; a full queue, a full disk or a
//! reader that does not read costs lines, which are counted and reported later, never time.

use std::io::{self, Write as _};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use crate::terminal::paint::Paint;

/// Lines that may wait for the disk.
const MAX_QUEUED_LINES: usize = 4096;
/// The bytes of lines that wait, until they are written.
const MAX_QUEUED_BYTES: usize = 4 * 1024 * 1024;
/// Lines that are written at once.
const MAX_BATCH: usize = 256;

/// The target of a writer's thread.
pub(super) trait LogSink: Send {
    /// Writes whole lines.
    fn write(&mut self, lines: &[u8]) -> io::Result<()>;

    fn reopen(&mut self) -> io::Result<()> {
        Ok(())
    }
}

pub(super) struct Stderr;

impl LogSink for Stderr {
    fn write(&mut self, lines: &[u8]) -> io::Result<()> {
        crate::terminal::count_stderr_write();
        io::stderr().write_all(lines)
    }
}

#[derive(Debug)]
pub(super) struct LogWriter {
    queue: Option<SyncSender<WriterCommand>>,
    pub(super) paint: Paint,
    counts: Arc<WriterCounts>,
}

#[derive(Debug, Default)]
struct WriterCounts {
    n_dropped: AtomicU64,
    n_queued_bytes: AtomicUsize,
    /// The last error of the sink, until it works again.
    last_error: Mutex<Option<String>>,
}

#[derive(Debug)]
enum WriterCommand {
    Line(String),
    Reopen,
    Flush(SyncSender<()>),
}

impl LogWriter {
    /// A writer to stderr, at once and without a thread.
    pub(super) fn stderr() -> Self {
        let paint = Paint::when(crate::terminal::color_on_stderr());
        Self { queue: None, paint, counts: Arc::default() }
    }

    /// A writer with a queue and a thread of its own. `lost` makes the line that says how many are
    /// missing.
    pub(super) fn behind_queue(
        sink: Box<dyn LogSink>,
        paint: Paint,
        lost: impl Fn(u64) -> String + Send + 'static,
    ) -> io::Result<Self> {
        let (queue, messages) = sync_channel(MAX_QUEUED_LINES);
        let counts = Arc::<WriterCounts>::default();
        let of_thread = counts.clone();
        thread::Builder::new()
            .name("log".to_owned())
            .spawn(move || run(&messages, sink, &of_thread, lost))?;
        Ok(Self { queue: Some(queue), paint, counts })
    }

    pub(super) fn write(&self, line: String) {
        let Some(queue) = &self.queue else {
            let _ = Stderr.write(line.as_bytes());
            return;
        };
        let (n_bytes, waiting) = (line.len(), &self.counts.n_queued_bytes);
        let before = waiting.fetch_add(n_bytes, Ordering::Relaxed);
        let is_taken = before + n_bytes <= MAX_QUEUED_BYTES
            && queue.try_send(WriterCommand::Line(line)).is_ok();
        if !is_taken {
            waiting.fetch_sub(n_bytes, Ordering::Relaxed);
            self.counts.n_dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub(super) fn reopen(&self) {
        if let Some(queue) = &self.queue {
            // A thread that is so far behind looks at its file with every batch anyway.
            let _ = queue.try_send(WriterCommand::Reopen);
        }
    }

    pub(super) fn n_dropped(&self) -> u64 {
        self.counts.n_dropped.load(Ordering::Relaxed)
    }

    /// Waits until all that was handed over before is written, or `within` has passed.
    pub(super) fn flush(&self, within: Duration) {
        let Some(queue) = &self.queue else { return };
        let (done, is_done) = sync_channel(1);
        match queue.try_send(WriterCommand::Flush(done)) {
            Ok(()) => drop(is_done.recv_timeout(within)),
            // It does not keep up; nothing is gained by waiting.
            Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => {}
        }
    }
}

fn run(
    messages: &Receiver<WriterCommand>,
    mut sink: Box<dyn LogSink>,
    counts: &WriterCounts,
    lost: impl Fn(u64) -> String,
) {
    let (mut batch, mut n_told) = (Vec::new(), 0);
    while let Ok(first) = messages.recv() {
        let mut n_lines = 0;
        let more = std::iter::from_fn(|| messages.try_recv().ok());
        let mut flushed = Vec::new();
        for message in std::iter::once(first).chain(more.take(MAX_BATCH)) {
            match message {
                WriterCommand::Line(line) => {
                    batch.extend_from_slice(line.as_bytes());
                    n_lines += 1;
                }
                WriterCommand::Reopen => note(counts, sink.reopen()),
                WriterCommand::Flush(done) => flushed.push(done),
            }
        }
        let n_dropped = counts.n_dropped.load(Ordering::Relaxed);
        if n_dropped > n_told {
            let lost = lost(n_dropped - n_told);
            // Reported with the next batch if this write fails too.
            if sink.write(lost.as_bytes()).is_ok() {
                n_told = n_dropped;
            }
        }
        let written = if batch.is_empty() { Ok(()) } else { sink.write(&batch) };
        if written.is_err() {
            counts.n_dropped.fetch_add(n_lines, Ordering::Relaxed);
        }
        note(counts, written);
        // Only now: what a slow disk holds up takes memory as well.
        counts.n_queued_bytes.fetch_sub(batch.len(), Ordering::Relaxed);
        batch.clear();
        batch.shrink_to(64 * 1024);
        for done in flushed {
            let _ = done.try_send(());
        }
    }
}

/// A log that cannot be written says so on stderr, once until it works again.
fn note(counts: &WriterCounts, result: io::Result<()>) {
    let mut trouble = counts.last_error.lock().unwrap_or_else(PoisonError::into_inner);
    match result {
        Ok(()) => *trouble = None,
        Err(error) => {
            let error = error.to_string();
            if trouble.as_ref() != Some(&error) {
                crate::terminal::say(&format!("switchyard: the log cannot be written: {error}"));
                *trouble = Some(error);
            }
        }
    }
}

#[cfg(test)]
mod tests;
