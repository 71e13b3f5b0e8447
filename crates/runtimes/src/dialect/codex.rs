//! What Codex's two dialects have in common: its items, its errors, its counts.
//!
//! `codex exec` and `codex app-server` tell of the same things, the one in `snake_case`, the
//! other in `camelCase`; whoever reads them here need not know which of the two spoke.

pub(super) mod items;
mod patch;
mod script;
pub(super) mod texts;
pub(super) mod trouble;
pub(super) mod usage;

use serde_json::Value;

/// A member that goes by one of two names.
fn either<'a>(value: &'a Value, snake: &str, camel: &str) -> &'a Value {
    match &value[snake] {
        Value::Null => &value[camel],
        found => found,
    }
}

/// A name without its case and separators: `in_progress` and `inProgress` are one.
fn plain(name: &Value) -> String {
    let name = name.as_str().unwrap_or_default();
    name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase()
}

#[cfg(test)]
mod tests;
