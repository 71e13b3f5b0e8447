//! The event log on disk: one `SQLite` database that several processes share.
//!
//! In: calls of [`EventLog`]. Out: jobs for one writer thread, questions for two reader
//! threads, and wake-ups. A commit writes to the WAL without waiting for the disk; the
//! syncer does that for those who ask. Beside the database lie `heads`, a second copy of
//! each session's head, and `claims/`, one locked file per session in use.

mod claims;
mod damaged_sessions;
mod fault;
mod files;
pub mod maintenance;
mod origins;
mod reader;
mod rescue;
mod rows;
mod schema;
mod spare_room;
mod sweeper;
mod syncer;
mod transaction;
mod watcher;
mod writer;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use async_trait::async_trait;
use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot};
use wire::{Event, Millis, Seq, SessionId};

use crate::heads::Heads;
use crate::health::HealthNotes;
use crate::wake_ups::WakeUps;
use crate::{
    AppendedRange, Batch, Claim, ClaimOwner, DEFAULT_MAX_SESSION_BYTES, Damage, DecisionFilter,
    Durability, EventLog, LogHealth, LogTrouble, LogUsage, LoggedDecision, LostSession, NewSession,
    RecordChanges, SessionFilter, SessionOrigin, SessionRecord, StoreError, TroubleKind,
    check_prefix, mint,
};
use claims::FileClaims;
use damaged_sessions::DamagedSessions;
use fault::SqliteResult;
use files::{LogFiles, OpenFiles};
use reader::ReaderQuery;
use rescue::FileWatch;
use spare_room::SpareRoom;
use syncer::Syncer;
use transaction::LogTransaction;
use writer::{LogWriter, WriteJob, WriteTask};

/// Reader threads: one reads a long history while the other answers the short questions.
const READERS: usize = 2;

#[derive(Debug, Clone)]
pub struct SqliteOptions {
    /// The least that every append gets, whatever its batch asks for.
    pub durability: Durability,
    /// Appends beyond this are refused with [`StoreError::SessionFull`].
    pub max_session_bytes: u64,
}

impl Default for SqliteOptions {
    fn default() -> Self {
        Self { durability: Durability::Process, max_session_bytes: DEFAULT_MAX_SESSION_BYTES }
    }
}

#[derive(Debug)]
pub struct SqliteLog {
    files: LogFiles,
    options: SqliteOptions,
    heads: Arc<Heads>,
    claims: Arc<FileClaims>,
    wakes: Arc<WakeUps>,
    /// Sessions found missing at `open`, without those that were deleted since.
    lost: Mutex<Vec<LostSession>>,
    damaged: Arc<DamagedSessions>,
    health: Arc<HealthNotes>,
    open_files: OpenFiles,
    /// Locked, so that nobody replaces the files.
    _in_use: File,
    /// Set by the syncer when the disk refused a sync, cleared by the writer.
    is_sync_broken: Arc<AtomicBool>,
    /// `None` only while the log is being dropped.
    queues: Option<LogQueues>,
    writer: Option<JoinHandle<Connection>>,
    threads: Vec<JoinHandle<()>>,
}

#[derive(Debug, Clone)]
struct LogQueues {
    jobs: mpsc::Sender<Box<dyn WriteJob>>,
    syncs: mpsc::Sender<syncer::SyncRequest>,
    questions: mpsc::Sender<ReaderQuery>,
}

impl SqliteLog {
    /// Opens the log in `dir` and makes it when there is none. Blocks on the disk.
    pub fn open(dir: &Path, options: SqliteOptions) -> Result<Self, StoreError> {
        let files = LogFiles::new(dir);
        match Self::open_files(&files, options.clone()) {
            // What is kept for a full disk is enough to open the log and to delete from it.
            Err(StoreError::DiskFull { .. }) if SpareRoom::of(&files).release() => {
                Self::open_files(&files, options)
            }
            opened => opened,
        }
    }

    fn open_files(files: &LogFiles, options: SqliteOptions) -> Result<Self, StoreError> {
        let files = files.clone();
        let _alone = files.prepare()?;
        maintenance::repair_before_open(&files);
        let in_use = files.share()?;
        files.ensure_database()?;
        let at = |fault: fault::SqliteFault| fault.at(&files.database);
        let has_remains = files.has_wal();
        let connection = schema::open_writer(&files.database).map_err(at)?;
        schema::check_sessions(&connection, &files.database).map_err(at)?;
        let heads = Arc::new(Heads::open(&files.heads)?);
        let lost = rows::find_lost(&connection, &heads).map_err(at)?;
        for LostSession { id, head } in &lost {
            tracing::error!(session = %id, head = head.0, "a session is lost from the database");
        }
        // The statements above have made the WAL file, and the connection keeps it.
        let wal = File::open(&files.wal).map_err(StoreError::io("open", &files.wal))?;
        files.sync_dir()?;
        let open_files = files.opened()?;
        let mut log = Self {
            claims: FileClaims::new(files.claims.clone()),
            wakes: Arc::default(),
            files,
            options,
            heads,
            lost: Mutex::new(lost),
            damaged: Arc::default(),
            health: Arc::default(),
            open_files,
            _in_use: in_use,
            is_sync_broken: Arc::default(),
            queues: None,
            writer: None,
            threads: Vec::new(),
        };
        log.start(connection, wal, has_remains)?;
        Ok(log)
    }

