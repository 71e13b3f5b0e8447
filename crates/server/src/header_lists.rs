//! Headers that are lists, in one line or in several, and headers that come once.

use axum::http::{HeaderMap, HeaderName, HeaderValue};

/// The trimmed items of a list; empty ones are skipped.
pub(crate) fn list_items<'a>(
    headers: &'a HeaderMap,
    name: &HeaderName,
    between: char,
) -> impl Iterator<Item = &'a str> {
    let lines = headers.get_all(name).iter().filter_map(|line| line.to_str().ok());
    lines.flat_map(move |line| line.split(between)).map(str::trim).filter(|item| !item.is_empty())
}

/// A header was sent more than once.
#[derive(Debug)]
pub(crate) struct SentTwice;

/// The value of a header that is sent at most once.
pub(crate) fn single<'a>(
    headers: &'a HeaderMap,
    name: &HeaderName,
) -> Result<Option<&'a HeaderValue>, SentTwice> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (_, Some(_)) => Err(SentTwice),
        (first, None) => Ok(first),
    }
}
