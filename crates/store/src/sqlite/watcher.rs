//! Notices events that other processes append.
//!
//! Out: wake-ups. It looks only while somebody waits, and one cheap question tells whether
//! anything was committed at all, however many sessions are waited for. Appends of this
//! process do not need it: the writer wakes its readers at once.

use std::sync::Arc;
use std::time::Duration;

use rusqlite::Connection;

use super::fault::SqliteResult;
use super::reader;
use crate::wake_ups::{LogReach, WakeUps};

/// A person does not notice this delay, and twenty questions a second cost nothing.
const LOOK_EVERY: Duration = Duration::from_millis(50);

pub(super) fn run(connection: &Connection, wakes: &Arc<WakeUps>) {
    let mut seen = None;
    while wakes.pause_while_needed(LOOK_EVERY) {
        match look(connection, wakes, seen) {
            Ok(version) => seen = Some(version),
            Err(fault) => {
                seen = None;
                tracing::debug!(?fault, "could not look for other processes' events");
            }
        }
    }
}

fn look(connection: &Connection, wakes: &WakeUps, seen: Option<i64>) -> SqliteResult<i64> {
    let version: i64 = connection.pragma_query_value(None, "data_version", |row| row.get(0))?;
    if seen == Some(version) {
        return Ok(version);
    }
    for session in wakes.waited_for() {
        let reach = reader::head(connection, session)?.map_or(LogReach::Deleted, LogReach::To);
        wakes.publish(session, reach);
    }
    Ok(version)
}
