//! Values that nobody is to read in a log or an error: keys, and headers that may hold one.
//!
//! Always true: neither `Debug` nor anything that is shown to people or models holds one.

use std::fmt;

use serde::Deserialize;

/// Shorter values are found in ordinary words, and are no secrets.
const MIN_HIDDEN_BYTES: usize = 6;
const HIDDEN: &str = "[hidden]";
/// Beginnings of keys that providers repeat in their own errors.
const KEY_PREFIXES: [&str; 3] = ["sk-", "Bearer ", "bearer "];

#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    pub fn new(value: impl Into<String>) -> Self {
        Self(value.into())
    }

    pub(super) fn reveal(&self) -> &str {
        &self.0
    }

    /// The text without this value.
    pub(super) fn hide_in(&self, text: &str) -> String {
        match self.0.trim() {
            value if value.len() >= MIN_HIDDEN_BYTES => text.replace(value, HIDDEN),
            _ => text.to_owned(),
        }
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(HIDDEN)
    }
}

/// The text without words that look like keys, whoever they belong to.
pub(super) fn hide_keys(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let first_prefix = |text: &str| {
        KEY_PREFIXES.iter().filter_map(|prefix| Some((text.find(prefix)?, *prefix))).min()
    };
    let is_of_key = |c: char| c.is_ascii_alphanumeric() || "-_.*+/=~".contains(c);
    while let Some((at, prefix)) = first_prefix(rest) {
        let (before, key) = rest.split_at(at);
        out.push_str(before);
        let is_word = before.chars().next_back().is_none_or(|c| !c.is_alphanumeric());
        let after = key.get(prefix.len()..).unwrap_or_default();
        let length = after.find(|c: char| !is_of_key(c)).unwrap_or(after.len());
        if is_word && length >= MIN_HIDDEN_BYTES {
            out.push_str(HIDDEN);
        } else {
            out.push_str(prefix);
            out.push_str(after.get(..length).unwrap_or_default());
        }
        rest = after.get(length..).unwrap_or_default();
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests;
