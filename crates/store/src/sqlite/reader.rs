//! The reader threads, and their queries.
//!
//! In: questions. Out: answers from one snapshot of the database each. WAL readers never
//! hold the writer up, and a question is bounded in what it returns, so no snapshot lives
//! long. Events are checked against the chain before anybody sees them.

use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::{Connection, ErrorCode, OptionalExtension, Row as SqlRow, ToSql};
use tokio::sync::mpsc;
use wire::{Event, Json, Kind, Millis, Seq, SessionId, TurnId};

use super::fault::SqliteResult;
use super::rows::{self, COLUMNS, SessionRow};
use super::schema::{DECISION_CONDITION, SEQ_BITS};
use crate::chain::{self, ChainedEvent};
use crate::record::{MAX_FOUND, MAX_READ_BYTES};
use crate::{DecisionFilter, DecisionPlace, LoggedDecision, SessionFilter, StoreError};

/// Callers beyond this wait before their question is queued.
pub(super) const QUEUED_QUESTIONS: usize = 256;
/// Last events that are checked before a session goes on: with those of its last turns, whoever
/// prompts it again hardly waits for them.
const CHECKED_EVENTS: usize = 1000;

pub(super) type ReaderQuery = Box<dyn FnOnce(&mut Connection) + Send>;

/// Takes questions from a queue that the readers share, until its senders are gone.
pub(super) fn run(mut connection: Connection, queue: &Arc<Mutex<mpsc::Receiver<ReaderQuery>>>) {
    loop {
        let next = queue.lock().unwrap_or_else(PoisonError::into_inner).blocking_recv();
        let Some(question) = next else { return };
        question(&mut connection);
    }
}

pub(super) fn head(connection: &Connection, session: SessionId) -> SqliteResult<Option<Seq>> {
    let mut select = connection.prepare_cached("SELECT head FROM sessions WHERE id = ?1")?;
    let head = select.query_row([session.as_str()], |row| row.get::<_, i64>(0)).optional()?;
    Ok(head.map(|head| Seq(head.cast_unsigned())))
}

pub(super) fn find(connection: &Connection, prefix: &str) -> SqliteResult<Vec<SessionRow>> {
    // `{` is the byte after `z`, so the range holds exactly the ids that start like this.
    let sql = format!(
        "SELECT {COLUMNS} FROM sessions WHERE id >= ?1 AND id < ?1 || '{{' \
         ORDER BY id LIMIT {MAX_FOUND}"
    );
    collect(connection, &sql, &[&prefix])
}

pub(super) fn sessions(
    connection: &Connection,
    filter: &SessionFilter,
) -> SqliteResult<Vec<SessionRow>> {
    let (sql, values) = listing(filter);
    let values: Vec<&dyn ToSql> = values.iter().map(AsRef::as_ref).collect();
    collect(connection, &sql, &values)
}

/// The statement for a listing. Each one follows an index in the order asked for.
pub(super) fn listing(filter: &SessionFilter) -> (String, Vec<Box<dyn ToSql + '_>>) {
    let mut sql = format!("SELECT {COLUMNS} FROM sessions WHERE 1");
    let mut values: Vec<Box<dyn ToSql + '_>> = Vec::new();
    let wanted =
        [("agent", &filter.agent), ("cwd", &filter.cwd), ("agent_session", &filter.agent_session)];
    for (column, value) in wanted {
        if let Some(value) = value {
            sql.extend([" AND ", column, " = ?"]);
            values.push(Box::new(value.as_str()));
        }
    }
    match filter.has_active_turn {
        Some(true) => sql += " AND active_turn IS NOT NULL",
        Some(false) => sql += " AND active_turn IS NULL",
        None => {}
    }
    if let Some((name, since)) = &filter.made_by {
        // The plus keeps to the index that has the order.
        sql += " AND +key IN (SELECT key FROM origins WHERE made_by = ? AND created >= ?)";
        values.push(Box::new(name.as_str()));
        values.push(Box::new(since.0));
    }
    if let Some(before) = filter.before {
        sql += " AND (updated, id) < (?, ?)";
        values.push(Box::new(before.updated.0));
        values.push(Box::new(before.id.as_str().to_owned()));
    }
    sql += " ORDER BY updated DESC, id DESC LIMIT ?";
    values.push(Box::new(i64::try_from(filter.capped_limit()).unwrap_or(i64::MAX)));
    (sql, values)
}

/// Reads the rows of a list; a damaged record must not take the others out of it.
fn collect(
    connection: &Connection,
    sql: &str,
    values: &[&dyn ToSql],
) -> SqliteResult<Vec<SessionRow>> {
    let mut statement = connection.prepare_cached(sql)?;
    let mut found = statement.query(values)?;
    let mut rows = Vec::new();
    while let Some(row) = found.next()? {
        match SessionRow::read(row) {
            Some(row) if row.is_intact => rows.push(row),
            damaged => {
                let session = damaged.map(|row| row.record.id.to_string());
                tracing::error!(session, "a session's record is damaged and not listed");
            }
        }
    }
    Ok(rows)
}