    /// Sessions found missing at `open`. `delete` makes the log forget them.
    pub fn lost_sessions(&self) -> Vec<LostSession> {
        self.lost().clone()
    }

    fn lost(&self) -> MutexGuard<'_, Vec<LostSession>> {
        self.lost.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn start(
        &mut self,
        connection: Connection,
        wal: File,
        has_remains: bool,
    ) -> Result<(), StoreError> {
        let (jobs, job_queue) = mpsc::channel(writer::QUEUED_JOBS);
        let (syncs, sync_queue) = mpsc::channel(syncer::QUEUED_SYNCS);
        let (questions, question_queue) = mpsc::channel(reader::QUEUED_QUESTIONS);
        let (checkpointer, nudge_queue, is_to_empty) = syncer::Checkpointer::new();
        let syncer = Syncer {
            wal,
            wal_path: self.files.wal.clone(),
            heads: Arc::clone(&self.heads),
            is_broken: Arc::clone(&self.is_sync_broken),
            health: Arc::clone(&self.health),
        };
        let writer = LogWriter {
            connection,
            watch: FileWatch::new(self.files.clone(), self.open_files.clone()),
            health: Arc::clone(&self.health),
            heads: Arc::clone(&self.heads),
            damaged: Arc::clone(&self.damaged),
            wakes: Arc::clone(&self.wakes),
            max_session_bytes: self.options.max_session_bytes,
            syncer: syncs.clone(),
            is_sync_broken: Arc::clone(&self.is_sync_broken),
            // A process that died may have left some.
            has_doomed: true,
            has_remains,
            checkpointer,
            spare: SpareRoom::of(&self.files),
            wal_bytes: 0,
        };
        let question_queue = Arc::new(Mutex::new(question_queue));
        for _ in 0..READERS {
            let (connection, queue) = (self.reader()?, Arc::clone(&question_queue));
            let thread = self.spawn("store-reader", move || reader::run(connection, &queue))?;
            self.threads.push(thread);
        }
        let (connection, wakes) = (self.reader()?, Arc::clone(&self.wakes));
        let watch = move || watcher::run(&connection, &wakes);
        self.threads.push(self.spawn("store-watcher", watch)?);
        let path = self.files.database.clone();
        let connection = schema::open_checkpointer(&path).map_err(|fault| fault.at(&path))?;
        let checkpoint =
            move || syncer::run_checkpointer(&connection, &path, nudge_queue, &is_to_empty);
        self.threads.push(self.spawn("store-checkpointer", checkpoint)?);
        self.threads.push(self.spawn("store-syncer", move || syncer.run(sync_queue))?);
        self.writer = Some(self.spawn("store-writer", move || writer.run(job_queue))?);
        self.queues = Some(LogQueues { jobs, syncs, questions });
        Ok(())
    }

    fn reader(&self) -> Result<Connection, StoreError> {
        schema::open_reader(&self.files.database).map_err(|fault| fault.at(&self.files.database))
    }

