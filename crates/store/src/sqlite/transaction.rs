//! The changes that the writer can make to the log, each as one step of a transaction.
//!
//! In: a request. Out: its answer, and the effects to carry out once the transaction is
//! committed. A step that refuses has written nothing, so that the other steps of the same
//! transaction can go on.

use rusqlite::{Connection, OptionalExtension, params};
use wire::{Json, Seq, SessionId, TurnId};

use super::damaged_sessions::DamagedSessions;
use super::fault::{SqliteFault, SqliteResult};
use super::origins;
use super::rows::{self, SessionRow};
use super::schema::{INSERT_EVENT, MAX_SESSION_KEY, SEQ_BITS};
use crate::chain::{self, ChainedEvent};
use crate::heads::{HeadSlot, Heads};
use crate::wake_ups::LogReach;
use crate::{
    AppendedRange, Batch, Damage, NewSession, RecordChanges, SessionRecord, StoreError, mint,
};

/// Size of a payload that is let go as early as possible.
const LARGE_BYTES: usize = 1 << 20;

/// One transaction under way.
pub(super) struct LogTransaction<'a> {
    pub(super) connection: &'a Connection,
    pub(super) heads: &'a Heads,
    pub(super) damaged: &'a DamagedSessions,
    pub(super) max_session_bytes: u64,
    /// A step that fails is not tried again, so it need not keep what it was given.
    pub(super) is_last_try: bool,
    pub(super) effects: Vec<CommitEffect>,
}

/// An effect of a step, to be carried out after the commit.
#[derive(Debug, Clone, Copy)]
pub(super) struct CommitEffect {
    pub(super) session: SessionId,
    pub(super) reach: LogReach,
    pub(super) head: Option<(i64, HeadSlot)>,
}

