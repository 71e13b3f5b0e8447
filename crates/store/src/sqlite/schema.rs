//! The database's tables, and connections to it.
//!
//! Out: connections that are set up alike. The tables found are compared word by word with
//! the ones written here, so that damage to the schema is an error and not a surprise.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use super::fault::{Fault, Outcome};
use crate::StoreError;

/// 1 had no index of decisions.
const VERSION: i64 = 2;

/// An event's key is its session's key and its place in one integer: appends go to the end
/// of the session's range, and the tree stays flat because rows live in its leaves only.
pub(super) use crate::decisions::SEQ_BITS;
pub(super) const MAX_SESSION_KEY: i64 = (1 << (63 - SEQ_BITS)) - 1;

/// Decisions by time. Everything else that is appended costs two comparisons more and
/// nothing in the index.
pub(super) const DECIDED_INDEX: &str = "CREATE INDEX events_decided ON events (at) \
     WHERE kind = 'permission_resolved' OR kind = 'elicitation_resolved'";
/// What a statement must ask for to be answered from that index.
pub(super) const DECIDED: &str = "kind = 'permission_resolved' OR kind = 'elicitation_resolved'";

/// In the order of their names, as the check below reads them back.
const TABLES: [&str; 8] = [
    "CREATE TABLE doomed (key INTEGER PRIMARY KEY) STRICT",
    "CREATE TABLE events (key INTEGER PRIMARY KEY, at INTEGER NOT NULL, turn TEXT, \
     kind TEXT NOT NULL, payload TEXT NOT NULL, crc INTEGER NOT NULL) STRICT",
    DECIDED_INDEX,
    "CREATE TABLE sessions (key INTEGER PRIMARY KEY, id TEXT NOT NULL, epoch INTEGER NOT NULL, \
     agent TEXT NOT NULL, cwd TEXT NOT NULL, title TEXT, created INTEGER NOT NULL, \
     updated INTEGER NOT NULL, head INTEGER NOT NULL, head_crc INTEGER NOT NULL, \
     bytes INTEGER NOT NULL, active_turn TEXT, agent_session TEXT, is_closed INTEGER NOT NULL, \
     details TEXT NOT NULL, revision INTEGER NOT NULL, crc INTEGER NOT NULL) STRICT",
    "CREATE INDEX sessions_by_agent_session ON sessions (agent_session, updated, id) \
     WHERE agent_session IS NOT NULL",
    "CREATE UNIQUE INDEX sessions_by_id ON sessions (id)",
    "CREATE INDEX sessions_by_time ON sessions (updated, id)",
    "CREATE INDEX sessions_with_turn ON sessions (updated, id) WHERE active_turn IS NOT NULL",
];

/// Transactions are short; whoever holds the lock this long is stuck.
pub(super) const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// At 64 MiB of WAL the writer itself copies what the checkpointer has left. Small enough
/// to be read again after a crash in a moment.
const CHECKPOINT_PAGES: u32 = 16_000;
/// After a burst the WAL file shrinks to this when it is reused.
const WAL_BYTES_KEPT: u32 = 32 * 1024 * 1024;
/// Page cache of a connection, in KiB (negative for `SQLite` means KiB, not pages).
const CACHE_KIB: i32 = 4096;

pub(super) fn open_writer(path: &Path) -> Outcome<Connection> {
    let mut connection = connect(path)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "wal_autocheckpoint", CHECKPOINT_PAGES)?;
    connection.pragma_update(None, "journal_size_limit", WAL_BYTES_KEPT)?;
    // What was deleted is not to be found in the file either.
    connection.pragma_update(None, "secure_delete", true)?;
    ensure_tables(&mut connection, path)?;
    Ok(connection)
}

/// For the checkpointer, which writes to the database file but never to the tables.
pub(super) fn open_checkpointer(path: &Path) -> Outcome<Connection> {
    let connection = connect(path)?;
    // A connection finds the WAL with its first statement, not when it is opened.
    connection.query_row("SELECT count(*) FROM doomed", [], |_| Ok(()))?;
    Ok(connection)
}

pub(super) fn open_reader(path: &Path) -> Outcome<Connection> {
    let connection = connect(path)?;
    connection.pragma_update(None, "query_only", true)?;
    Ok(connection)
}

fn connect(path: &Path) -> Outcome<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    // Commits do not wait for the disk; the syncer does that for those who ask.
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    connection.pragma_update(None, "cache_size", -CACHE_KIB)?;
    // Damaged pages should be errors where they are read, not strange rows later.
    connection.pragma_update(None, "cell_size_check", true)?;
    // A file on disk must not be able to run anything.
    connection.pragma_update(None, "trusted_schema", false)?;
    connection.set_prepared_statement_cache_capacity(64);
    Ok(connection)
}

fn ensure_tables(connection: &mut Connection, path: &Path) -> Outcome<()> {
    let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let found: i64 = tx.pragma_query_value(None, "user_version", |row| row.get(0))?;
    if found > VERSION {
        return Err(StoreError::NewerSchema { path: path.into(), found, known: VERSION }.into());
    }
    let tables = stored_tables(&tx)?;
    if found == 0 && tables.is_empty() {
        for table in TABLES {
            tx.execute(table, [])?;
        }
        tx.pragma_update(None, "user_version", VERSION)?;
    } else if found == 1 && tables.iter().eq(first_tables()) {
        // One pass over the events; a log of gigabytes takes some seconds, once.
        tracing::info!(path = %path.display(), "indexing the decisions of an older log");
        tx.execute(DECIDED_INDEX, [])?;
        tx.pragma_update(None, "user_version", VERSION)?;
    } else if found != VERSION || tables != TABLES {
        let detail = "its tables are not the ones of an event log".into();
        return Err(StoreError::NotALog { path: path.into(), detail }.into());
    }
    tx.commit()?;
    Ok(())
}

/// The tables of version 1.
fn first_tables() -> impl Iterator<Item = &'static str> {
    TABLES.into_iter().filter(|table| *table != DECIDED_INDEX)
}

fn stored_tables(connection: &Connection) -> Outcome<Vec<String>> {
    let mut statement = connection.prepare("SELECT sql FROM sqlite_schema ORDER BY name")?;
    let tables = statement.query_map([], |row| row.get(0))?.collect::<Result<_, _>>();
    tables.map_err(Fault::from)
}

/// Finds sessions that an index or the table does not show. It looks at the sessions only:
/// events are checked as they are read.
pub(super) fn check_sessions(connection: &Connection, path: &Path) -> Outcome<()> {
    let complaints = |connection: &Connection| -> Outcome<Option<String>> {
        let sql = "PRAGMA integrity_check('sessions')";
        let first: String = connection.query_row(sql, [], |row| row.get(0))?;
        Ok((first != "ok").then_some(first))
    };
    let Some(complaint) = complaints(connection)? else { return Ok(()) };
    // Indexes hold nothing that the table does not, so they can be made again.
    tracing::warn!(path = %path.display(), complaint, "rebuilding the indexes of the sessions");
    connection.execute_batch("REINDEX sessions")?;
    match complaints(connection)? {
        None => Ok(()),
        Some(detail) => Err(StoreError::CorruptDatabase { path: path.into(), detail }.into()),
    }
}
