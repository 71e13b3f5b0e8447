//! Output and ends of terminals on their way to the log, until the session takes them.
//!
//! In: what commands print, from the tasks that read it. Out: events, in each terminal's order,
//! for the one who appends them. The reading side never waits; the appending side is woken when
//! there is something where there was nothing, and knows from then on when to come back.

use std::sync::{Arc, Mutex};
use std::time::Instant;

use bus::ExitReport;
use tokio::sync::{Notify, watch};
use wire::event::{TerminalExited, TerminalOutput};
use wire::{Draft, TurnId};

use super::output_sampler::{LogPiece, OutputSampler, TakeScope};
use crate::context::draft;
use crate::lock::lock;

#[derive(Debug, Default)]
pub(crate) struct TerminalLog {
    entries: Mutex<Vec<TerminalLogEntry>>,
    /// Notified when there is something for the log where there was nothing.
    pub(crate) new_output: Arc<Notify>,
}

/// A terminal whose end the log does not have.
#[derive(Debug)]
struct TerminalLogEntry {
    terminal: String,
    turn: Option<TurnId>,
    sampler: Arc<Mutex<OutputSampler>>,
    /// Dropped when the end is in the log.
    is_logged: watch::Sender<()>,
}

/// The writing end of a terminal's entry.
#[derive(Debug)]
pub(super) struct TerminalLogWriter {
    sampler: Arc<Mutex<OutputSampler>>,
    new_output: Arc<Notify>,
}

/// Events that are to be appended, and guards of those who wait for that.
#[derive(Debug)]
pub(crate) struct TerminalEvents {
    pub(crate) drafts: Vec<Draft>,
    pub(crate) waited_for: Vec<watch::Sender<()>>,
}

impl TerminalLog {
    /// Begins an entry. The receiver closes when the log has the terminal's end.
    pub(super) fn begin(
        &self,
        terminal: String,
        turn: Option<TurnId>,
        limit: usize,
    ) -> (TerminalLogWriter, watch::Receiver<()>) {
        let told = Arc::new(Mutex::new(OutputSampler::new(limit)));
        let (sender, is_told) = watch::channel(());
        let entry = TerminalLogEntry { terminal, turn, sampler: told.clone(), is_logged: sender };
        lock(&self.entries).push(entry);
        // One that is begun outside of a turn is noted in the session's record.
        self.new_output.notify_one();
        (TerminalLogWriter { sampler: told, new_output: self.new_output.clone() }, is_told)
    }

    /// When something is due for the log, if anything has come.
    pub(crate) fn due(&self, now: Instant) -> Option<Instant> {
        lock(&self.entries).iter().filter_map(|entry| lock(&entry.sampler).due(now)).min()
    }

    /// The terminals whose end the log does not have.
    pub(crate) fn open(&self) -> Vec<String> {
        lock(&self.entries).iter().map(|entry| entry.terminal.clone()).collect()
    }

    /// The events that are due; and of the terminals of a turn that ends all that there are.
    pub(crate) fn take(&self, now: Instant, ending: Option<TurnId>) -> TerminalEvents {
        let mut drafts = Vec::new();
        let mut entries = lock(&self.entries);
        let over = entries.extract_if(.., |entry| {
            let is_ending = ending.is_some() && entry.turn == ending;
            let wanted = if is_ending { TakeScope::All } else { TakeScope::Due };
            let pieces = lock(&entry.sampler).take(now, wanted);
            let is_over = matches!(pieces.last(), Some(LogPiece::Exited { .. }));
            drafts.extend(pieces.into_iter().map(|piece| entry.draft(piece)));
            is_over
        });
        let waited_for = over.map(|entry| entry.is_logged).collect();
        TerminalEvents { drafts, waited_for }
    }
}

impl TerminalLogEntry {
    fn draft(&self, piece: LogPiece) -> Draft {
        let terminal_id = self.terminal.clone();
        match piece {
            LogPiece::Output(data) => draft(self.turn, TerminalOutput { terminal_id, data }),
            LogPiece::Exited { report, is_truncated } => {
                let exited = TerminalExited {
                    terminal_id,
                    exit_code: report.code,
                    signal: report.signal.map(|signal| signal.to_string()),
                    truncated: is_truncated,
                    lost: false,
                };
                draft(self.turn, exited)
            }
        }
    }
}

impl TerminalLogWriter {
    pub(super) fn push(&self, bytes: &[u8]) {
        if lock(&self.sampler).push(bytes) {
            self.new_output.notify_one();
        }
    }

    pub(super) fn end(&self, report: ExitReport) {
        lock(&self.sampler).end(report);
        self.new_output.notify_one();
    }
}
