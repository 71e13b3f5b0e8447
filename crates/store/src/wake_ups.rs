//! Wake-ups: who waits for which session, and how far its log is known to reach.
//!
//! In: heads, from the writer and from the watcher of other processes' commits. Out: a
//! value that a waiting reader can watch. A session has an entry only while somebody
//! waits for it, so the table is as small as the number of waiting readers.

use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use wire::{Seq, SessionId};

use crate::StoreError;

/// How far a session's log reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LogReach {
    To(Seq),
    Deleted,
}

#[derive(Debug, Default)]
pub(crate) struct WakeUps {
    table: Mutex<WakeTable>,
    someone_waits: Condvar,
}

#[derive(Debug, Default)]
struct WakeTable {
    waits: HashMap<SessionId, WakeEntry>,
    is_closed: bool,
}

#[derive(Debug)]
struct WakeEntry {
    reach: watch::Sender<LogReach>,
    n_waiting: usize,
}

/// One reader that waits. Removes itself when dropped.
#[derive(Debug)]
pub(crate) struct LogWaiter {
    wakes: Arc<WakeUps>,
    session: SessionId,
    reach: watch::Receiver<LogReach>,
}

impl WakeUps {
    /// To be called before looking at the log: what is committed after this call reaches
    /// the waiter, what was committed before is in the log.
    pub(crate) fn register(self: &Arc<Self>, session: SessionId) -> LogWaiter {
        let mut table = self.lock();
        let entry = table.waits.entry(session).or_insert_with(|| WakeEntry {
            reach: watch::Sender::new(LogReach::To(Seq(0))),
            n_waiting: 0,
        });
        entry.n_waiting += 1;
        let reach = entry.reach.subscribe();
        drop(table);
        self.someone_waits.notify_one();
        LogWaiter { wakes: Arc::clone(self), session, reach }
    }

    pub(crate) fn publish(&self, session: SessionId, now: LogReach) {
        if let Some(entry) = self.lock().waits.get(&session) {
            entry.reach.send_if_modified(|reach| {
                // Two threads publish, so one may be late; a log only grows.
                let is_news = match (*reach, now) {
                    (LogReach::To(known), LogReach::To(head)) => head > known,
                    (known, now) => known != now,
                };
                if is_news {
                    *reach = now;
                }
                is_news
            });
        }
    }

    pub(crate) fn waited_for(&self) -> Vec<SessionId> {
        self.lock().waits.keys().copied().collect()
    }

    /// Blocks while nobody waits, then for `pause` more. False once the log is closed.
    pub(crate) fn pause_while_needed(&self, pause: Duration) -> bool {
        let table = self.lock();
        let idle = |table: &mut WakeTable| table.waits.is_empty() && !table.is_closed;
        let table =
            self.someone_waits.wait_while(table, idle).unwrap_or_else(PoisonError::into_inner);
        let (table, _) = self
            .someone_waits
            .wait_timeout_while(table, pause, |table| !table.is_closed)
            .unwrap_or_else(PoisonError::into_inner);
        !table.is_closed
    }

    /// Ends the thread in [`Self::pause_while_needed`].
    pub(crate) fn close(&self) {
        self.lock().is_closed = true;
        self.someone_waits.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, WakeTable> {
        // Nothing panics under this lock, and the table is consistent at every step.
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LogWaiter {
    /// Resolves when the log is known to reach beyond `after`.
    pub(crate) async fn reached(mut self, after: Seq) -> Result<(), StoreError> {
        let is_due = |reach: &LogReach| match *reach {
            LogReach::To(head) => head > after,
            LogReach::Deleted => true,
        };
        let reach = *self.reach.wait_for(is_due).await.map_err(|_| StoreError::Closed)?;
        match reach {
            LogReach::To(_) => Ok(()),
            LogReach::Deleted => Err(StoreError::NoSuchSession(self.session)),
        }
    }
}

impl Drop for LogWaiter {
    fn drop(&mut self) {
        let mut table = self.wakes.lock();
        if let Some(entry) = table.waits.get_mut(&self.session) {
            entry.n_waiting -= 1;
            if entry.n_waiting == 0 {
                table.waits.remove(&self.session);
            }
        }
    }
}

#[cfg(test)]
mod tests;
