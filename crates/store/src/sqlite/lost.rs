//! Sessions that vanished as a whole.
//!
//! In: the second copy of the heads and the database. Out: what only the copy knows.

use rusqlite::Connection;
use wire::{Seq, SessionId};

use super::fault::{Fault, Outcome};
use super::rows;
use crate::StoreError;
use crate::heads::Heads;

/// A session that the second copy of the heads knows and the database does not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LostSession {
    pub id: SessionId,
    pub head: Seq,
}

/// Slots are written after the commit and cleared before it, so a slot without a session
/// that is still there when looked at again belongs to a session that was lost.
pub(super) fn find(connection: &Connection, heads: &Heads) -> Outcome<Vec<LostSession>> {
    let mut lost = Vec::new();
    for (key, slot) in heads.all() {
        let is_there = match rows::load_unchecked(connection, slot.session) {
            Ok(row) => row.is_some(),
            // Damaged, and told when it is used, but there.
            Err(Fault::Store(StoreError::CorruptRecord { .. })) => true,
            Err(fault) => return Err(fault),
        };
        if !is_there && heads.get(key).is_some() {
            lost.push(LostSession { id: slot.session, head: slot.seq });
        }
    }
    Ok(lost)
}
