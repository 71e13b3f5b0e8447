//! Excerpts of texts that are too long, counted in characters.

/// The beginning, with a mark where something is missing.
pub(super) fn head(text: &str, max_chars: usize) -> String {
    match text.char_indices().nth(max_chars) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// The end.
pub(super) fn tail(text: &str, max_chars: usize) -> &str {
    let n_before = text.chars().count().saturating_sub(max_chars);
    text.char_indices().nth(n_before).and_then(|(at, _)| text.get(at..)).unwrap_or_default()
}

/// Both ends, and between them the text that `missing` gives for the number of characters left out.
pub(super) fn ends(
    text: &str,
    (n_head, n_tail): (usize, usize),
    missing: impl Fn(usize) -> String,
) -> String {
    let n_missing = text.chars().count().saturating_sub(n_head.saturating_add(n_tail));
    if n_missing == 0 {
        return text.to_owned();
    }
    let head: String = text.chars().take(n_head).collect();
    format!("{head}{}{}", missing(n_missing), tail(text, n_tail))
}

#[cfg(test)]
mod tests;
