//! Removes what was deleted: events of deleted sessions, then the pages that have become free.
//!
//! In: the writer's connection, whenever it has nothing else to do. Out: one short transaction per
//! call, so that nobody waits long for the writer. Databases that were made without
//! `auto_vacuum` keep their free pages, and use them again, until `compact` has made them anew.

use rusqlite::{Connection, TransactionBehavior};

use super::fault::SqliteResult;
use super::schema::SEQ_BITS;

/// Events of a deleted session removed per transaction: a few milliseconds.
const SWEPT_EVENTS: i64 = 1000;
/// And about so much payload: freed pages are overwritten, which takes as much of the write-ahead
/// log again. One event is removed in any case.
const SWEPT_BYTES: i64 = 512 * 1024;
/// Pages given back per transaction: 1 MiB, moved in a few milliseconds.
const RETURNED_PAGES: i64 = 256;
/// Free pages that stay, for what is written next: giving back these few is not worth moving others.
pub(super) const KEPT_FREE_PAGES: i64 = 64;
/// `PRAGMA auto_vacuum` of a database that can give pages back in steps.
pub(super) const INCREMENTAL: i64 = 2;

/// Removes one portion; true while there is more to remove.
pub(super) fn sweep_once(connection: &mut Connection) -> SqliteResult<bool> {
    Ok(sweep_events(connection)? || return_pages(connection)?)
}

fn sweep_events(connection: &mut Connection) -> SqliteResult<bool> {
    let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let doomed: Option<i64> = tx.query_row("SELECT min(key) FROM doomed", [], |r| r.get(0))?;
    let Some(key) = doomed else { return Ok(false) };
    let first = key << SEQ_BITS;
    let last = first | ((1 << SEQ_BITS) - 1);
    let n_removed = match last_of_portion(&tx, first, last)? {
        Some(end) => {
            let sql = "DELETE FROM events WHERE key BETWEEN ?1 AND ?2";
            tx.prepare_cached(sql)?.execute([first, end])?
        }
        None => 0,
    };
    if n_removed == 0 {
        tx.prepare_cached("DELETE FROM doomed WHERE key = ?1")?.execute([key])?;
    }
    tx.commit()?;
    Ok(true)
}

/// The last event of the first portion between two keys.
fn last_of_portion(connection: &Connection, first: i64, last: i64) -> SqliteResult<Option<i64>> {
    // The length in bytes is known without reading the payload.
    let sql = "SELECT key, octet_length(payload) FROM events WHERE key BETWEEN ?1 AND ?2 \
               ORDER BY key LIMIT ?3";
    let mut select = connection.prepare_cached(sql)?;
    let mut found = select.query([first, last, SWEPT_EVENTS])?;
    let (mut end, mut bytes) = (None, 0);
    while let Some(row) = found.next()? {
        bytes += row.get::<_, i64>(1)?;
        if end.is_some() && bytes > SWEPT_BYTES {
            break;
        }
        end = Some(row.get(0)?);
    }
    Ok(end)
}

/// Gives one portion of the free pages back to the file system; the file itself is cut when the
/// write-ahead log is copied into it. True while there are more.
pub(super) fn return_pages(connection: &Connection) -> SqliteResult<bool> {
    let number = |name: &str| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    if number("auto_vacuum")? != INCREMENTAL {
        return Ok(false);
    }
    let n_free = number("freelist_count")?;
    if n_free <= KEPT_FREE_PAGES {
        return Ok(false);
    }
    let n_returned = RETURNED_PAGES.min(n_free - KEPT_FREE_PAGES);
    // Each step of the statement gives one page back.
    let mut statement = connection.prepare(&format!("PRAGMA incremental_vacuum({n_returned})"))?;
    let mut steps = statement.query([])?;
    while steps.next()?.is_some() {}
    drop(steps);
    drop(statement);
    Ok(number("freelist_count")? < n_free)
}
