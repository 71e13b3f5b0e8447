//! The database's tables, and connections to it.
//!
//! Out: connections that are set up alike. The tables found are compared word by word with
//! the ones written here, so that damage to the schema is an error and not a surprise.

use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use super::fault::{SqliteFault, SqliteResult};
use crate::StoreError;

/// 1 had no index of decisions, 2 no origins: what they hold now was in the details.
const VERSION: i64 = 3;

/// An event's key is its session's key and its place in one integer: appends go to the end
/// of the session's range, and the tree stays flat because rows live in its leaves only.
pub(super) use crate::decisions::SEQ_BITS;
pub(super) const MAX_SESSION_KEY: i64 = (1 << (63 - SEQ_BITS)) - 1;

/// Decisions by time. Everything else that is appended costs two comparisons more and
/// nothing in the index.
pub(super) const DECISION_INDEX: &str = "CREATE INDEX events_decided ON events (at) \
     WHERE kind = 'permission_resolved' OR kind = 'elicitation_resolved'";
/// The condition that a statement needs to be answered from that index.
pub(super) const DECISION_CONDITION: &str =
    "kind = 'permission_resolved' OR kind = 'elicitation_resolved'";

const ORIGINS: &str = "CREATE TABLE origins (key INTEGER PRIMARY KEY, made_by TEXT, \
     created INTEGER NOT NULL, made_of TEXT NOT NULL, crc INTEGER NOT NULL) STRICT";
const ORIGINS_INDEX: &str =
    "CREATE INDEX origins_by_maker ON origins (made_by, created) WHERE made_by IS NOT NULL";

/// The table of version 3; those before had no last column.
const SESSIONS: &str = "CREATE TABLE sessions (key INTEGER PRIMARY KEY, id TEXT NOT NULL, \
     epoch INTEGER NOT NULL, agent TEXT NOT NULL, cwd TEXT NOT NULL, title TEXT, \
     created INTEGER NOT NULL, updated INTEGER NOT NULL, head INTEGER NOT NULL, \
     head_crc INTEGER NOT NULL, bytes INTEGER NOT NULL, active_turn TEXT, agent_session TEXT, \
     is_closed INTEGER NOT NULL, details TEXT NOT NULL, revision INTEGER NOT NULL, \
     crc INTEGER NOT NULL, origin_crc INTEGER) STRICT";
const ORIGIN_COLUMN: &str = ", origin_crc INTEGER";

/// The tables and indexes in the order of their names, as the check below reads them back.
const TABLES: [&str; 10] = [
    "CREATE TABLE doomed (key INTEGER PRIMARY KEY) STRICT",
    "CREATE TABLE events (key INTEGER PRIMARY KEY, at INTEGER NOT NULL, turn TEXT, \
     kind TEXT NOT NULL, payload TEXT NOT NULL, crc INTEGER NOT NULL) STRICT",
    DECISION_INDEX,
    ORIGINS,
    ORIGINS_INDEX,
    SESSIONS,
    "CREATE INDEX sessions_by_agent_session ON sessions (agent_session, updated, id) \
     WHERE agent_session IS NOT NULL",
    "CREATE UNIQUE INDEX sessions_by_id ON sessions (id)",
    "CREATE INDEX sessions_by_time ON sessions (updated, id)",
    "CREATE INDEX sessions_with_turn ON sessions (updated, id) WHERE active_turn IS NOT NULL",
];

pub(super) const INSERT_EVENT: &str = "INSERT INTO events (key, at, turn, kind, payload, crc) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6)";

/// Transactions are short; whoever holds the lock this long is stuck.
pub(super) const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// At 160 MiB of WAL the writer itself copies what the checkpointer has left. Small enough to be
/// read again after a crash in a moment, and so large that one event of the size of the longest line
/// (64 MiB) is copied by the checkpointer: everybody who appends would wait for the writer.
const CHECKPOINT_PAGES: u32 = 40_000;
/// After a burst the WAL file shrinks to this when it is reused.
const WAL_BYTES_KEPT: u32 = 32 * 1024 * 1024;
/// Page cache of a connection, in KiB (negative for `SQLite` means KiB, not pages).
const CACHE_KIB: i32 = 4096;

pub(super) fn open_writer(path: &Path) -> SqliteResult<Connection> {
    let mut connection = connect(path)?;
    give_pages_back(&connection)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "wal_autocheckpoint", CHECKPOINT_PAGES)?;
    connection.pragma_update(None, "journal_size_limit", WAL_BYTES_KEPT)?;
    // Overwritten, so that deleted data is not to be found in the file either.
    connection.pragma_update(None, "secure_delete", true)?;
    ensure_tables(&mut connection, path)?;
    Ok(connection)
}

/// Has a new database give free pages back in steps. It can be said only before the first page is
/// written; older databases are made anew by `compact`.
fn give_pages_back(connection: &Connection) -> SqliteResult<()> {
    let n_pages: i64 = connection.pragma_query_value(None, "page_count", |row| row.get(0))?;
    if n_pages == 0 {
        connection.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
    }
    Ok(())
}

/// Tables in an empty file that nobody else knows yet. Nothing in it is safe, not even against an
/// error, until it was closed and synced.
pub(super) fn open_draft(path: &Path) -> SqliteResult<Connection> {
    let mut connection = connect(path)?;
    give_pages_back(&connection)?;
    connection.pragma_update(None, "journal_mode", "OFF")?;
    connection.pragma_update(None, "synchronous", "OFF")?;
    ensure_tables(&mut connection, path)?;
    Ok(connection)
}

/// For looking at a log that may be damaged: closing it leaves the write-ahead log as it is.
pub(super) fn open_for_check(path: &Path) -> SqliteResult<Connection> {
    let connection = open_reader(path)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    Ok(connection)
}

