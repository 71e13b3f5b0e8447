//! Notices of answers, ended turns and halts in this process's sessions, for readers outside.
//!
//! In: places in the log, noted by whoever appended there. Out: the notes after a number, and
//! a wait for the next one. The notes are only a way to find the events: what they say is
//! read from the log. The last [`MAX_NOTICES`] are kept; a reader that falls further behind is
//! told how many it missed.

use std::collections::VecDeque;
use std::sync::Mutex;

use tokio::sync::watch;
use wire::{Millis, Seq, SessionId, TurnId};

use crate::lock::lock;
use crate::mint;

/// Enough for the burst when a hundred sessions end their turns at once.
pub const MAX_NOTICES: usize = 4096;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoticeEntry {
    pub session: SessionId,
    pub at: Millis,
    pub notice: Notice,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// A question that waited for a person has its answer, at this place.
    Answered(Seq),
    /// A turn ended, at this place.
    TurnEnded(Seq),
    /// The session cannot go on. The log may not have been able to take this.
    Halted { turn: Option<TurnId>, why: String },
}

#[derive(Debug, Default)]
pub struct Notices {
    notes: Mutex<NoticeQueue>,
    /// How many notes there ever were.
    count: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct NoticeQueue {
    kept: VecDeque<NoticeEntry>,
    n_forgotten: u64,
}

/// Notes in order, and where to go on reading.
#[derive(Debug, PartialEq, Eq)]
pub struct NoticeBatch {
    pub notes: Vec<NoticeEntry>,
    /// Notes that were forgotten before they could be read.
    pub n_missed: u64,
    pub next: u64,
}

impl Notices {
    pub fn add(&self, session: SessionId, what: Notice) {
        let note = NoticeEntry { session, at: mint::now(), notice: what };
        let count = {
            let mut notes = lock(&self.notes);
            if notes.kept.len() >= MAX_NOTICES {
                notes.kept.pop_front();
                notes.n_forgotten += 1;
            }
            notes.kept.push_back(note);
            notes.n_forgotten + notes.kept.len() as u64
        };
        // Two sessions may come here in the other order; the number only grows.
        self.count.send_if_modified(|known| {
            let is_more = count > *known;
            *known = count.max(*known);
            is_more
        });
    }

    /// The number after the last note: to be told only what happens from now on.
    pub fn next_number(&self) -> u64 {
        *self.count.borrow()
    }

    /// The notes after number `after`; 0 is the beginning.
    pub fn after(&self, after: u64) -> NoticeBatch {
        let notes = lock(&self.notes);
        let n_missed = notes.n_forgotten.saturating_sub(after);
        let n_seen = after.saturating_sub(notes.n_forgotten);
        let n_seen = usize::try_from(n_seen).unwrap_or(usize::MAX);
        NoticeBatch {
            notes: notes.kept.iter().skip(n_seen).cloned().collect(),
            n_missed,
            next: notes.n_forgotten + notes.kept.len() as u64,
        }
    }

    /// Waits until there are notes after number `after`.
    pub async fn wait_after(&self, after: u64) {
        // The sender lives as long as `self`.
        let _ = self.count.subscribe().wait_for(|count| *count > after).await;
    }
}

#[cfg(test)]
mod tests;
