//! Headers that are lists, in one line or in several.

use axum::http::{HeaderMap, HeaderName};

/// The trimmed items of a list; empty ones are skipped.
pub(crate) fn list_items<'a>(
    headers: &'a HeaderMap,
    name: &HeaderName,
    between: char,
) -> impl Iterator<Item = &'a str> {
    let lines = headers.get_all(name).iter().filter_map(|line| line.to_str().ok());
    lines.flat_map(move |line| line.split(between)).map(str::trim).filter(|item| !item.is_empty())
}
