//! A session's row: read, checked and written back.
//!
//! Every row carries a checksum over all its fields. In: rows of `sessions`. Out: records
//! that are what was written, or an error that names the session; and, with the second copy of the
//! heads, the sessions that vanished as a whole.

use crc32fast::Hasher;
use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension, Row as SqlRow, params};
use wire::{Json, Millis, Seq, SessionId, TurnId};

use super::fault::{SqliteFault, SqliteResult};
use super::schema::SEQ_BITS;
use crate::chain;
use crate::heads::{HeadSlot, Heads};
use crate::{Damage, LostSession, SessionRecord, StoreError};

/// The columns, in the order in which [`SessionRow::read`] takes them.
pub(super) const COLUMNS: &str = "key, id, epoch, agent, cwd, title, created, updated, head, \
     head_crc, bytes, active_turn, agent_session, is_closed, details, revision, crc";

#[derive(Debug, Clone)]
pub(super) struct SessionRow {
    pub(super) key: i64,
    pub(super) record: SessionRecord,
    pub(super) head_crc: u32,
    pub(super) revision: u64,
    pub(super) is_intact: bool,
}

/// The row of `session` if there is one, checked.
pub(super) fn load(
    connection: &Connection,
    session: SessionId,
) -> SqliteResult<Option<SessionRow>> {
    match load_unchecked(connection, session)? {
        Some(row) if !row.is_intact => Err(StoreError::CorruptRecord { session }.into()),
        row => Ok(row),
    }
}

pub(super) fn load_or_refuse(
    connection: &Connection,
    session: SessionId,
) -> SqliteResult<SessionRow> {
    load(connection, session)?.ok_or(SqliteFault::Store(StoreError::NoSuchSession(session)))
}

pub(super) fn load_unchecked(
    connection: &Connection,
    session: SessionId,
) -> SqliteResult<Option<SessionRow>> {
    let sql = format!("SELECT {COLUMNS} FROM sessions WHERE id = ?1");
    let mut statement = connection.prepare_cached(&sql)?;
    let row =
        statement.query_row([session.as_str()], |row| Ok(SessionRow::read(row))).optional()?;
    match row {
        None => Ok(None),
        // An index that leads to another session's row is damage like any other.
        Some(Some(row)) if row.record.id == session => Ok(Some(row)),
        Some(_) => Err(StoreError::CorruptRecord { session }.into()),
    }
}

/// The row under `key`, checked or not. An error also when no more can be read of it than that it
/// is there.
pub(super) fn load_by_key(connection: &Connection, key: i64) -> SqliteResult<Option<SessionRow>> {
    let sql = format!("SELECT {COLUMNS} FROM sessions WHERE key = ?1");
    let mut statement = connection.prepare_cached(&sql)?;
    let unreadable = || rusqlite::Error::InvalidColumnType(0, "row".into(), Type::Null);
    let row = statement.query_row([key], |row| SessionRow::read(row).ok_or_else(unreadable));
    Ok(row.optional()?)
}

/// A record that fails its checksum may lie about the head; the events do not.
pub(super) fn take_head_from_events(
    connection: &Connection,
    row: &mut SessionRow,
) -> SqliteResult<()> {
    let base = row.base();
    let sql = "SELECT key, crc FROM events WHERE key BETWEEN ?1 AND ?2 ORDER BY key DESC LIMIT 1";
    let last: Option<(i64, u32)> = connection
        .prepare_cached(sql)?
        .query_row([base + 1, base | ((1 << SEQ_BITS) - 1)], |r| Ok((r.get(0)?, r.get(1)?)))
        .optional()?;
    let (key, crc) = last.unwrap_or((base, chain::root(row.record.id)));
    row.record.head = Seq((key - base).cast_unsigned());
    row.head_crc = crc;
    Ok(())
}

/// The record for callers, with what the second copy of the head says about it.
///
/// Without a transaction around it the row may be older than the slot, because the writer
/// goes on in between; only a row that was read after the slot proves a loss.
pub(super) fn checked_record(
    connection: &Connection,
    heads: &Heads,
    row: SessionRow,
) -> SqliteResult<SessionRecord> {
    let slot = heads.get(row.key);
    let row = match row.damage(slot) {
        None => row,
        Some(_) => load(connection, row.record.id)?.unwrap_or(row),
    };
    let damage = row.damage(slot);
    Ok(SessionRecord { damage, ..row.record })
}

/// Finds lost sessions. Slots are written after the commit and cleared before it, so a slot without
/// a session that is still there when looked at again belongs to a session that was lost.
pub(super) fn find_lost(connection: &Connection, heads: &Heads) -> SqliteResult<Vec<LostSession>> {
    let mut lost = Vec::new();
    for (key, slot) in heads.all() {
        let is_there = match load_unchecked(connection, slot.session) {
            Ok(row) => row.is_some(),
            // Damaged, which is reported when it is used, but there.
            Err(SqliteFault::Store(StoreError::CorruptRecord { .. })) => true,
            Err(fault) => return Err(fault),
        };
        if !is_there && heads.get(key).is_some() {
            lost.push(LostSession { id: slot.session, head: slot.seq });
        }
    }
    Ok(lost)
}

