//! Reads every session of a log, whole or damaged, and writes what is intact into a new database.
//!
//! In: a connection, and the second copy of the heads if there is one. Out: each session's row and
//! those of its events that are proven by the chain of checksums, in portions, each from a snapshot
//! of its own: nobody is held up, and the write-ahead log is not pinned. A session whose row was
//! read is consistent with the events up to its head, which never change. Whoever uses this needs
//! to survive damage anywhere, so an error of a statement ends a session, not the walk.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OptionalExtension, params};
use wire::{Event, Kind, Seq, TurnId};

use super::super::fault::{SqliteFault, SqliteResult};
use super::super::rows::{self, SessionRow};
use super::super::schema::{self, INSERT_EVENT, SEQ_BITS};
use super::super::{origins, reader};
use super::{OnProgress, Progress, SessionFinding, SessionProblem};
use crate::chain::{self, ChainedEvent};
use crate::heads::{HeadSlot, Heads};
use crate::record::event_weight;
use crate::{SessionOrigin, StoreError, mint, private_file};

/// Events read at a time, if they are small.
const PORTION: usize = 1000;
/// A draft is committed after so much, which bounds what it has in memory.
const COMMIT_AFTER: u64 = 16 << 20;

/// A log to read.
pub(super) struct LogSource {
    pub(super) connection: Connection,
    pub(super) heads: Option<Heads>,
    pub(super) path: PathBuf,
}

/// What was found under one key.
pub(super) struct Walked {
    /// The row, cut to the events that are intact; none if nothing is left of it.
    pub(super) row: Option<SessionRow>,
    pub(super) origin: Option<SessionOrigin>,
    pub(super) finding: Option<SessionFinding>,
    /// Where the log had come to, as far as it is known.
    pub(super) last_known: Seq,
    /// What the second copy says.
    slot: Option<HeadSlot>,
}

/// Takes the events of a session, each with its key and checksum, as they are proven.
pub(super) trait EventSink {
    fn add(&mut self, key: i64, event: &Event, crc: u32) -> SqliteResult<()>;
    /// The session was deleted meanwhile.
    fn forget(&mut self, key: i64) -> SqliteResult<()>;
}

/// For those who only look.
pub(super) struct Nowhere;

impl EventSink for Nowhere {
    fn add(&mut self, _: i64, _: &Event, _: u32) -> SqliteResult<()> {
        Ok(())
    }

    fn forget(&mut self, _: i64) -> SqliteResult<()> {
        Ok(())
    }
}

impl LogSource {
    /// The weight of all events, for progress; 0 if that cannot be said.
    pub(super) fn weight(&self) -> u64 {
        let sql = "SELECT coalesce(sum(bytes), 0) FROM sessions";
        let sum = self.connection.query_row(sql, [], |row| row.get::<_, i64>(0));
        sum.unwrap_or_default().cast_unsigned()
    }

    /// The keys of all sessions that anything knows of: the table, its index, the second copy of
    /// the heads, the events.
    pub(super) fn keys(&self) -> BTreeSet<i64> {
        let mut keys = BTreeSet::new();
        let listings = [
            "SELECT key FROM sessions NOT INDEXED",
            "SELECT key FROM sessions INDEXED BY sessions_by_id",
        ];
        for sql in listings {
            self.collect(sql, &mut keys);
        }
        keys.extend(self.heads.iter().flat_map(Heads::all).map(|(key, _)| key));
        let (mut next, sql) = (0_i64, "SELECT min(key) FROM events WHERE key >= ?1");
        while let Ok(Some(key)) =
            self.connection.query_row(sql, [next], |row| row.get::<_, Option<i64>>(0))
        {
            let start = ((key >> SEQ_BITS) + 1).checked_mul(1 << SEQ_BITS);
            // A damaged tree may lead back, and round and round.
            let Some(start) = start.filter(|start| *start > next && key >= next) else { break };
            keys.insert(key >> SEQ_BITS);
            next = start;
        }
        let mut doomed = BTreeSet::new();
        self.collect("SELECT key FROM doomed", &mut doomed);
        keys.retain(|key| !doomed.contains(key));
        keys
    }

    /// As far as can be read.
    fn collect(&self, sql: &str, keys: &mut BTreeSet<i64>) {
        let Ok(mut select) = self.connection.prepare(sql) else { return };
        let Ok(found) = select.query_map([], |row| row.get::<_, i64>(0)) else { return };
        keys.extend(found.map_while(Result::ok));
    }

