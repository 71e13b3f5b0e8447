//! Texts made safe to show, and cut to the length that anybody reads.

use projection::{sanitize, sanitize_line};

/// One safe line.
pub(crate) fn line(text: &str, max_chars: usize) -> String {
    sanitize_line(text.trim(), max_chars)
}

/// Safe lines: the beginning of a text, and how much of it is left out.
pub(crate) fn lines(text: &str, max_chars: usize) -> String {
    let text = text.trim_matches(['\n', '\r']).trim_end();
    let Some((end, _)) = text.char_indices().nth(max_chars) else {
        return sanitize(text).into_owned();
    };
    let (shown, rest) = text.split_at(end);
    format!("{}\n…({} more characters)", sanitize(shown), rest.chars().count())
}
