//! Values of labels, from bounded sets.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::{PoisonError, RwLock};

pub(super) const OTHER: Cow<'static, str> = Cow::Borrowed("other");

/// Names that may appear; anything else is `other`.
#[derive(Debug)]
pub(super) struct LabelValues {
    known: RwLock<HashSet<Box<str>>>,
    max: usize,
}

impl LabelValues {
    pub(super) fn fixed(names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let known = names.into_iter().map(|name| name.into().into_boxed_str()).collect();
        Self { known: RwLock::new(known), max: 0 }
    }

    /// Takes names as they come, up to `max`.
    pub(super) fn growing(max: usize) -> Self {
        Self { known: RwLock::default(), max }
    }

    pub(super) fn label(&self, name: &str) -> Cow<'static, str> {
        if self.known.read().unwrap_or_else(PoisonError::into_inner).contains(name) {
            return Cow::Owned(name.to_owned());
        }
        if self.max == 0 {
            return OTHER;
        }
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= self.max {
            return OTHER;
        }
        known.insert(name.into());
        Cow::Owned(name.to_owned())
    }
}

/// One of `known`, or `other`.
pub(super) fn one_of(known: &[&'static str], name: &str) -> Cow<'static, str> {
    known.iter().find(|one| **one == name).map_or(OTHER, |one| Cow::Borrowed(*one))
}

pub(super) fn method(name: &str) -> Cow<'static, str> {
    one_of(&["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"], name)
}

/// A stop reason comes from an agent, which may say anything.
pub(super) fn stop_reason(name: &str) -> Cow<'static, str> {
    one_of(&["end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled", "error"], name)
}