    fn spawn<T: Send + 'static>(
        &self,
        name: &str,
        run: impl FnOnce() -> T + Send + 'static,
    ) -> Result<JoinHandle<T>, StoreError> {
        let thread = std::thread::Builder::new().name(name.into()).spawn(run);
        thread.map_err(StoreError::io("start a thread for", &self.files.dir))
    }

    fn check_space(&self) -> Result<(), StoreError> {
        self.files.check_space().inspect_err(|error| {
            self.health.fail(TroubleKind::Writing, error.clone());
        })
    }

    fn queues(&self) -> Result<&LogQueues, StoreError> {
        self.queues.as_ref().ok_or(StoreError::Closed)
    }

    async fn write<T: Send + 'static>(
        &self,
        durability: Durability,
        bytes: usize,
        work: impl FnMut(&mut LogTransaction<'_>) -> SqliteResult<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.enqueue(durability, bytes, false, work).await
    }

    async fn enqueue<T: Send + 'static>(
        &self,
        durability: Durability,
        bytes: usize,
        frees_space: bool,
        work: impl FnMut(&mut LogTransaction<'_>) -> SqliteResult<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (reply, answer) = oneshot::channel();
        let durability = durability.max(self.options.durability);
        let task = WriteTask { bytes, durability, frees_space, work, done: None, reply };
        self.queues()?.jobs.send(Box::new(task)).await.map_err(|_| StoreError::Closed)?;
        answer.await.map_err(|_| StoreError::Closed)?
    }

    /// Has one of the readers answer a question.
    async fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&mut Connection) -> SqliteResult<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (reply, answer) = oneshot::channel();
        let path = self.files.database.clone();
        let query: ReaderQuery = Box::new(move |connection| {
            // Nobody waits any more: the caller was dropped.
            if !reply.is_closed() {
                let _ = reply.send(question(connection).map_err(|fault| fault.at(&path)));
            }
        });
        self.queues()?.questions.send(query).await.map_err(|_| StoreError::Closed)?;
        let answered = answer.await.map_err(|_| StoreError::Closed)?;
        self.health.note(TroubleKind::Reading, &answered);
        answered
    }

    /// Looks again where damage was met: a failing disk may have given something else for a moment.
    async fn check_known_damage(&self, session: SessionId) -> Result<(), StoreError> {
        match self.damaged.first_bad(session) {
            Some(_) => self.check_end(session).await,
            None => Ok(()),
        }
    }

    /// The records in the rows that are found.
    async fn records(
        &self,
        find: impl FnOnce(&Connection) -> SqliteResult<Vec<rows::SessionRow>> + Send + 'static,
    ) -> Result<Vec<SessionRecord>, StoreError> {
        let (heads, damaged) = (Arc::clone(&self.heads), Arc::clone(&self.damaged));
        self.ask(move |connection| {
            let checked = |row| {
                let record = rows::checked_record(connection, &heads, row)?;
                let damage = record.damage.or_else(|| damaged.damage_of(&record));
                Ok(SessionRecord { damage, ..record })
            };
            find(connection)?.into_iter().map(checked).collect()
        })
        .await
    }
}

impl Drop for SqliteLog {
    /// Commits what is queued, then closes the database.
    fn drop(&mut self) {
        self.queues = None;
        self.wakes.close();
        // The writer ends first, because the others serve it.
        let connection = self.writer.take().and_then(|thread| thread.join().ok());
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
        // Connections that close at the same moment take each other for a reason to leave
        // the WAL behind. This one is the last of ours and empties it.
        drop(connection);
    }
}

#[async_trait]
impl EventLog for SqliteLog {
    async fn create(&self, new: NewSession) -> Result<SessionRecord, StoreError> {
        self.check_space()?;
        self.write(Durability::Process, 0, move |transaction| transaction.create(&new)).await
    }

    async fn append(&self, mut batch: Batch) -> Result<AppendedRange, StoreError> {
        self.check_known_damage(batch.session).await?;
        let bytes = batch.drafts.iter().map(|draft| draft.payload.as_str().len()).sum();
        self.write(batch.durability, bytes, move |transaction| transaction.append(&mut batch)).await
    }

    async fn sync(&self) -> Result<(), StoreError> {
        if self.is_sync_broken.load(Ordering::Acquire) {
            // The writer has to mend it first.
            return self.write(Durability::Power, 0, |_| Ok(())).await;
        }
        let (reply, answer) = oneshot::channel();
        let request: syncer::SyncRequest = Box::new(|synced| {
            let _ = reply.send(synced);
        });
        self.queues()?.syncs.send(request).await.map_err(|_| StoreError::Closed)?;
        answer.await.map_err(|_| StoreError::Closed)?
    }

    async fn read(
        &self,
        session: SessionId,
        after: Seq,
        limit: usize,
    ) -> Result<Vec<Event>, StoreError> {
        let read = self.ask(move |connection| reader::events(connection, session, after, limit));
        let read = read.await;
        self.damaged.note(&read);
        read
    }

    async fn check_end(&self, session: SessionId) -> Result<(), StoreError> {
        let known = self.damaged.first_bad(session);
        let checked = self.ask(move |connection| reader::check_end(connection, session, known));
        let checked = checked.await;
        if checked.is_ok() {
            self.damaged.forget(session);
        }
        self.damaged.note(&checked);
        checked
    }

    async fn wait(&self, session: SessionId, after: Seq) -> Result<(), StoreError> {
        let waiter = self.wakes.register(session);
        match self.ask(move |connection| reader::head(connection, session)).await? {
            None => Err(StoreError::NoSuchSession(session)),
            Some(head) if head > after => Ok(()),
            Some(_) => waiter.reached(after).await,
        }
    }

