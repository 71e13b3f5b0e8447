//! A parser for JSON as CLIs print it, which is not always valid.
//!
//! In: a line, or the beginning of one. Out: its value, where `serde_json` alone would give
//! none. JavaScript cuts texts between the halves of a character and writes the half as an
//! escape that no text may hold; a whole line is not lost for that.
//!
//! What stays unreadable: numbers that no float holds, and control characters within texts.
//! No JSON writer in use prints either.

use serde_json::Value;

/// The value of a line, with U+FFFD for halves of characters.
pub(super) fn parse(line: &str) -> Result<Value, serde_json::Error> {
    serde_json::from_str(line).or_else(|error| match without_lone_surrogates(line) {
        Some(mended) => serde_json::from_str(&mended),
        None => Err(error),
    })
}

/// Like [`parse`], with null for a line that is no JSON.
pub(super) fn parse_or_null(line: &str) -> Value {
    parse(line).unwrap_or_default()
}

/// The value of a line of which only the beginning is there: its complete members, in the
/// objects and lists that were begun. Null if there are none.
pub(super) fn parse_head(head: &str) -> Value {
    let mut open = Vec::new();
    let (mut is_text, mut is_escaped) = (false, false);
    let (mut end, mut closing) = (0, Vec::new());
    for (at, c) in head.char_indices() {
        if is_text {
            match c {
                _ if is_escaped => is_escaped = false,
                '\\' => is_escaped = true,
                '"' => is_text = false,
                _ => {}
            }
            continue;
        }
        end = match c {
            '"' => {
                is_text = true;
                continue;
            }
            '{' | '[' => {
                open.push(if c == '{' { '}' } else { ']' });
                continue;
            }
            '}' | ']' => {
                open.pop();
                at + c.len_utf8()
            }
            ',' => at,
            _ => continue,
        };
        closing.clone_from(&open);
    }
    let mut whole = head.get(..end).unwrap_or_default().to_owned();
    whole.extend(closing.into_iter().rev());
    parse_or_null(&whole)
}

/// The line with escapes for U+FFFD in place of those for lone halves; `None` if it has none.
fn without_lone_surrogates(line: &str) -> Option<String> {
    let mut mended = String::with_capacity(line.len());
    let mut rest = line;
    let mut has_changed = false;
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at_checked(at)?;
        mended.push_str(before);
        let n_bytes = match utf16_unit(escape) {
            Some(0xd800..=0xdbff) => match escape.get(6..).and_then(utf16_unit) {
                Some(0xdc00..=0xdfff) => 12,
                _ => 0,
            },
            Some(0xdc00..=0xdfff) => 0,
            Some(_) => 6,
            // The backslash and what it escapes.
            None => 1 + escape.chars().nth(1).map_or(0, char::len_utf8),
        };
        if n_bytes == 0 {
            mended.push_str(r"\ufffd");
            has_changed = true;
        }
        let (kept, after) = escape.split_at_checked(n_bytes)?;
        mended.push_str(kept);
        rest = if n_bytes == 0 { after.get(6..)? } else { after };
    }
    mended.push_str(rest);
    has_changed.then_some(mended)
}

/// The UTF-16 unit of the `\u1234` at the beginning of the text.
fn utf16_unit(text: &str) -> Option<u32> {
    let digits = text.strip_prefix(r"\u")?.get(..4)?;
    // `from_str_radix` takes a sign, too.
    if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    u32::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests;