pub(super) fn events(
    connection: &mut Connection,
    session: SessionId,
    after: Seq,
    limit: usize,
) -> SqliteResult<Vec<Event>> {
    // One snapshot: the head must be the one that these events lead to.
    let tx = connection.transaction()?;
    let row = rows::load_or_refuse(&tx, session)?;
    events_of(&tx, &row, after, limit)
}

/// The same for a row that was read before: events up to its head never change, unless they are
/// deleted.
pub(super) fn events_of(
    tx: &Connection,
    row: &SessionRow,
    after: Seq,
    limit: usize,
) -> SqliteResult<Vec<Event>> {
    if after >= row.record.head || limit == 0 {
        return Ok(Vec::new());
    }
    let session = row.record.id;
    let bad = |seq: u64| StoreError::Corrupt { session, seq: Seq(seq) };
    let first_key = row.base() + after.0.cast_signed();
    let mut previous = match after {
        Seq(0) => chain::root(session),
        _ => crc_at(tx, first_key)?.ok_or_else(|| bad(after.0))?,
    };

    let sql = "SELECT key, at, turn, kind, payload, crc FROM events \
               WHERE key > ?1 AND key <= ?2 ORDER BY key LIMIT ?3";
    let mut select = tx.prepare_cached(sql)?;
    let last_key = row.base() + row.record.head.0.cast_signed();
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let mut found = select.query([first_key, last_key, limit])?;
    let mut events = Vec::new();
    let mut bytes = 0;
    let (mut seq, wanted) = (after.0, row.record.head.0.min(after.0.saturating_add_signed(limit)));
    while seq < wanted && bytes < MAX_READ_BYTES {
        let next = match found.next() {
            Ok(next) => next,
            // Damage in the middle of the tree ends the good part just like a bad checksum.
            Err(error) if is_damage(&error) => None,
            // The disk may give the rest another time.
            Err(error) if events.is_empty() => return Err(error.into()),
            Err(_) => return Ok(events),
        };
        let event = next.and_then(|sql_row| checked(sql_row, row, seq + 1, previous));
        let Some((event, crc)) = event else {
            return if events.is_empty() { Err(bad(seq + 1).into()) } else { Ok(events) };
        };
        bytes += event.payload.as_str().len();
        (seq, previous) = (seq + 1, crc);
        events.push(event);
    }
    Ok(events)
}

/// Checks the last events of a session, and the one at `known` as well.
pub(super) fn check_end(
    connection: &mut Connection,
    session: SessionId,
    known: Option<Seq>,
) -> SqliteResult<()> {
    let tx = connection.transaction()?;
    let row = rows::load_or_refuse(&tx, session)?;
    if let Some(known) = known {
        events_of(&tx, &row, Seq(known.0.saturating_sub(1)), 1)?;
    }
    let mut at = start_of_end(&tx, &row)?;
    while let Some(last) = events_of(&tx, &row, at, CHECKED_EVENTS)?.last() {
        at = last.seq;
    }
    Ok(())
}

/// The place behind which a session's last events lie: no more than one read gives.
fn start_of_end(tx: &Connection, row: &SessionRow) -> SqliteResult<Seq> {
    let sql = "SELECT key, octet_length(payload) FROM events WHERE key > ?1 AND key <= ?2 \
               ORDER BY key DESC LIMIT ?3";
    let mut select = tx.prepare_cached(sql)?;
    let head = row.record.head.0.cast_signed();
    let limit = i64::try_from(CHECKED_EVENTS).unwrap_or(i64::MAX);
    let mut found = select.query([row.base(), row.base() + head, limit])?;
    let (mut before, mut bytes) = (head - 1, 0);
    loop {
        match found.next() {
            Ok(Some(event)) => {
                before = event.get::<_, i64>(0)? - row.base() - 1;
                // One that has none is damaged, which reading it tells.
                bytes += event.get::<_, i64>(1).unwrap_or_default();
            }
            Ok(None) => break,
            // So that the damaged one is read, which says so.
            Err(error) if is_damage(&error) => {
                before -= 1;
                break;
            }
            Err(error) => return Err(error.into()),
        }
        if usize::try_from(bytes).is_ok_and(|bytes| bytes >= MAX_READ_BYTES) {
            break;
        }
    }
    Ok(Seq(before.max(0).cast_unsigned()))
}

fn is_damage(error: &rusqlite::Error) -> bool {
    // Without a code it is a column of the wrong type.
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseCorrupt) | None)
}

fn crc_at(connection: &Connection, key: i64) -> SqliteResult<Option<u32>> {
    let mut select = connection.prepare_cached("SELECT crc FROM events WHERE key = ?1")?;
    Ok(select.query_row([key], |row| row.get(0)).optional()?)
}

/// The event in `found`, if it is the one that was written at `seq`.
fn checked(found: &SqlRow<'_>, row: &SessionRow, seq: u64, previous: u32) -> Option<(Event, u32)> {
    let (event, crc) = checked_event(found, row.record.id, Seq(seq), previous)?;
    let is_last = row.record.head == event.seq;
    let key = found.get_ref(0).ok()?.as_i64().ok()?;
    if key != row.base() + seq.cast_signed() || (is_last && crc != row.head_crc) {
        return None;
    }
    Some((event, crc))
}

