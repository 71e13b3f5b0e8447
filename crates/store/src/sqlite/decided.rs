//! Decisions of all sessions, read in the order of time.
//!
//! In: a filter. Out: the events that are in the index of decisions, each checked against
//! its session's chain. Those of deleted sessions are gone with the session, also while
//! their events still wait to be swept.

use rusqlite::{Connection, Row as SqlRow, ToSql};
use wire::{Millis, Seq, SessionId};

use super::fault::Outcome;
use super::reader;
use super::schema::{DECIDED, SEQ_BITS};
use crate::chain;
use crate::record::MAX_READ_BYTES;
use crate::{Decision, DecisionFilter, DecisionPlace};

pub(super) fn decisions(
    connection: &Connection,
    filter: &DecisionFilter,
) -> Outcome<Vec<Decision>> {
    let (sql, values) = listing(filter);
    let values: Vec<&dyn ToSql> = values.iter().map(AsRef::as_ref).collect();
    let mut statement = connection.prepare_cached(&sql)?;
    let mut found = statement.query(&*values)?;
    let (mut decisions, mut bytes) = (Vec::new(), 0);
    while bytes < MAX_READ_BYTES {
        let Some(row) = found.next()? else { break };
        let Some(decision) = read(row)? else {
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

/// The statement: it follows the index, looks each session up, and never sorts.
pub(super) fn listing(filter: &DecisionFilter) -> (String, Vec<Box<dyn ToSql + '_>>) {
    let mut sql = format!(
        "SELECT e.key, e.at, e.turn, e.kind, e.payload, e.crc, s.id, \
                (SELECT crc FROM events WHERE key = e.key - 1) \
         FROM events AS e INDEXED BY events_decided \
         CROSS JOIN sessions AS s ON s.key = e.key >> {SEQ_BITS} WHERE ({DECIDED})"
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
    if let Some((at, key)) = filter.after.map(DecisionPlace::parts) {
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
fn read(row: &SqlRow<'_>) -> Outcome<Option<Decision>> {
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
    let event = previous.and_then(|previous| reader::linked(row, session, seq, previous));
    let (event, at) = (event.map(|(event, _)| event), Millis(at));
    Ok(Some(Decision { place: DecisionPlace::new(at, key), session, seq, at, event }))
}
