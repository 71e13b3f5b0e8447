//! Limits on the bytes kept for clients: of what they send until it was served, and of what they
//! asked for until they have read it.
//!
//! Each body has a limit of its own; without one for all together many of them, sent at once or
//! never finished, would take all memory.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;

/// The bytes of one client. Two prompts of the largest kind, and some more.
const MAX_EACH: usize = 48 << 20;
const MAX_ALL: usize = 128 << 20;

#[derive(Debug, Default)]
pub struct ByteQuota {
    taken: Mutex<QuotaUse>,
}

#[derive(Debug, Default)]
struct QuotaUse {
    all: usize,
    by_name: HashMap<String, usize>,
}

/// The bytes reserved for one request; given back when it is dropped.
#[derive(Debug)]
pub struct QuotaReservation {
    quota: Arc<ByteQuota>,
    /// The client that sends the request.
    name: String,
    n_bytes: AtomicUsize,
}

impl ByteQuota {
    pub fn reserve(self: &Arc<Self>, name: &str) -> QuotaReservation {
        let (quota, name) = (self.clone(), name.to_owned());
        QuotaReservation { quota, name, n_bytes: AtomicUsize::new(0) }
    }

    fn give_back(&self, name: &str, n_bytes: usize) {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        taken.all = taken.all.saturating_sub(n_bytes);
        let left = taken.by_name.get(name).copied().unwrap_or(0).saturating_sub(n_bytes);
        match left {
            0 => drop(taken.by_name.remove(name)),
            left => drop(taken.by_name.insert(name.to_owned(), left)),
        }
    }
}

impl QuotaReservation {
    /// Reserves more bytes; false if there is no room for them.
    pub fn take(&self, n_bytes: usize) -> bool {
        self.count(n_bytes, false)
    }

    /// As [`take`](Self::take), for bytes that cannot be fewer: they have room if this client has
    /// nothing else.
    pub fn take_whole(&self, n_bytes: usize) -> bool {
        self.count(n_bytes, true)
    }

    /// The same bytes, counted until the last slice of them is dropped; `None` if there is no room.
    pub fn hold(self: &Arc<Self>, bytes: Bytes) -> Option<Bytes> {
        self.take(bytes.len())
            .then(|| Bytes::from_owner(CountedBytes { bytes, reserved: self.clone() }))
    }

    /// Counts bytes if there is room. `is_whole`: they cannot be fewer, and have room if this
    /// client has nothing else.
    fn count(&self, n_bytes: usize, is_whole: bool) -> bool {
        let mut taken = self.quota.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let before = taken.by_name.get(&self.name).copied().unwrap_or(0);
        let has_room = before + n_bytes <= MAX_EACH && taken.all + n_bytes <= MAX_ALL;
        let is_alone = is_whole && before == 0;
        if has_room || is_alone {
            taken.all += n_bytes;
            taken.by_name.insert(self.name.clone(), before + n_bytes);
            self.n_bytes.fetch_add(n_bytes, Ordering::Relaxed);
        }
        has_room || is_alone
    }

    pub fn n_bytes(&self) -> usize {
        self.n_bytes.load(Ordering::Relaxed)
    }

    /// Gives back so many bytes, or all if there are fewer.
    pub fn give_back_some(&self, n_bytes: usize) {
        let less = |n_taken: usize| Some(n_taken.saturating_sub(n_bytes));
        let taken = self.n_bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
        self.quota.give_back(&self.name, taken.unwrap_or_default().min(n_bytes));
    }

    /// Gives back all bytes, as if nothing had been taken.
    pub fn give_back(&self) {
        self.quota.give_back(&self.name, self.n_bytes.swap(0, Ordering::Relaxed));
    }
}

/// A buffer that counts against a quota until it is dropped.
struct CountedBytes {
    bytes: Bytes,
    reserved: Arc<QuotaReservation>,
}

impl AsRef<[u8]> for CountedBytes {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for CountedBytes {
    fn drop(&mut self) {
        self.reserved.give_back_some(self.bytes.len());
    }
}

impl Drop for QuotaReservation {
    fn drop(&mut self) {
        self.give_back();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_takes_its_part_and_all_together_no_more_than_there_is() {
        let quota = Arc::new(ByteQuota::default());
        let held = |name: &str| quota.reserve(name);
        let (first, second) = (held("a"), held("a"));
        assert!(first.take(MAX_EACH - 1) && second.take(1));
        assert!(!second.take(1), "the same token");
        let others = ["b", "c"].map(held);
        assert!(others[0].take(MAX_EACH) && others[1].take(MAX_ALL - 2 * MAX_EACH));
        assert!(!held("d").take(1), "all together");
        drop(first);
        assert!(second.take(MAX_EACH - 1) && !second.take(1));
        second.give_back_some(MAX_EACH - 2);
        assert_eq!(second.n_bytes(), 2);
        second.give_back_some(3);
        assert_eq!(second.n_bytes(), 0);
        assert!(second.take(3));
        second.give_back();
        drop(second);
        drop(others);
        let (large, another) = (quota.reserve("a"), quota.reserve("a"));
        assert!(large.take_whole(2 * MAX_ALL) && !another.take_whole(1));
        drop((large, another));
        let reserved = Arc::new(quota.reserve("a"));
        let held = reserved.hold(Bytes::from(vec![b'x'; MAX_EACH - 1])).unwrap();
        let part = held.slice(7..9);
        assert!(reserved.hold(Bytes::from_static(b"xx")).is_none());
        drop(held);
        assert_eq!((reserved.n_bytes(), &*part), (MAX_EACH - 1, &b"xx"[..]));
        drop(part);
        assert_eq!(reserved.n_bytes(), 0);
        let taken = quota.taken.lock().unwrap();
        assert!(taken.all == 0 && taken.by_name.is_empty(), "{taken:?}");
    }
}