/// The event in `found`, from the columns `key, at, turn, kind, payload, crc`, if it was
/// written at `seq` of `session` after the one with the checksum `previous`.
pub(super) fn checked_event(
    found: &SqlRow<'_>,
    session: SessionId,
    seq: Seq,
    previous: u32,
) -> Option<(Event, u32)> {
    let text = |index: usize| found.get_ref(index).ok()?.as_str().ok();
    let int = |index: usize| found.get_ref(index).ok()?.as_i64().ok();
    let link = ChainedEvent {
        seq,
        at: Millis(int(1)?),
        turn: found.get_ref(2).ok()?.as_str_or_null().ok()?,
        kind: text(3)?,
        payload: text(4)?,
    };
    let crc = link.crc(session, previous);
    if int(5)? != i64::from(crc) {
        return None;
    }
    let turn = match link.turn {
        Some(turn) => Some(TurnId::parse(turn).ok()?),
        None => None,
    };
    let (kind, payload) = (Kind::from_log(link.kind), Json::trusted(link.payload));
    Some((Event { seq: link.seq, at: link.at, turn, kind, payload }, crc))
}

/// The events that are in the index of decisions, in the order of time, each checked against its
/// session's chain. Those of deleted sessions are gone with the session, also while their events
/// still wait to be swept.
pub(super) fn decisions(
    connection: &Connection,
    filter: &DecisionFilter,
) -> SqliteResult<Vec<LoggedDecision>> {
    let (sql, values) = decision_listing(filter);
    let values: Vec<&dyn ToSql> = values.iter().map(AsRef::as_ref).collect();
    let mut statement = connection.prepare_cached(&sql)?;
    let mut found = statement.query(&*values)?;
    let (mut decisions, mut bytes) = (Vec::new(), 0);
    while bytes < MAX_READ_BYTES {
        let Some(row) = found.next()? else { break };
        let Some(decision) = decision(row)? else {
            tracing::error!("a session's record is damaged; its decisions are not listed");
            continue;
        };
        if let Some(event) = &decision.event {
            bytes += event.payload.as_str().len();
        } else {
            let (session, seq) = (decision.session, decision.seq.0);
            tracing::error!(%session, seq, "a decision does not match its checksum");
        }
        decisions.push(decision);
    }
    Ok(decisions)
}

/// The statement for decisions: it follows the index, looks each session up, and never sorts.
pub(super) fn decision_listing(filter: &DecisionFilter) -> (String, Vec<Box<dyn ToSql + '_>>) {
    let mut sql = format!(
        "SELECT e.key, e.at, e.turn, e.kind, e.payload, e.crc, s.id, \
                (SELECT crc FROM events WHERE key = e.key - 1) \
         FROM events AS e INDEXED BY events_decided \
         CROSS JOIN sessions AS s ON s.key = e.key >> {SEQ_BITS} WHERE ({DECISION_CONDITION})"
    );
    let mut values: Vec<Box<dyn ToSql + '_>> = Vec::new();
    if let Some(since) = filter.since {
        sql += " AND e.at >= ?";
        values.push(Box::new(since.0));
    }
    if let Some(until) = filter.until {
        sql += " AND e.at < ?";
        values.push(Box::new(until.0));
    }
    if let Some(DecisionPlace { at, key }) = filter.after {
        sql += " AND (e.at, e.key) > (?, ?)";
        values.push(Box::new(at.0));
        values.push(Box::new(key));
    }
    if let Some(session) = filter.session {
        // By number, which the index knows: events of other sessions are not looked at.
        sql += " AND e.key >> ? = (SELECT key FROM sessions WHERE id = ?)";
        values.push(Box::new(SEQ_BITS));
        values.push(Box::new(session.as_str().to_owned()));
    }
    sql += " ORDER BY e.at, e.key LIMIT ?";
    values.push(Box::new(i64::try_from(filter.capped_limit()).unwrap_or(i64::MAX)));
    (sql, values)
}

/// `None` when the session's id cannot be read.
fn decision(row: &SqlRow<'_>) -> SqliteResult<Option<LoggedDecision>> {
    let (key, at): (i64, i64) = (row.get(0)?, row.get(1)?);
    let Some(session) = row.get_ref(6)?.as_str().ok().and_then(|id| SessionId::parse(id).ok())
    else {
        return Ok(None);
    };
    let seq = Seq((key & ((1 << SEQ_BITS) - 1)).cast_unsigned());
    let previous: Option<u32> = match seq {
        Seq(1) => Some(chain::root(session)),
        _ => row.get(7)?,
    };
    let event = previous.and_then(|previous| checked_event(row, session, seq, previous));
    let (event, at) = (event.map(|(event, _)| event), Millis(at));
    Ok(Some(LoggedDecision { place: DecisionPlace::new(at, key), session, seq, at, event }))
}