    /// Reads the session under `key`. `None` if it was deleted, also meanwhile.
    pub(super) fn walk(&self, key: i64, sink: &mut dyn EventSink) -> SqliteResult<Option<Walked>> {
        // The slot first: only a row that was read after it proves a loss.
        let slot = self.heads.as_ref().and_then(|heads| heads.get(key));
        let found = rows::load_by_key(&self.connection, key);
        let mut problems = Vec::new();
        let mut row = match found {
            Ok(Some(row)) if row.key == key => row,
            found => {
                if matches!(found, Ok(None)) && !self.is_still_there(key) {
                    return Ok(None);
                }
                let last_known = slot.map_or(Seq(0), |slot| slot.seq);
                problems.push(match &slot {
                    Some(slot) => SessionProblem::Lost { head: slot.seq },
                    None => SessionProblem::Nameless,
                });
                let session = slot.map(|slot| slot.session);
                let finding = Some(SessionFinding { session, problems, intact_to: None });
                return Ok(Some(Walked { row: None, origin: None, finding, last_known, slot }));
            }
        };
        if row.is_intact {
            problems.extend(row.damage(slot).map(SessionProblem::Missing));
        } else {
            problems.push(SessionProblem::Record);
            if let Some(slot) = &slot {
                // What names the session has a checksum of its own there.
                (row.record.id, row.record.epoch) = (slot.session, slot.epoch);
            }
            // Without any the whole session is cut, which is told.
            let _ = rows::take_head_from_events(&self.connection, &mut row);
        }
        let written_head = row.record.head;
        let last_known = slot
            .filter(|slot| slot.session == row.record.id && slot.epoch == row.record.epoch)
            .map_or(written_head, |slot| slot.seq.max(written_head));
        let bad = self.copy_events(&mut row, sink)?;
        let was_damaged = bad.is_some() || !row.is_intact;
        problems.extend(bad.map(|seq| SessionProblem::Event { seq, head: written_head }));
        let origin = match origins::load_by_key(&self.connection, row.record.id, key) {
            Ok(origin) => origin,
            Err(_) => {
                problems.push(SessionProblem::Origin);
                None
            }
        };
        if was_damaged && row.is_intact && !self.is_still_there(key) {
            sink.forget(key)?;
            return Ok(None);
        }
        let (session, intact_to) = (Some(row.record.id), Some(row.record.head));
        let finding =
            (!problems.is_empty()).then_some(SessionFinding { session, problems, intact_to });
        Ok(Some(Walked { row: Some(row), origin, finding, last_known, slot }))
    }

    /// Whether something still claims that there is a session under `key`: the row, its slot, or
    /// events that nobody is removing.
    fn is_still_there(&self, key: i64) -> bool {
        let has = |sql: &str, value: i64| {
            let found = self.connection.query_row(sql, [value], |_| Ok(())).optional();
            // What cannot be read was not deleted.
            found.is_ok_and(|found| found.is_some())
        };
        if has("SELECT 1 FROM doomed WHERE key = ?1", key) {
            return false;
        }
        let slot = self.heads.as_ref().and_then(|heads| heads.get(key));
        let events = "SELECT 1 FROM events WHERE key BETWEEN ?1 AND ?1 + (1 << 40) - 1 LIMIT 1";
        slot.is_some()
            || has("SELECT 1 FROM sessions WHERE key = ?1", key)
            || has(events, key << SEQ_BITS)
    }

    /// Copies the events up to the head of the row, or to the first bad one, which is returned. The
    /// row is cut there, so that it is true again.
    fn copy_events(
        &self,
        row: &mut SessionRow,
        sink: &mut dyn EventSink,
    ) -> SqliteResult<Option<Seq>> {
        let session = row.record.id;
        let (mut at, mut crc) = (Seq(0), chain::root(session));
        let (mut bytes, mut open_turn): (u64, Option<TurnId>) = (0, None);
        let mut updated = row.record.created;
        while at < row.record.head {
            let Ok(events) = reader::events_of(&self.connection, row, at, PORTION) else { break };
            let Some(last) = events.last() else { break };
            let last = last.seq;
            for event in &events {
                crc = link(event).crc(session, crc);
                sink.add(row.base() + event.seq.0.cast_signed(), event, crc)?;
                bytes += event_weight(&event.kind, &event.payload);
                updated = event.at;
                match event.kind {
                    Kind::TurnStarted => open_turn = event.turn,
                    Kind::TurnEnded => open_turn = None,
                    _ => {}
                }
            }
            at = last;
        }
        let bad = (at < row.record.head).then_some(Seq(at.0 + 1));
        if bad.is_some() {
            // The turn whose end was cut off has to be ended by whoever uses the session next.
            row.record.active_turn = open_turn;
            row.record.updated = updated;
        }
        if bad.is_some() || !row.is_intact {
            (row.record.head, row.record.bytes, row.head_crc) = (at, bytes, crc);
        }
        Ok(bad)
    }
}

fn link(event: &Event) -> ChainedEvent<'_> {
    ChainedEvent {
        seq: event.seq,
        at: event.at,
        turn: event.turn.as_ref().map(TurnId::as_str),
        kind: event.kind.as_str(),
        payload: event.payload.as_str(),
    }
}

/// A database in the making, which nobody else knows yet; removed unless it is finished.
pub(super) struct DraftDatabase {
    connection: Option<Connection>,
    path: PathBuf,
    uncommitted: u64,
    is_finished: bool,
}

