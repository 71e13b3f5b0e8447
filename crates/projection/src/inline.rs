//! Untrusted text as a part of a line.

/// Longest text that is shown inside of a line.
const LONGEST_INLINE: usize = 200;

/// `text` as one line without control characters, and not too long for
/// one: inline markdown stays that.
pub(crate) fn inline(text: &str) -> String {
    let text = text.replace(char::is_control, " ");
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match text.char_indices().nth(LONGEST_INLINE) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
