//! The one thread that writes.
//!
//! In: jobs from a bounded queue. Out: their answers, heads, wake-ups, and requests to the
//! syncer. Whatever waits in the queue is committed as one transaction, so the cost of a
//! commit is shared by those who come at the same time; nobody waits for company. A job
//! that asks for power durability is answered by the syncer, while this thread goes on.
//! An answer is given after the commit and after the second copy of the head is written.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rusqlite::{Connection, TransactionBehavior};
use tokio::sync::{mpsc, oneshot};

use super::fault::{SqliteFault, SqliteResult};
use super::rescue::FileWatch;
use super::schema::{BUSY_TIMEOUT, SEQ_BITS};
use super::transaction::{CommitEffect, LogTransaction};
use crate::heads::Heads;
use crate::health::HealthNotes;
use crate::wake_ups::WakeUps;
use crate::{Durability, StoreError, TroubleKind};

/// Callers beyond this wait before their job is queued.
pub(super) const QUEUED_JOBS: usize = 1024;
/// Jobs per transaction: enough to share its cost, few enough to keep it short.
const GROUPED_JOBS: usize = 256;
/// A transaction is closed after about this much payload, which bounds how long the
/// first of its jobs waits for the last.
const GROUPED_BYTES: usize = 4 * 1024 * 1024;
/// About this much WAL is written between two nudges of the checkpointer.
const NUDGE_AFTER_BYTES: usize = 4 * 1024 * 1024;
/// Pages that a commit writes beside those that its events fill: the row, its indexes.
const COMMIT_BYTES: usize = 4 * 4096;
/// Events of a deleted session removed per transaction: a few milliseconds.
const SWEPT_EVENTS: i64 = 1000;

/// Work for the writer, with somebody waiting for the answer.
pub(super) trait WriteJob: Send {
    fn bytes(&self) -> usize;
    fn durability(&self) -> Durability;
    /// Runs the job and keeps its answer. An error means that the transaction is lost.
    fn run(&mut self, transaction: &mut LogTransaction<'_>) -> SqliteResult<()>;
    /// Gives the kept answer, or the error that took its place.
    fn answer(self: Box<Self>, committed: Result<(), StoreError>);
}

pub(super) struct WriteTask<T, F> {
    pub(super) bytes: usize,
    pub(super) durability: Durability,
    pub(super) work: F,
    pub(super) done: Option<Result<T, StoreError>>,
    pub(super) reply: oneshot::Sender<Result<T, StoreError>>,
}

impl<T: Send, F: FnMut(&mut LogTransaction<'_>) -> SqliteResult<T> + Send> WriteJob
    for WriteTask<T, F>
{
    fn bytes(&self) -> usize {
        self.bytes
    }

    fn durability(&self) -> Durability {
        self.durability
    }

    fn run(&mut self, transaction: &mut LogTransaction<'_>) -> SqliteResult<()> {
        self.done = Some(match (self.work)(transaction) {
            Ok(value) => Ok(value),
            Err(SqliteFault::Store(refusal)) if refusal.is_refusal() => Err(refusal),
            Err(fault) => return Err(fault),
        });
        Ok(())
    }

    fn answer(self: Box<Self>, committed: Result<(), StoreError>) {
        let answer = committed.and(self.done.unwrap_or(Err(StoreError::Closed)));
        // Whoever asked may have gone away; the work stands.
        let _ = self.reply.send(answer);
    }
}

pub(super) struct LogWriter {
    pub(super) connection: Connection,
    pub(super) watch: FileWatch,
    pub(super) health: Arc<HealthNotes>,
    pub(super) heads: Arc<Heads>,
    pub(super) wakes: Arc<WakeUps>,
    pub(super) max_session_bytes: u64,
    pub(super) syncer: mpsc::Sender<super::syncer::SyncRequest>,
    /// Set by the syncer when the disk refused a sync.
    pub(super) is_sync_broken: Arc<AtomicBool>,
    pub(super) has_doomed: bool,
    /// The WAL may still hold what was removed from the database.
    pub(super) has_remains: bool,
    pub(super) checkpointer: mpsc::Sender<()>,
    /// Bytes written since the checkpointer was nudged, roughly.
    pub(super) wal_bytes: usize,
}

impl LogWriter {
    /// Runs until every sender of jobs is gone and the queue is empty. Gives the connection back,
    /// to be closed after all others.
    pub(super) fn run(mut self, mut queue: mpsc::Receiver<Box<dyn WriteJob>>) -> Connection {
        while let Some(first) = self.next_job(&mut queue) {
            let mut bytes = first.bytes();
            let mut group = vec![first];
            while group.len() < GROUPED_JOBS && bytes < GROUPED_BYTES {
                let Ok(job) = queue.try_recv() else { break };
                bytes += job.bytes();
                group.push(job);
            }
            self.commit(group);
            self.wal_bytes += bytes + COMMIT_BYTES;
            if self.wal_bytes > NUDGE_AFTER_BYTES && self.checkpointer.try_send(()).is_ok() {
                self.wal_bytes = 0;
            }
        }
        self.connection
    }

    /// Waits for the next job; meanwhile removes the events of deleted sessions.
    fn next_job(
        &mut self,
        queue: &mut mpsc::Receiver<Box<dyn WriteJob>>,
    ) -> Option<Box<dyn WriteJob>> {
        while self.has_doomed {
            match queue.try_recv() {
                Ok(job) => return Some(job),
                Err(mpsc::error::TryRecvError::Disconnected) => return None,
                Err(mpsc::error::TryRecvError::Empty) => self.sweep(),
            }
        }
        queue.blocking_recv()
    }

    fn commit(&mut self, mut group: Vec<Box<dyn WriteJob>>) {
        let is_ready = self.watch.check(&self.connection).and_then(|()| self.mend_sync());
        if let Err(error) = is_ready {
            return self.refuse(group, error);
        }
        match self.transact(&mut group) {
            Ok(effects) => {
                self.note_success();
                self.finish(group, &effects);
            }
            Err(fault) if group.len() == 1 => {
                let error = fault.at(&self.watch.files.database);
                self.refuse(group, error);
            }
            // One of them may be to blame, by its size for example. Alone, each gets the
            // answer that it deserves.
            Err(_) => group.into_iter().for_each(|job| self.commit(vec![job])),
        }
    }

    fn note_success(&self) {
        // On a full disk a small append may still find a place, where the next one does not.
        if self.health.has_any() && self.watch.files.check_space().is_ok() {
            self.health.clear(TroubleKind::Files);
            self.health.clear(TroubleKind::Writing);
        }
    }

    fn refuse(&self, group: Vec<Box<dyn WriteJob>>, error: StoreError) {
        for job in group {
            job.answer(Err(error.clone()));
        }
        self.health.fail(TroubleKind::Writing, error);
    }

    fn transact(&mut self, group: &mut [Box<dyn WriteJob>]) -> SqliteResult<Vec<CommitEffect>> {
        let behavior = TransactionBehavior::Immediate;
        let tx = self.connection.transaction_with_behavior(behavior)?;
        let mut transaction = LogTransaction {
            connection: &tx,
            heads: &self.heads,
            max_session_bytes: self.max_session_bytes,
            effects: Vec::with_capacity(group.len()),
        };
        for job in group {
            job.run(&mut transaction)?;
        }
        let effects = transaction.effects;
        tx.commit()?;
        Ok(effects)
    }

    fn finish(&mut self, group: Vec<Box<dyn WriteJob>>, effects: &[CommitEffect]) {
        for (index, effect) in effects.iter().enumerate() {
            // Of several steps on one session in a row only the last one counts.
            if effects.get(index + 1).is_some_and(|next| next.session == effect.session) {
                continue;
            }
            match &effect.head {
                Some((key, slot)) => self.heads.put(*key, slot),
                None => self.has_doomed = true,
            }
            self.wakes.publish(effect.session, effect.reach);
        }
        for job in group {
            match job.durability() {
                Durability::Process => job.answer(Ok(())),
                Durability::Power => self.hand_to_syncer(job),
            }
        }
    }

    fn hand_to_syncer(&self, job: Box<dyn WriteJob>) {
        let request: super::syncer::SyncRequest = Box::new(move |synced| job.answer(synced));
        if let Err(mpsc::error::SendError(request)) = self.syncer.blocking_send(request) {
            request(Err(StoreError::Closed));
        }
    }

    /// After a failed sync the kernel may have dropped the pages and reports success the
    /// next time, so trying again proves nothing. Copying everything into the database
    /// writes it anew, and that sync counts.
    fn mend_sync(&self) -> Result<(), StoreError> {
        if !self.is_sync_broken.load(Ordering::Acquire) {
            return Ok(());
        }
        let path = &self.watch.files.database;
        let is_busy: bool = self
            .connection
            .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))
            .map_err(|error| SqliteFault::from(error).at(path))?;
        if is_busy {
            let detail = "an earlier sync did not succeed and readers keep the log from being \
                          written anew"
                .into();
            return Err(StoreError::SyncFailed { path: path.clone(), detail });
        }
        self.is_sync_broken.store(false, Ordering::Release);
        self.health.clear(TroubleKind::Syncing);
        tracing::warn!(path = %path.display(), "syncing works again after an error");
        Ok(())
    }

