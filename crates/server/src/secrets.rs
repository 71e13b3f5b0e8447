//! Secrets that must not be shown, and their redaction in texts.
//!
//! In: secrets that are known (tokens, cookies, what the environment names a key), and any
//! text on its way to a log. Out: the text with each secret replaced. What nobody
//! registered is still found when it looks like one [`patterns`].
//!
//! Always true: a registered secret is found as it is and in the forms that quoting gives
//! it (JSON, Rust's `{:?}`, percent-encoding), also where two of them overlap. The cost is
//! linear in the text; how many secrets are remembered is bounded.

mod patterns;

use std::borrow::Cow;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Arc, PoisonError, RwLock};

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use wire::uri::percent_encoded;

/// The text in a secret's place.
pub const REDACTED: &str = "[redacted]";

/// Shorter values are words: replacing them would spoil the log and hide nothing.
pub const MIN_BYTES: usize = 8;

/// A longer value is remembered in pieces of this size.
const MAX_PIECE_BYTES: usize = 4096;

/// Secrets that are remembered; the oldest go first. Far beyond the tokens of a daemon and the keys
/// of an environment.
const MAX_SECRETS: usize = 1024;

/// A cheap handle on what is secret in this process.
#[derive(Debug, Clone, Default)]
pub struct Secrets(Arc<RwLock<KnownSecrets>>);

#[derive(Debug, Default)]
struct KnownSecrets {
    values: VecDeque<Box<str>>,
    matcher: Option<AhoCorasick>,
}

impl Secrets {
    /// From now on `value` is not shown.
    pub fn register(&self, value: &str) {
        self.register_all([value]);
    }

    /// As [`register`](Self::register), for many at once.
    pub fn register_all<'a>(&self, values: impl IntoIterator<Item = &'a str>) {
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let mut is_changed = false;
        for piece in values.into_iter().flat_map(pieces) {
            if piece.len() < MIN_BYTES || known.values.iter().any(|value| **value == *piece) {
                continue;
            }
            if known.values.len() >= MAX_SECRETS {
                known.values.pop_front();
            }
            known.values.push_back(piece.into());
            is_changed = true;
        }
        if is_changed {
            known.matcher = matcher(&known.values);
        }
    }

    /// Takes the values of those variables that are named like secrets.
    pub fn register_environment(&self, variables: impl IntoIterator<Item = (String, String)>) {
        let named = variables.into_iter().filter(|(name, _)| names_a_secret(name));
        let values: Vec<String> = named.map(|(_, value)| value).collect();
        self.register_all(values.iter().map(String::as_str));
    }

    /// `text` without secrets.
    pub fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut found = patterns::find(text);
        if let Some(matcher) = &self.0.read().unwrap_or_else(PoisonError::into_inner).matcher {
            found.extend(matcher.find_overlapping_iter(text).map(|found| found.range()));
        }
        match found.is_empty() {
            true => Cow::Borrowed(text),
            false => Cow::Owned(without(text, found)),
        }
    }
}

/// Whether a variable, a header or a field of this name holds a secret.
pub fn names_a_secret(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    ["KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL", "AUTHORIZATION", "COOKIE"]
        .iter()
        .any(|part| name.contains(part))
}

fn pieces(value: &str) -> impl Iterator<Item = &str> {
    let mut rest = value.trim();
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (piece, after) = rest.split_at(rest.floor_char_boundary(MAX_PIECE_BYTES));
        rest = after;
        Some(piece)
    })
}

/// Finds every value in every form. `None` if there is nothing to find, or too much.
fn matcher(values: &VecDeque<Box<str>>) -> Option<AhoCorasick> {
    let mut forms: Vec<String> = values.iter().flat_map(|value| forms_of(value)).collect();
    forms.sort_unstable();
    forms.dedup();
    AhoCorasick::builder().kind(Some(AhoCorasickKind::ContiguousNFA)).build(forms).ok()
}

fn forms_of(value: &str) -> [String; 5] {
    let json = wire::Json::of(&value);
    let json = json.as_str();
    let json = json.get(1..json.len().saturating_sub(1)).unwrap_or(json);
    // Quoted twice: JSON inside a field that is logged with `{:?}`.
    [
        value.to_owned(),
        value.escape_debug().to_string(),
        json.to_owned(),
        json.escape_debug().to_string(),
        percent_encoded(value.as_bytes(), b"-._~"),
    ]
}

/// `text` with the found ranges, in any order and overlapping, replaced.
fn without(text: &str, mut found: Vec<Range<usize>>) -> String {
    found.sort_unstable_by_key(|range| range.start);
    let mut out = String::with_capacity(text.len());
    let (mut shown, mut hidden_to) = (0, None);
    for range in found {
        match hidden_to {
            Some(end) if range.start <= end => hidden_to = Some(range.end.max(end)),
            _ => {
                shown = hidden_to.unwrap_or(shown);
                out.push_str(text.get(shown..range.start).unwrap_or_default());
                out.push_str(REDACTED);
                hidden_to = Some(range.end);
            }
        }
    }
    out.push_str(text.get(hidden_to.unwrap_or(shown)..).unwrap_or_default());
    out
}

#[cfg(test)]
mod tests;
