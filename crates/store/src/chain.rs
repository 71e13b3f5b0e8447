//! Checksums that tie a session's events to each other.
//!
//! In: an event's fields and the checksum of the event before it. Out: its checksum. A
//! changed, missing, doubled or foreign event breaks the chain at its place, so a reader
//! notices it without knowing anything but the event before.

use crc32fast::Hasher;
use wire::{Millis, Seq, SessionId};

/// An event as it is stored: borrowed from a draft or from a row.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ChainedEvent<'a> {
    pub(crate) seq: Seq,
    pub(crate) at: Millis,
    pub(crate) turn: Option<&'a str>,
    pub(crate) kind: &'a str,
    pub(crate) payload: &'a str,
}

/// The checksum to which the first event is chained.
pub(crate) fn root(session: SessionId) -> u32 {
    crc32fast::hash(session.as_str().as_bytes())
}

impl ChainedEvent<'_> {
    pub(crate) fn crc(&self, session: SessionId, previous: u32) -> u32 {
        let turn = self.turn.unwrap_or_default();
        let mut fixed = [0; 64];
        fixed[0..4].copy_from_slice(&previous.to_le_bytes());
        fixed[4..12].copy_from_slice(&self.seq.0.to_le_bytes());
        fixed[12..20].copy_from_slice(&self.at.0.to_le_bytes());
        // Lengths keep two neighbouring texts from being read as one.
        fixed[20..28].copy_from_slice(&(turn.len() as u64).to_le_bytes());
        fixed[28..36].copy_from_slice(&(self.kind.len() as u64).to_le_bytes());
        fixed[36] = u8::from(self.turn.is_some());
        fixed[37..63].copy_from_slice(session.as_str().as_bytes());
        let mut hasher = Hasher::new();
        hasher.update(&fixed);
        hasher.update(turn.as_bytes());
        hasher.update(self.kind.as_bytes());
        hasher.update(self.payload.as_bytes());
        hasher.finalize()
    }
}

#[cfg(test)]
mod tests;