    /// Removes a portion of the events of one deleted session; after the last one also from the
    /// WAL.
    fn sweep(&mut self) {
        let swept = sweep_once(&mut self.connection).and_then(|is_more| {
            self.has_remains |= is_more;
            self.has_doomed = is_more;
            if self.has_remains && !is_more {
                self.has_remains = !empty_wal(&self.connection)?;
            }
            Ok(())
        });
        if let Err(fault) = swept {
            // The next deletion or the next start tries again.
            self.has_doomed = false;
            let error = fault.at(&self.watch.files.database);
            tracing::warn!(%error, "events of a deleted session are left for later");
        }
    }
}

/// Removes one portion; true while there is more to remove.
fn sweep_once(connection: &mut Connection) -> SqliteResult<bool> {
    let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let doomed: Option<i64> = tx.query_row("SELECT min(key) FROM doomed", [], |r| r.get(0))?;
    let Some(key) = doomed else { return Ok(false) };
    let first = key << SEQ_BITS;
    let last = first | ((1 << SEQ_BITS) - 1);
    let sql = "DELETE FROM events WHERE key IN \
               (SELECT key FROM events WHERE key BETWEEN ?1 AND ?2 ORDER BY key LIMIT ?3)";
    let n_removed = tx.prepare_cached(sql)?.execute([first, last, SWEPT_EVENTS])?;
    if n_removed == 0 {
        tx.prepare_cached("DELETE FROM doomed WHERE key = ?1")?.execute([key])?;
    }
    tx.commit()?;
    Ok(true)
}

/// Copies all of the WAL into the database and empties it. Waits for no reader: false if there is
/// one.
fn empty_wal(connection: &Connection) -> SqliteResult<bool> {
    connection.busy_timeout(Duration::ZERO)?;
    let sql = "PRAGMA wal_checkpoint(TRUNCATE)";
    let is_busy = connection.query_row(sql, [], |row| row.get::<_, bool>(0));
    connection.busy_timeout(BUSY_TIMEOUT)?;
    Ok(!is_busy?)
}
