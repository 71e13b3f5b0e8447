//! The second copy of every session's head, outside the database.
//!
//! A flipped bit in the WAL makes `SQLite` drop that frame and every later one without a
//! word. The file `heads` remembers how far each log had come: one fixed slot per session,
//! found by the session's key, written after each commit and before its acknowledgement.
//! The database may be ahead of it (a crash between the two); the file is ahead of the
//! database only when acknowledged events are gone. A slot that cannot be read or does not
//! match its own checksum says nothing, and nothing is refused because of it.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use rustix::fs::FallocateFlags;
use wire::{Seq, SessionId};

use crate::{StoreError, private_file};

const SLOT_BYTES: usize = 64;
const SLOT_BYTES_U64: u64 = SLOT_BYTES as u64;
/// First byte of a slot that was written; an unused one is all zeros.
const WRITTEN: u8 = 0xA5;
/// The unit in which file systems free space.
const HOLE_BYTES: usize = 4096;
const HOLE_BYTES_U64: u64 = HOLE_BYTES as u64;
/// Slots per read when all are looked at.
const SCAN_SLOTS: usize = 1024;

#[derive(Debug)]
pub(crate) struct Heads {
    file: File,
    path: PathBuf,
}

/// How far one session's log had come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HeadSlot {
    pub(crate) session: SessionId,
    pub(crate) epoch: u64,
    pub(crate) seq: Seq,
    pub(crate) crc: u32,
    /// Counts the writes to the session's row, so that a lost change is noticed too.
    pub(crate) revision: u64,
}

impl Heads {
    pub(crate) fn open(path: &Path) -> Result<Self, StoreError> {
        Ok(Self { file: private_file::open(path)?, path: path.to_owned() })
    }

    pub(crate) fn get(&self, key: i64) -> Option<HeadSlot> {
        let mut bytes = [0; SLOT_BYTES];
        self.file.read_exact_at(&mut bytes, offset(key)?).ok()?;
        HeadSlot::decode(&bytes)
    }

    /// Writes a slot. Losing this copy costs the proof of a later loss, not the events: so a
    /// failure is logged and the append goes on.
    pub(crate) fn put(&self, key: i64, slot: &HeadSlot) {
        let Some(offset) = offset(key) else { return };
        if let Err(error) = self.file.write_all_at(&slot.encode(), offset) {
            tracing::error!(session = %slot.session, path = %self.path.display(), %error,
                "the second copy of a session's head was not written");
        }
    }

    /// Takes the slot's place on the disk, so that later writes to it need no space.
    pub(crate) fn reserve(&self, key: i64) -> Result<(), StoreError> {
        let Some(offset) = offset(key) else { return Ok(()) };
        self.file
            .write_all_at(&[0; SLOT_BYTES], offset)
            .map_err(StoreError::io("write", &self.path))
    }

    /// Forgets a session. Synced at once: a deleted session that is still known here would
    /// be taken for a lost one.
    pub(crate) fn clear(&self, key: i64) -> Result<(), StoreError> {
        self.reserve(key)?;
        self.sync()
    }

    pub(crate) fn sync(&self) -> Result<(), StoreError> {
        self.file.sync_data().map_err(StoreError::io("sync", &self.path))
    }

    /// Keys up to this one were given out at some time.
    pub(crate) fn last_key(&self) -> i64 {
        let bytes = self.file.metadata().map_or(0, |meta| meta.len());
        i64::try_from(bytes / SLOT_BYTES_U64).unwrap_or(0) - 1
    }

    /// Every slot that can be read, with its key.
    pub(crate) fn all(&self) -> Vec<(i64, HeadSlot)> {
        let mut found = Vec::new();
        self.scan(|key, bytes| found.extend(HeadSlot::decode(bytes).map(|slot| (key, slot))));
        found
    }

    /// Slots that were written and do not match their checksum.
    pub(crate) fn n_unreadable(&self) -> u64 {
        let mut n = 0;
        self.scan(|_, bytes| {
            let is_unused = bytes.iter().all(|byte| *byte == 0);
            n += u64::from(!is_unused && HeadSlot::decode(bytes).is_none());
        });
        n
    }

    /// Frees the space of all blocks below `last_key` that hold nothing but cleared slots, and of
    /// whose keys `is_used` says no. The file's length says which keys were given out, so it stays.
    pub(crate) fn punch_cleared(
        &self,
        last_key: i64,
        is_used: impl Fn(i64, i64) -> bool,
    ) -> Result<(), StoreError> {
        let last_key = u64::try_from(last_key).unwrap_or_default();
        let mut block = [0; HOLE_BYTES];
        let mut start = 0;
        while (start + HOLE_BYTES_U64) / SLOT_BYTES_U64 <= last_key {
            let n =
                self.file.read_at(&mut block, start).map_err(StoreError::io("read", &self.path))?;
            let keys = [start, start + HOLE_BYTES_U64 - SLOT_BYTES_U64]
                .map(|at| i64::try_from(at / SLOT_BYTES_U64).unwrap_or(i64::MAX));
            if n == HOLE_BYTES && block.iter().all(|byte| *byte == 0) && !is_used(keys[0], keys[1])
            {
                let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
                if rustix::fs::fallocate(&self.file, flags, start, HOLE_BYTES_U64).is_err() {
                    // Not every file system has holes.
                    return Ok(());
                }
            }
            start += HOLE_BYTES_U64;
        }
        Ok(())
    }

    fn scan(&self, mut see: impl FnMut(i64, &[u8])) {
        let mut buffer = vec![0; SCAN_SLOTS * SLOT_BYTES];
        let mut first_key = 0;
        while let Some(start) = offset(first_key) {
            let n_bytes = self.file.read_at(&mut buffer, start).unwrap_or(0);
            let slots = buffer[..n_bytes].chunks_exact(SLOT_BYTES);
            if slots.len() == 0 {
                break;
            }
            for (key, bytes) in (first_key..).zip(slots) {
                see(key, bytes);
            }
            first_key += i64::try_from(n_bytes / SLOT_BYTES).unwrap_or(1);
        }
    }
}

fn offset(key: i64) -> Option<u64> {
    u64::try_from(key).ok()?.checked_mul(SLOT_BYTES_U64)
}

impl HeadSlot {
    fn encode(&self) -> [u8; SLOT_BYTES] {
        let mut bytes = [0; SLOT_BYTES];
        bytes[0] = WRITTEN;
        bytes[2..28].copy_from_slice(self.session.as_str().as_bytes());
        bytes[28..36].copy_from_slice(&self.epoch.to_le_bytes());
        bytes[36..44].copy_from_slice(&self.seq.0.to_le_bytes());
        bytes[44..52].copy_from_slice(&self.revision.to_le_bytes());
        bytes[52..56].copy_from_slice(&self.crc.to_le_bytes());
        let check = crc32fast::hash(&bytes[..60]);
        bytes[60..].copy_from_slice(&check.to_le_bytes());
        bytes
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let number = |at: usize| Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
        let check = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
        if *bytes.first()? != WRITTEN || check(60)? != crc32fast::hash(bytes.get(..60)?) {
            return None;
        }
        Some(Self {
            session: SessionId::parse(std::str::from_utf8(bytes.get(2..28)?).ok()?).ok()?,
            epoch: number(28)?,
            seq: Seq(number(36)?),
            crc: check(52)?,
            revision: number(44)?,
        })
    }
}

#[cfg(test)]
mod tests;