    async fn session(&self, id: SessionId) -> Result<Option<SessionRecord>, StoreError> {
        let found =
            self.records(move |connection| Ok(rows::load(connection, id)?.into_iter().collect()));
        match found.await?.pop() {
            Some(record) => Ok(Some(record)),
            None => match self.lost().iter().find(|lost| lost.id == id) {
                Some(lost) => Err(StoreError::SessionLost { session: id, head: lost.head }),
                None => Ok(None),
            },
        }
    }

    async fn origin(&self, session: SessionId) -> Result<Option<SessionOrigin>, StoreError> {
        self.ask(move |connection| origins::load(connection, session)).await
    }

    async fn n_made_by(
        &self,
        made_by: &str,
        since: Millis,
        max: usize,
    ) -> Result<usize, StoreError> {
        let made_by = made_by.to_owned();
        self.ask(move |connection| origins::count(connection, &made_by, since, max)).await
    }

    async fn find(&self, prefix: &str) -> Result<Vec<SessionRecord>, StoreError> {
        check_prefix(prefix)?;
        let prefix = prefix.to_owned();
        self.records(move |connection| reader::find(connection, &prefix)).await
    }

    async fn sessions(&self, filter: SessionFilter) -> Result<Vec<SessionRecord>, StoreError> {
        self.records(move |connection| reader::sessions(connection, &filter)).await
    }

    async fn decisions(&self, filter: DecisionFilter) -> Result<Vec<LoggedDecision>, StoreError> {
        self.ask(move |connection| reader::decisions(connection, &filter)).await
    }

    async fn update(&self, session: SessionId, changes: RecordChanges) -> Result<(), StoreError> {
        self.write(Durability::Process, 0, move |transaction| transaction.update(session, &changes))
            .await
    }

    async fn delete(&self, session: SessionId) -> Result<bool, StoreError> {
        let claims = Arc::clone(&self.claims);
        self.ask(move |_| match claims.owner(session)? {
            ClaimOwner::Other { pid } => Err(StoreError::InUse { session, pid }.into()),
            ClaimOwner::Nobody | ClaimOwner::ThisLog => Ok(()),
        })
        .await?;
        let delete = move |transaction: &mut LogTransaction<'_>| transaction.delete(session);
        let was_there = self.enqueue(Durability::Power, 0, true, delete).await?;
        self.lost().retain(|lost| lost.id != session);
        self.damaged.forget(session);
        Ok(was_there)
    }

    async fn claim(&self, session: SessionId) -> Result<Claim, StoreError> {
        let claims = Arc::clone(&self.claims);
        self.ask(move |_| Ok(claims.claim(session)?)).await
    }

    async fn owner(&self, session: SessionId) -> Result<ClaimOwner, StoreError> {
        let claims = Arc::clone(&self.claims);
        self.ask(move |_| Ok(claims.owner(session)?)).await
    }

    async fn recover(&self, session: SessionId) -> Result<Option<Damage>, StoreError> {
        self.check_known_damage(session).await?;
        self.write(Durability::Power, 0, move |transaction| transaction.recover(session)).await
    }

    async fn usage(&self) -> Result<LogUsage, StoreError> {
        let paths: [PathBuf; 3] =
            [self.files.database.clone(), self.files.wal.clone(), self.files.heads.clone()];
        self.ask(move |connection| {
            let n_sessions: i64 =
                connection.query_row("SELECT count(*) FROM sessions", [], |row| row.get(0))?;
            let size = |path: &PathBuf| fs::metadata(path).map_or(0, |meta| meta.len());
            let bytes_on_disk = paths.iter().map(size).sum();
            Ok(LogUsage { bytes_on_disk, n_sessions: n_sessions.cast_unsigned() })
        })
        .await
    }

    fn health(&self) -> LogHealth {
        let _noted = self.check_space();
        let mut troubles = self.health.troubles();
        // Nobody may have written since.
        let is_known = troubles.iter().any(|trouble| trouble.kind == TroubleKind::Files);
        if let Some(path) = self.open_files.first_gone().filter(|_| !is_known) {
            let saved = "nothing is taken from now on".to_owned();
            let error = StoreError::FilesGone { path: path.to_owned(), saved };
            troubles.insert(0, LogTrouble { kind: TroubleKind::Files, since: mint::now(), error });
        }
        LogHealth { troubles, lost: self.lost_sessions() }
    }

    async fn probe(&self) -> Result<(), StoreError> {
        self.check_space()?;
        // What is there already: that needs the same of the disk as anything else.
        let touch = |transaction: &mut LogTransaction<'_>| {
            Ok(schema::write_version(transaction.connection)?)
        };
        self.write(Durability::Process, 0, touch).await
    }
}

#[cfg(test)]
mod tests;