impl SessionRow {
    /// `None` when a field does not have the shape that was written.
    pub(super) fn read(row: &SqlRow<'_>) -> Option<Self> {
        let text = |index: usize| row.get_ref(index).ok()?.as_str().ok();
        let maybe = |index: usize| row.get_ref(index).ok()?.as_str_or_null().ok();
        let int = |index: usize| row.get_ref(index).ok()?.as_i64().ok();
        let count = |index: usize| int(index)?.try_into().ok();
        let record = SessionRecord {
            id: SessionId::parse(text(1)?).ok()?,
            epoch: count(2)?,
            agent: text(3)?.to_owned(),
            cwd: text(4)?.to_owned(),
            title: maybe(5)?.map(str::to_owned),
            created: Millis(int(6)?),
            updated: Millis(int(7)?),
            head: Seq(count(8)?),
            bytes: count(10)?,
            active_turn: match maybe(11)? {
                Some(turn) => Some(TurnId::parse(turn).ok()?),
                None => None,
            },
            agent_session: maybe(12)?.map(str::to_owned),
            is_closed: int(13)? != 0,
            details: Json::trusted(text(14)?),
            damage: None,
        };
        let head_crc = int(9)?.try_into().ok()?;
        let mut read =
            Self { key: int(0)?, record, head_crc, revision: count(15)?, is_intact: false };
        read.is_intact = int(16)? == i64::from(read.crc());
        Some(read)
    }

    pub(super) fn insert(&self, connection: &Connection) -> SqliteResult<()> {
        let record = &self.record;
        let sql = format!(
            "INSERT INTO sessions ({COLUMNS}) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)"
        );
        connection.prepare_cached(&sql)?.execute(params![
            self.key,
            record.id.as_str(),
            record.epoch.cast_signed(),
            record.agent,
            record.cwd,
            record.title,
            record.created.0,
            record.updated.0,
            record.head.0.cast_signed(),
            self.head_crc,
            record.bytes.cast_signed(),
            record.active_turn.as_ref().map(TurnId::as_str),
            record.agent_session,
            record.is_closed,
            record.details.as_str(),
            self.revision.cast_signed(),
            self.crc(),
        ])?;
        Ok(())
    }

    /// Writes back what an append moves. Fields without an index on them are cheap; the
    /// others are left to [`Self::update`].
    pub(super) fn advance(&mut self, connection: &Connection) -> SqliteResult<()> {
        self.revision += 1;
        let sql = "UPDATE sessions SET updated = ?2, head = ?3, head_crc = ?4, bytes = ?5, \
                   revision = ?6, crc = ?7 WHERE key = ?1";
        connection.prepare_cached(sql)?.execute(params![
            self.key,
            self.record.updated.0,
            self.record.head.0.cast_signed(),
            self.head_crc,
            self.record.bytes.cast_signed(),
            self.revision.cast_signed(),
            self.crc(),
        ])?;
        Ok(())
    }

    /// Writes everything back that can change.
    pub(super) fn update(&mut self, connection: &Connection) -> SqliteResult<()> {
        self.revision += 1;
        let record = &self.record;
        let sql = "UPDATE sessions SET epoch = ?2, title = ?3, updated = ?4, head = ?5, \
                   head_crc = ?6, bytes = ?7, active_turn = ?8, agent_session = ?9, \
                   is_closed = ?10, details = ?11, revision = ?12, crc = ?13 WHERE key = ?1";
        connection.prepare_cached(sql)?.execute(params![
            self.key,
            record.epoch.cast_signed(),
            record.title,
            record.updated.0,
            record.head.0.cast_signed(),
            self.head_crc,
            record.bytes.cast_signed(),
            record.active_turn.as_ref().map(TurnId::as_str),
            record.agent_session,
            record.is_closed,
            record.details.as_str(),
            self.revision.cast_signed(),
            self.crc(),
        ])?;
        Ok(())
    }

    /// The event key of place 0, after which the session's events come.
    pub(super) fn base(&self) -> i64 {
        self.key << SEQ_BITS
    }

    pub(super) fn slot(&self) -> HeadSlot {
        HeadSlot {
            session: self.record.id,
            epoch: self.record.epoch,
            seq: self.record.head,
            crc: self.head_crc,
            revision: self.revision,
        }
    }

    /// The damage that the second copy of the head shows.
    pub(super) fn damage(&self, slot: Option<HeadSlot>) -> Option<Damage> {
        let slot = slot?;
        let head = self.record.head;
        // A slot of another session or of another life of this one says nothing.
        if slot.session != self.record.id || slot.epoch != self.record.epoch {
            return None;
        }
        if slot.seq > head || slot.revision > self.revision {
            return Some(Damage { lost_from: Seq(head.0 + 1), lost_to: slot.seq });
        }
        // The same place with other contents: at least the last event was replaced.
        (slot.seq == head && slot.crc != self.head_crc)
            .then_some(Damage { lost_from: head, lost_to: head })
    }

    fn crc(&self) -> u32 {
        let record = &self.record;
        let mut hasher = Hasher::new();
        let mut number = |number: u64| hasher.update(&number.to_le_bytes());
        number(self.key.cast_unsigned());
        number(record.epoch);
        number(record.created.0.cast_unsigned());
        number(record.updated.0.cast_unsigned());
        number(record.head.0);
        number(u64::from(self.head_crc));
        number(record.bytes);
        number(u64::from(record.is_closed));
        number(self.revision);
        let texts = [
            Some(record.id.as_str()),
            Some(record.agent.as_str()),
            Some(record.cwd.as_str()),
            record.title.as_deref(),
            record.active_turn.as_ref().map(TurnId::as_str),
            record.agent_session.as_deref(),
            Some(record.details.as_str()),
        ];
        for text in texts {
            // The length, or a number that is no length, keeps neighbours apart.
            let len = text.map_or(u64::MAX, |text| text.len() as u64);
            hasher.update(&len.to_le_bytes());
            hasher.update(text.unwrap_or_default().as_bytes());
        }
        hasher.finalize()
    }
}
