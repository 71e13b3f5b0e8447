//! Hash maps and random numbers that behave the same in every run.
//!
//! Numbers of our own are spread by one multiplication. Names come from outside, so they are hashed
//! with a key (the switch's seed) that whoever picks them does not know. No output of the switch
//! depends on the order of a map: where it walks over one, it sorts.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::{BuildHasher, BuildHasherDefault, Hash, Hasher};
use std::sync::Arc;

pub(crate) type IdMap<K, V> = HashMap<K, V, BuildHasherDefault<IdHasher>>;
pub(super) type NameMap<V> = HashMap<NameKey, V, NameHash>;

/// A name that is looked up by the bytes in which it comes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NameKey(pub(super) Arc<str>);

impl Hash for NameKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.as_bytes().hash(state);
    }
}

impl Borrow<[u8]> for NameKey {
    fn borrow(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

/// The golden ratio in 64 bits.
const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct IdHasher(u64);

impl Hasher for IdHasher {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    fn write_u64(&mut self, n: u64) {
        // The table uses the upper and the lower bits, so both must depend on all of `n`.
        let spread = (self.0.rotate_left(5) ^ n).wrapping_mul(GOLDEN);
        self.0 = spread ^ (spread >> 32);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct NameHash {
    pub(super) seed: u64,
}

impl BuildHasher for NameHash {
    type Hasher = NameHasher;

    fn build_hasher(&self) -> NameHasher {
        NameHasher { state: self.seed, key: self.seed.rotate_left(32) ^ GOLDEN | 1 }
    }
}

/// Multiplies by a key and folds the product, for eight bytes at a time.
#[derive(Debug, Clone, Copy)]
pub(super) struct NameHasher {
    state: u64,
    key: u64,
}

impl Hasher for NameHasher {
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            self.write_u64(u64::from_le_bytes(*word));
        }
        // Zeros at the end do not matter: the length is hashed too.
        let last = rest.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
        if !rest.is_empty() {
            self.write_u64(last);
        }
    }

    fn write_u64(&mut self, n: u64) {
        let (low, high) = (self.state ^ n).carrying_mul(self.key, GOLDEN);
        self.state = low ^ high;
    }

    fn write_usize(&mut self, n: usize) {
        self.write_u64(n as u64);
    }

    fn finish(&self) -> u64 {
        // Folded once more, so that the last bytes also reach the bits that choose a bucket.
        let (low, high) = self.state.carrying_mul(self.key, 0);
        low ^ high
    }
}

/// A small generator for jitter: the same seed gives the same delays.
#[derive(Debug, Clone)]
pub(super) struct Jitter(pub(super) u64);

impl Jitter {
    /// `n_millis`, longer or shorter by up to `percent`.
    pub(super) fn apply(&mut self, n_millis: u64, percent: u32) -> u64 {
        let reach = n_millis.saturating_mul(u64::from(percent)) / 100;
        let low = n_millis.saturating_sub(reach);
        low + self.next() % (reach.saturating_mul(2).saturating_add(1))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GOLDEN);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }
}
