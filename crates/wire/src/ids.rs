//! Identifiers that Switchyard makes.
//!
//! All have the shape of a cuid2: a lower-case letter, then base-36 characters. They sort
//! in no way and carry no time, so a short prefix is enough to name one, as in git. The
//! caller brings the entropy; the same entropy gives the same id, which lets a projection
//! derive stable ids from the log.

use std::fmt;

use sha2::{Digest, Sha512};

const ALPHABET: &[u8; 36] = b"abcdefghijklmnopqrstuvwxyz0123456789";
const LETTERS: u16 = 26;

/// Length of a cuid2, which peers validate.
const CUID2_LEN: usize = 24;
/// 26 characters carry more than 128 bits: nobody can guess the id of another's session.
const SESSION_LEN: usize = 26;
/// Bytes of entropy that any id needs at most.
const ENTROPY: usize = 64;

/// A string that was meant to be an id and is not one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not an id: expected a lower-case letter followed by letters and digits")]
pub struct InvalidId(pub String);

/// `N` base-36 characters of which the first is a letter.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Id36<const N: usize>([u8; N]);

/// Names a session, in the API, on the command line and on disk.
pub type SessionId = Id36<SESSION_LEN>;
/// Names a turn from the moment its prompt is received; a valid cuid2.
pub type TurnId = Id36<CUID2_LEN>;
/// Names a tool call, an envelope or a permission question; a valid cuid2.
pub type CallId = Id36<CUID2_LEN>;

impl<const N: usize> Id36<N> {
    /// None comes before this one.
    pub const MIN: Self = {
        let mut id = [b'0'; N];
        id[0] = b'a';
        Self(id)
    };

    pub fn from_entropy(entropy: &[u8; ENTROPY]) -> Self {
        let mut id = [b'a'; N];
        // A pair of bytes per character keeps the bias of the remainder below 1 in 1,800.
        for (index, (slot, pair)) in id.iter_mut().zip(entropy.chunks_exact(2)).enumerate() {
            let draw = u16::from_be_bytes([pair[0], pair[1]]);
            let base = if index == 0 { LETTERS } else { 36 };
            *slot = ALPHABET[usize::from(draw % base)];
        }
        Self(id)
    }

    /// An id that depends on `parts` alone. Parts are length-prefixed before hashing, so
    /// that two different lists never give the same input.
    pub fn derived(parts: &[&[u8]]) -> Self {
        let mut hash = Sha512::new();
        for part in parts {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part);
        }
        Self::from_entropy(&hash.finalize().into())
    }

    pub fn parse(text: &str) -> Result<Self, InvalidId> {
        let invalid = || InvalidId(text.chars().take(80).collect());
        let bytes: [u8; N] = text.as_bytes().try_into().map_err(|_| invalid())?;
        let is_valid = bytes.first().is_some_and(u8::is_ascii_lowercase)
            && bytes.iter().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
        if is_valid { Ok(Self(bytes)) } else { Err(invalid()) }
    }

    pub fn as_str(&self) -> &str {
        // Every constructor admits ASCII only, so the fallback is never taken.
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}

impl<const N: usize> fmt::Display for Id36<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl<const N: usize> fmt::Debug for Id36<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl<const N: usize> serde::Serialize for Id36<N> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de, const N: usize> serde::Deserialize<'de> for Id36<N> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        Self::parse(&text).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests;
