//! The origins of sessions: beside their rows, so that those stay small.

use crc32fast::Hasher;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension, Row as SqlRow, ToSql, params};
use wire::{Json, Millis, SessionId};

use super::fault::SqliteResult;
use crate::{SessionOrigin, StoreError};

/// Writes the origin of the session under `key`, over an earlier one. The session's row says
/// which one it has, so that a loss is noticed.
pub(super) fn put(
    connection: &Connection,
    key: i64,
    created: Millis,
    origin: &SessionOrigin,
) -> SqliteResult<()> {
    let crc = crc(key, created, origin);
    let sql = "INSERT OR REPLACE INTO origins (key, made_by, created, made_of, crc) \
               VALUES (?1, ?2, ?3, ?4, ?5)";
    let made_of = origin.made_of.as_str();
    let values = params![key, origin.made_by, created.0, made_of, crc];
    connection.prepare_cached(sql)?.execute(values)?;
    name(connection, key, Some(crc))
}

pub(super) fn remove(connection: &Connection, key: i64) -> SqliteResult<()> {
    connection.prepare_cached("DELETE FROM origins WHERE key = ?1")?.execute([key])?;
    name(connection, key, None)
}

fn name(connection: &Connection, key: i64, crc: Option<u32>) -> SqliteResult<()> {
    let sql = "UPDATE sessions SET origin_crc = ?2 WHERE key = ?1";
    connection.prepare_cached(sql)?.execute(params![key, crc])?;
    Ok(())
}

pub(super) fn load(
    connection: &Connection,
    session: SessionId,
) -> SqliteResult<Option<SessionOrigin>> {
    load_where(connection, session, "id = ?1", session.as_str())
}

/// The same by the session's key, without the index of ids, which may be damaged.
pub(super) fn load_by_key(
    connection: &Connection,
    session: SessionId,
    key: i64,
) -> SqliteResult<Option<SessionOrigin>> {
    load_where(connection, session, "sessions.key = ?1", key)
}

fn load_where(
    connection: &Connection,
    session: SessionId,
    condition: &str,
    value: impl ToSql,
) -> SqliteResult<Option<SessionOrigin>> {
    let sql = format!(
        "SELECT sessions.key, made_by, origins.created, made_of, origins.crc, origin_crc \
         FROM sessions LEFT JOIN origins USING (key) WHERE {condition}"
    );
    let mut select = connection.prepare_cached(&sql)?;
    let found = select.query_row([value], |row| {
        let is_named = row.get_ref(5)? != ValueRef::Null;
        let is_there = row.get_ref(4)? != ValueRef::Null;
        Ok((is_named || is_there).then(|| checked(row)))
    });
    match found.optional()?.flatten() {
        Some(None) => Err(StoreError::CorruptRecord { session }.into()),
        found => Ok(found.flatten()),
    }
}

/// The origin in a row, if it is the one that was written there.
fn checked(row: &SqlRow<'_>) -> Option<SessionOrigin> {
    let int = |index: usize| row.get_ref(index).ok()?.as_i64().ok();
    let made_by = row.get_ref(1).ok()?.as_str_or_null().ok()?.map(str::to_owned);
    let made_of = Json::trusted(row.get_ref(3).ok()?.as_str().ok()?);
    let origin = SessionOrigin { made_by, made_of };
    let crc = i64::from(crc(int(0)?, Millis(int(2)?), &origin));
    (int(4)? == crc && int(5)? == crc).then_some(origin)
}

pub(super) fn count(
    connection: &Connection,
    made_by: &str,
    since: Millis,
    max: usize,
) -> SqliteResult<usize> {
    let sql = "SELECT count(*) FROM \
               (SELECT 1 FROM origins WHERE made_by = ?1 AND created >= ?2 LIMIT ?3)";
    let max = i64::try_from(max).unwrap_or(i64::MAX);
    let mut select = connection.prepare_cached(sql)?;
    let n: i64 = select.query_row(params![made_by, since.0, max], |row| row.get(0))?;
    Ok(usize::try_from(n).unwrap_or_default())
}

fn crc(key: i64, created: Millis, origin: &SessionOrigin) -> u32 {
    let mut hasher = Hasher::new();
    let made_by = origin.made_by.as_deref();
    // The length, or a number that is no length, keeps neighbours apart.
    let len = made_by.map_or(u64::MAX, |name| name.len() as u64);
    for number in [key.cast_unsigned(), created.0.cast_unsigned(), len] {
        hasher.update(&number.to_le_bytes());
    }
    hasher.update(made_by.unwrap_or_default().as_bytes());
    hasher.update(origin.made_of.as_str().as_bytes());
    hasher.finalize()
}