impl LogTransaction<'_> {
    pub(super) fn create(&mut self, new: &NewSession) -> SqliteResult<SessionRecord> {
        if rows::load_unchecked(self.connection, new.id)?.is_some() {
            return Err(StoreError::SessionExists(new.id).into());
        }
        let key = self.free_key()?;
        self.heads.reserve(key)?;
        let record = new.clone().into_record(mint::epoch());
        let head_crc = chain::root(new.id);
        let row = SessionRow { key, record, head_crc, revision: 0, is_intact: true };
        row.insert(self.connection)?;
        if let Some(origin) = &new.origin {
            origins::put(self.connection, key, new.created, origin)?;
        }
        self.push_effect(&row);
        Ok(row.record)
    }

    /// A key is used once: what is left of a deleted or lost session under its key must
    /// never be taken for a part of another.
    fn free_key(&self) -> SqliteResult<i64> {
        let sql = "SELECT max(coalesce((SELECT max(key) FROM sessions), 0), \
                   coalesce((SELECT max(key) FROM doomed), 0), \
                   coalesce((SELECT max(key) FROM events), 0) >> ?1)";
        let in_use: i64 =
            self.connection.prepare_cached(sql)?.query_row([SEQ_BITS], |r| r.get(0))?;
        let key = in_use.max(self.heads.last_key()) + 1;
        // Only a damaged `heads` can be that long.
        Ok(if key > MAX_SESSION_KEY { in_use + 1 } else { key })
    }

    pub(super) fn append(&mut self, batch: &mut Batch) -> SqliteResult<AppendedRange> {
        let session = batch.session;
        self.damaged.check(session)?;
        let mut row = self.intact_row(session)?;
        let added = batch.weight();
        if row.record.bytes + added > self.max_session_bytes.saturating_add(batch.reserve()) {
            let max_bytes = self.max_session_bytes;
            return Err(StoreError::SessionFull { session, max_bytes }.into());
        }
        let first = Seq(row.record.head.0 + 1);
        self.insert_events(&mut row, batch)?;
        row.record.bytes += added;
        if batch.changes == RecordChanges::default() {
            row.advance(self.connection)?;
        } else {
            self.change(&mut row, &batch.changes)?;
        }
        self.push_effect(&row);
        Ok(AppendedRange { first, last: row.record.head })
    }

    fn insert_events(&self, row: &mut SessionRow, batch: &mut Batch) -> SqliteResult<()> {
        let base = row.base();
        let mut insert = self.connection.prepare_cached(INSERT_EVENT)?;
        for draft in &mut batch.drafts {
            let seq = Seq(row.record.head.0 + 1);
            let link = ChainedEvent {
                seq,
                at: draft.at,
                turn: draft.turn.as_ref().map(TurnId::as_str),
                kind: draft.kind.as_str(),
                payload: draft.payload.as_str(),
            };
            let crc = link.crc(batch.session, row.head_crc);
            let key = base + seq.0.cast_signed();
            let values = params![key, link.at.0, link.turn, link.kind, link.payload, crc];
            for (index, value) in values.iter().enumerate() {
                insert.raw_bind_parameter(index + 1, value)?;
            }
            if self.is_last_try && draft.payload.as_str().len() >= LARGE_BYTES {
                // SQLite has a copy of its own now, and makes another one when it runs.
                draft.payload = Json::trusted("");
            }
            insert.raw_execute()?;
            row.record.head = seq;
            row.record.updated = draft.at;
            row.head_crc = crc;
        }
        Ok(())
    }

    pub(super) fn update(
        &mut self,
        session: SessionId,
        changes: &RecordChanges,
    ) -> SqliteResult<()> {
        let mut row = self.intact_row(session)?;
        self.change(&mut row, changes)?;
        self.push_effect(&row);
        Ok(())
    }

    fn change(&self, row: &mut SessionRow, changes: &RecordChanges) -> SqliteResult<()> {
        if let Some(origin) = &changes.origin {
            origins::put(self.connection, row.key, row.record.created, origin)?;
        }
        changes.clone().apply(&mut row.record);
        row.update(self.connection)
    }

    /// The events go later, in portions: a large session must not hold everybody up.
    pub(super) fn delete(&mut self, session: SessionId) -> SqliteResult<bool> {
        let sql = "SELECT key FROM sessions WHERE id = ?1";
        let mut select = self.connection.prepare_cached(sql)?;
        let key: Option<i64> = select.query_row([session.as_str()], |row| row.get(0)).optional()?;
        let Some(key) = key else { return self.forget_lost(session) };
        // First the copy, then the session: the other way round, a crash in between would
        // make a deleted session look like a lost one.
        self.heads.clear(key)?;
        self.connection.prepare_cached("DELETE FROM sessions WHERE key = ?1")?.execute([key])?;
        origins::remove(self.connection, key)?;
        self.connection.prepare_cached("INSERT INTO doomed (key) VALUES (?1)")?.execute([key])?;
        self.effects.push(CommitEffect { session, reach: LogReach::Deleted, head: None });
        Ok(true)
    }

    /// A session that only `heads` remembers is gone for good when someone deletes it.
    fn forget_lost(&self, session: SessionId) -> SqliteResult<bool> {
        let lost = self.heads.all().into_iter().find(|(_, slot)| slot.session == session);
        if let Some((key, _)) = lost {
            self.heads.clear(key)?;
        }
        Ok(lost.is_some())
    }

    pub(super) fn recover(&mut self, session: SessionId) -> SqliteResult<Option<Damage>> {
        self.damaged.check(session)?;
        let found = rows::load_unchecked(self.connection, session)?;
        let mut row = found.ok_or(StoreError::NoSuchSession(session))?;
        if !row.is_intact {
            rows::take_head_from_events(self.connection, &mut row)?;
        }
        let was_intact = row.is_intact && self.has_intact_origin(&row)?;
        let head = row.record.head;
        let damage = match row.damage(self.heads.get(row.key)) {
            None if was_intact => return Ok(None),
            None => Damage { lost_from: Seq(head.0 + 1), lost_to: head },
            Some(damage) => damage,
        };
        row.record.epoch = mint::epoch();
        row.update(self.connection)?;
        self.push_effect(&row);
        Ok(Some(damage))
    }

    /// Checks the origin. A damaged one is dropped: the session goes on without it.
    fn has_intact_origin(&self, row: &SessionRow) -> SqliteResult<bool> {
        match origins::load(self.connection, row.record.id) {
            Err(SqliteFault::Store(StoreError::CorruptRecord { .. })) => {
                origins::remove(self.connection, row.key)?;
                Ok(false)
            }
            loaded => loaded.map(|_| true),
        }
    }

    /// A row that may be written to. Appending to a log that lost its tail would give the
    /// lost places to other events and hide the loss.
    fn intact_row(&self, session: SessionId) -> SqliteResult<SessionRow> {
        let row = rows::load_or_refuse(self.connection, session)?;
        match row.damage(self.heads.get(row.key)) {
            None => Ok(row),
            Some(damage) => Err(StoreError::Damaged { session, damage }.into()),
        }
    }

    fn push_effect(&mut self, row: &SessionRow) {
        self.effects.push(CommitEffect {
            session: row.record.id,
            reach: LogReach::To(row.record.head),
            head: Some((row.key, row.slot())),
        });
    }
}
