//! The one thread that writes.
//!
//! In: jobs from a bounded queue. Out: their answers, heads, wake-ups, and requests to the
//! syncer. Whatever waits in the queue is committed as one transaction, so the cost of a
//! commit is shared by those who come at the same time; nobody waits for company. A job
//! that asks for power durability is answered by the syncer, while this thread goes on.
//! An answer is given after the commit and after the second copy of the head is written.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rusqlite::{Connection, TransactionBehavior};
use tokio::sync::{mpsc, oneshot};

use super::damaged_sessions::DamagedSessions;
use super::fault::{SqliteFault, SqliteResult};
use super::rescue::FileWatch;
use super::spare_room::SpareRoom;
use super::sweeper::sweep_once;
use super::syncer::{Checkpointer, empty_wal};
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

/// Work for the writer, with somebody waiting for the answer.
pub(super) trait WriteJob: Send {
    fn bytes(&self) -> usize;
    fn durability(&self) -> Durability;
    /// Whether it may use the spare room when the disk is full.
    fn frees_space(&self) -> bool;
    /// Runs the job and keeps its answer. An error means that the transaction is lost.
    fn run(&mut self, transaction: &mut LogTransaction<'_>) -> SqliteResult<()>;
    /// Gives the kept answer, or the error that took its place.
    fn answer(self: Box<Self>, committed: Result<(), StoreError>);
}

pub(super) struct WriteTask<T, F> {
    pub(super) bytes: usize,
    pub(super) durability: Durability,
    pub(super) frees_space: bool,
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

    fn frees_space(&self) -> bool {
        self.frees_space
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
    pub(super) damaged: Arc<DamagedSessions>,
    pub(super) wakes: Arc<WakeUps>,
    pub(super) max_session_bytes: u64,
    pub(super) syncer: mpsc::Sender<super::syncer::SyncRequest>,
    /// Set by the syncer when the disk refused a sync.
    pub(super) is_sync_broken: Arc<AtomicBool>,
    pub(super) has_doomed: bool,
    /// The WAL may still hold what was removed from the database.
    pub(super) has_remains: bool,
    pub(super) checkpointer: Checkpointer,
    pub(super) spare: SpareRoom,
    /// Bytes written since the checkpointer was nudged, roughly.
    pub(super) wal_bytes: usize,
}

impl LogWriter {
    /// Runs until every sender of jobs is gone and the queue is empty. Gives the connection back,
    /// to be closed after all others.
    pub(super) fn run(mut self, mut queue: mpsc::Receiver<Box<dyn WriteJob>>) -> Connection {
        self.spare.take();
        let mut large = None;
        while let Some(first) = large.take().or_else(|| self.next_job(&mut queue)) {
            let mut bytes = first.bytes();
            let mut group = vec![first];
            while group.len() < GROUPED_JOBS && bytes < GROUPED_BYTES {
                let Ok(job) = queue.try_recv() else { break };
                if job.bytes() >= GROUPED_BYTES {
                    // It comes next, by itself: those before it do not wait for it.
                    large = Some(job);
                    break;
                }
                bytes += job.bytes();
                group.push(job);
            }
            self.commit(group);
            self.wal_bytes += bytes + COMMIT_BYTES;
            if self.wal_bytes > NUDGE_AFTER_BYTES {
                self.have_wal_copied();
            }
        }
        self.connection
    }

    /// Nudges the checkpointer. Where space is scarce the writer waits for the copy: otherwise the disk
    /// could be full of log for which the database has no room any more.
    fn have_wal_copied(&mut self) {
        if self.spare.is_scarce() {
            self.empty_wal();
        } else if self.checkpointer.nudge() {
            self.spare.take();
        } else {
            return;
        }
        self.wal_bytes = 0;
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
            Err(fault) if group.len() == 1 => self.refuse_or_make_room(group, fault),
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
            damaged: &self.damaged,
            max_session_bytes: self.max_session_bytes,
            // Only what frees space is tried again alone, and that brings nothing large.
            is_last_try: group.len() == 1,
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
                None => (self.has_doomed, self.has_remains) = (true, true),
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

    /// On a full disk a deletion gets the spare room, and what it deletes is swept at once: others
    /// would find no space meanwhile anyway.
    fn refuse_or_make_room(&mut self, mut group: Vec<Box<dyn WriteJob>>, fault: SqliteFault) {
        let error = fault.at(&self.watch.files.database);
        let is_full = matches!(error, StoreError::DiskFull { .. });
        let may_free = is_full && group.iter().all(|job| job.frees_space());
        if !may_free || !self.spare.release() {
            return self.refuse(group, error);
        }
        tracing::warn!("the disk is full: deleting with the room that was kept for this");
        self.empty_wal();
        match self.transact(&mut group) {
            Ok(effects) => self.finish(group, &effects),
            Err(fault) => return self.refuse(group, fault.at(&self.watch.files.database)),
        }
        while self.has_doomed {
            self.sweep();
            // So that the next portion goes where this one was.
            self.empty_wal();
        }
        self.spare.take();
    }

    /// Copies all of the WAL into the database and empties it, if no reader is in the way.
    fn empty_wal(&self) {
        if let Err(fault) = empty_wal(&self.connection) {
            let error = fault.at(&self.watch.files.database);
            tracing::warn!(%error, "the log could not be copied back into its database");
        }
    }

    /// Removes a portion of what was deleted; after the last one also from the WAL.
    fn sweep(&mut self) {
        match sweep_once(&mut self.connection) {
            Ok(true) => self.has_remains = true,
            Ok(false) => {
                self.has_doomed = false;
                if std::mem::take(&mut self.has_remains) {
                    self.checkpointer.empty_wal();
                }
            }
            Err(fault) => {
                // The next deletion or the next start tries again.
                self.has_doomed = false;
                let error = fault.at(&self.watch.files.database);
                tracing::warn!(%error, "events of a deleted session are left for later");
            }
        }
    }
}
