//! Characters that act on a terminal or on its reader without being seen.

use std::fmt::Write as _;

/// The selector that draws a symbol as an emoji. Anywhere else it is a letter that nobody sees.
const AS_EMOJI: char = '\u{fe0f}';
/// With it and the selector a digit is a key: `1️⃣`.
const KEYCAP: char = '\u{20e3}';

/// Whether `c` moves something, turns the direction of reading, or has no width. Joiners that
/// emoji and some languages are written with are none of them: U+200C, U+200D. The selector of
/// emoji is one unless what stands around it says otherwise: [`with_hidden`].
pub fn is_hidden(c: char) -> bool {
    matches!(c,
        // C0, DEL and C1, which hold every introducer of a control sequence.
        '\u{0}'..='\u{1f}' | '\u{7f}'..='\u{9f}'
        // Soft hyphen, fillers, joiners and vowels without a width of their own.
        | '\u{ad}' | '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{2800}' | '\u{3164}' | '\u{ffa0}'
        // Zero width, invisible operators, annotations.
        | '\u{200b}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff0}'..='\u{fffb}'
        // Direction marks, embeddings and overrides (isolates are in the range above).
        | '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}'
        // Line and paragraph separators.
        | '\u{2028}' | '\u{2029}'
        // Variation selectors, shorthand and musical controls.
        | '\u{fe00}'..='\u{fe0f}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
        // Tags and the supplementary variation selectors: invisible letters that a model reads.
        | '\u{e0000}'..='\u{e0fff}')
}

/// The characters of a text, each with whether it is hidden where it stands. `before` is what
/// stands before the text.
pub fn with_hidden(
    mut before: Option<char>,
    text: &str,
) -> impl Iterator<Item = (char, bool)> + '_ {
    let mut chars = text.chars().peekable();
    std::iter::from_fn(move || {
        let c = chars.next()?;
        let is_seen = c == AS_EMOJI && draws_emoji(before, chars.peek().copied());
        before = Some(c);
        Some((c, is_hidden(c) && !is_seen))
    })
}

/// Whether the selector of emoji is ordinary between these two.
fn draws_emoji(before: Option<char>, after: Option<char>) -> bool {
    let Some(before) = before else { return false };
    match before {
        '0'..='9' | '#' | '*' => after == Some(KEYCAP),
        // Arrows to pictographs, and the emoji among letters and marks.
        '\u{2190}'..='\u{2bff}' | '\u{1f000}'..='\u{1faff}' => !is_hidden(before),
        '©' | '®' | '‼' | '⁉' | '™' | 'ℹ' | '〰' | '〽' | '㊗' | '㊙' => true,
        _ => false,
    }
}

/// Appends a character in a form that can be seen: `\x1b`, `\u{202e}`.
pub fn show_hidden(c: char, out: &mut String) {
    let _ = match u32::from(c) {
        code @ ..=0xff => write!(out, "\\x{code:02x}"),
        code => write!(out, "\\u{{{code:x}}}"),
    };
}

#[cfg(test)]
mod tests;