/// A database that nobody writes to. Nothing is made beside it, unless a write-ahead log belongs to
/// it.
pub(super) fn open_file(path: &Path) -> SqliteResult<Connection> {
    let mut wal = path.as_os_str().to_owned();
    wal.push("-wal");
    if Path::new(&wal).exists() {
        return open_for_check(path);
    }
    let mut uri = "file:".to_owned();
    for byte in path.as_os_str().as_bytes() {
        let is_plain = byte.is_ascii_alphanumeric() || b"/._-".contains(byte);
        // Writing to a String cannot fail.
        let _ = if is_plain {
            write!(uri, "{}", char::from(*byte))
        } else {
            write!(uri, "%{byte:02x}")
        };
    }
    uri.push_str("?immutable=1");
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_URI;
    set_up(Connection::open_with_flags(uri, flags)?)
}

/// Whether the tables are those of this version, as far as can be read.
pub(super) fn is_current(connection: &Connection) -> bool {
    stored_tables(connection).is_ok_and(|tables| tables == TABLES)
}

/// Refuses what is no log at all; a damaged one passes.
pub(super) fn require_log(connection: &Connection, path: &Path) -> SqliteResult<()> {
    match connection.pragma_query_value(None, "user_version", |row| row.get::<_, i64>(0))? {
        0 => {
            let detail = "it has no version".into();
            Err(StoreError::NotALog { path: path.into(), detail }.into())
        }
        _ => Ok(()),
    }
}

/// Refuses a database that is not a log of this version.
pub(super) fn require_current(connection: &Connection, path: &Path) -> SqliteResult<()> {
    let found: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    if found > VERSION {
        return Err(StoreError::NewerSchema { path: path.into(), found, known: VERSION }.into());
    }
    if found < VERSION || !is_current(connection) {
        let detail = "its tables are not those of an event log of this version".into();
        return Err(StoreError::NotALog { path: path.into(), detail }.into());
    }
    Ok(())
}

/// For the checkpointer, which writes to the database file but never to the tables.
pub(super) fn open_checkpointer(path: &Path) -> SqliteResult<Connection> {
    let connection = connect(path)?;
    // A connection finds the WAL with its first statement, not when it is opened.
    connection.query_row("SELECT count(*) FROM doomed", [], |_| Ok(()))?;
    Ok(connection)
}

pub(super) fn open_reader(path: &Path) -> SqliteResult<Connection> {
    let connection = connect(path)?;
    connection.pragma_update(None, "query_only", true)?;
    Ok(connection)
}

fn connect(path: &Path) -> SqliteResult<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    set_up(Connection::open_with_flags(path, flags)?)
}

fn set_up(connection: Connection) -> SqliteResult<Connection> {
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

pub(super) fn write_version(connection: &Connection) -> rusqlite::Result<()> {
    connection.pragma_update(None, "user_version", VERSION)
}

fn ensure_tables(connection: &mut Connection, path: &Path) -> SqliteResult<()> {
    let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let found: i64 = tx.pragma_query_value(None, "user_version", |row| row.get(0))?;
    if found > VERSION {
        return Err(StoreError::NewerSchema { path: path.into(), found, known: VERSION }.into());
    }
    let steps = steps_from(found, &stored_tables(&tx)?).ok_or_else(|| {
        let detail = "its tables are not the ones of an event log".into();
        StoreError::NotALog { path: path.into(), detail }
    })?;
    if found > 0 && steps.iter().any(|step| step == DECISION_INDEX) {
        // One pass over the events; a log of gigabytes takes some seconds, once.
        tracing::info!(path = %path.display(), "indexing the decisions of an older log");
    }
    for step in &steps {
        tx.execute(step, [])?;
    }
    if !steps.is_empty() {
        write_version(&tx)?;
    }
    tx.commit()?;
    Ok(())
}

/// The statements that bring a log of version `found` with these `tables` up to date; `None` if
/// they are not the tables of that version.
fn steps_from(found: i64, tables: &[String]) -> Option<Vec<String>> {
    let newer: &[&str] = match found {
        0 => &TABLES,
        1 => &[DECISION_INDEX, ORIGINS, ORIGINS_INDEX],
        2 => &[ORIGINS, ORIGINS_INDEX],
        _ => &[],
    };
    let (newer, older): (Vec<_>, Vec<_>) =
        TABLES.into_iter().partition(|table| newer.contains(table));
    let mut steps: Vec<String> = newer.into_iter().map(str::to_owned).collect();
    let mut expected: Vec<String> = older.into_iter().map(str::to_owned).collect();
    if let 1 | 2 = found {
        let sessions = expected.iter_mut().find(|table| *table == SESSIONS)?;
        *sessions = sessions.replace(ORIGIN_COLUMN, "");
        let column = ORIGIN_COLUMN.trim_start_matches(", ");
        steps.push(format!("ALTER TABLE sessions ADD COLUMN {column}"));
    }
    (tables == expected).then_some(steps)
}

fn stored_tables(connection: &Connection) -> SqliteResult<Vec<String>> {
    let mut statement = connection.prepare("SELECT sql FROM sqlite_schema ORDER BY name")?;
    let tables = statement.query_map([], |row| row.get(0))?.collect::<Result<_, _>>();
    tables.map_err(SqliteFault::from)
}

/// Finds sessions that an index or the table does not show. It looks at the sessions only:
/// events are checked as they are read.
pub(super) fn check_sessions(connection: &Connection, path: &Path) -> SqliteResult<()> {
    let complaints = |connection: &Connection| -> SqliteResult<Option<String>> {
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
