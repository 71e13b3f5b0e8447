//! Headers that are lists, said in one line or in several.

use axum::http::{HeaderMap, HeaderName};

/// The items of a list, without what is around them; those that are empty are passed over.
pub(crate) fn listed<'a>(
    headers: &'a HeaderMap,
    name: &HeaderName,
    between: char,
) -> impl Iterator<Item = &'a str> {
    let lines = headers.get_all(name).iter().filter_map(|line| line.to_str().ok());
    lines.flat_map(move |line| line.split(between)).map(str::trim).filter(|item| !item.is_empty())
}