impl DraftDatabase {
    /// Begins one at `path`, for our user alone; in place of what an interrupted attempt left.
    pub(super) fn begin(path: &Path) -> Result<Self, StoreError> {
        remove_if_there(path)?;
        drop(private_file::open(path)?);
        let mut draft =
            Self { connection: None, path: path.to_owned(), uncommitted: 0, is_finished: false };
        let connection = schema::open_draft(path).map_err(|fault| fault.at(path))?;
        connection.execute_batch("BEGIN").map_err(|error| SqliteFault::from(error).at(path))?;
        draft.connection = Some(connection);
        Ok(draft)
    }

    fn connection(&self) -> SqliteResult<&Connection> {
        self.connection.as_ref().ok_or(SqliteFault::Store(StoreError::Closed))
    }

    pub(super) fn add_session(
        &self,
        row: &SessionRow,
        origin: Option<&SessionOrigin>,
    ) -> SqliteResult<()> {
        let connection = self.connection()?;
        row.insert(connection)?;
        if let Some(origin) = origin {
            origins::put(connection, row.key, row.record.created, origin)?;
        }
        Ok(())
    }

    fn pause(&mut self) -> SqliteResult<()> {
        self.uncommitted = 0;
        Ok(self.connection()?.execute_batch("COMMIT; BEGIN")?)
    }

    /// Closes it, and makes sure that it is on the disk.
    pub(super) fn finish(mut self) -> Result<(), StoreError> {
        let at = |error: rusqlite::Error| SqliteFault::from(error).at(&self.path);
        if let Some(connection) = self.connection.take() {
            connection.execute_batch("COMMIT").map_err(at)?;
            connection.close().map_err(|(_, error)| at(error))?;
        }
        let synced = private_file::open(&self.path)?.sync_all();
        synced.map_err(StoreError::io("sync", &self.path))?;
        self.is_finished = true;
        Ok(())
    }
}

impl EventSink for DraftDatabase {
    fn add(&mut self, key: i64, event: &Event, crc: u32) -> SqliteResult<()> {
        let link = link(event);
        let values = params![key, link.at.0, link.turn, link.kind, link.payload, crc];
        self.connection()?.prepare_cached(INSERT_EVENT)?.execute(values)?;
        self.uncommitted += event_weight(&event.kind, &event.payload);
        if self.uncommitted > COMMIT_AFTER { self.pause() } else { Ok(()) }
    }

    fn forget(&mut self, key: i64) -> SqliteResult<()> {
        let first = key << SEQ_BITS;
        let sql = "DELETE FROM events WHERE key BETWEEN ?1 AND ?2";
        self.connection()?.execute(sql, [first, first | ((1 << SEQ_BITS) - 1)])?;
        Ok(())
    }
}

impl Drop for DraftDatabase {
    fn drop(&mut self) {
        if !self.is_finished {
            self.connection = None;
            let _ = remove_if_there(&self.path);
        }
    }
}

pub(super) fn remove_if_there(path: &Path) -> Result<(), StoreError> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(StoreError::io("remove", path)(error))
        }
        _ => Ok(()),
    }
}

/// How sessions are written into the draft.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Epochs {
    /// As they are.
    Same,
    /// New ones: what follows is not what followed before, and old cursors must be known to be old.
    New,
}

/// What was copied.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CopyReport {
    pub n_sessions: u64,
    pub n_events: u64,
    /// Weight of the events.
    pub bytes: u64,
    pub findings: Vec<SessionFinding>,
}

/// Copies everything that is intact. With `heads`, these get a slot for each session; that of a
/// session that lost something says so, until the loss is accepted by `recover`; so does that of one
/// that is lost as a whole, until it is deleted.
pub(super) fn copy_all(
    source: &LogSource,
    draft: &mut DraftDatabase,
    epochs: Epochs,
    heads: Option<&Heads>,
    on_progress: OnProgress<'_>,
) -> Result<CopyReport, StoreError> {
    let mut report = CopyReport::default();
    let total = source.weight();
    let path = draft.path.clone();
    for key in source.keys() {
        let Some(walked) = source.walk(key, draft).map_err(|fault| fault.at(&path))? else {
            continue;
        };
        let is_damaged = walked.finding.is_some();
        report.findings.extend(walked.finding);
        let Some(mut row) = walked.row else {
            if let (Some(heads), Some(slot)) = (heads, walked.slot) {
                heads.put(key, &slot);
            }
            continue;
        };
        if epochs == Epochs::New {
            row.record.epoch = mint::epoch();
        }
        draft.add_session(&row, walked.origin.as_ref()).map_err(|fault| fault.at(&path))?;
        if let Some(heads) = heads {
            let mut slot = row.slot();
            if is_damaged {
                slot.seq = walked.last_known;
                slot.revision += 1;
            }
            heads.put(key, &slot);
        }
        report.n_sessions += 1;
        report.n_events += row.record.head.0;
        report.bytes += row.record.bytes;
        on_progress(Progress { done: report.bytes, total: total.max(report.bytes) });
    }
    Ok(report)
}
