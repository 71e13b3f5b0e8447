//! Characters that act on a terminal or on its reader without being seen, and their relatives.

use std::fmt::Write as _;
use std::ops::RangeInclusive;

/// Characters from one to another.
pub(super) type CharRange = RangeInclusive<char>;

/// Hidden characters, which move something, turn the direction of reading, or have no width; in
/// order. The page has the same table: `web/src/render/hidden.ts` is made from it.
pub(super) const HIDDEN: &[CharRange] = &[
    // C0, DEL and C1, which hold every introducer of a control sequence.
    '\u{0}'..='\u{1f}',
    '\u{7f}'..='\u{9f}',
    // Soft hyphen and grapheme joiner.
    '\u{ad}'..='\u{ad}',
    '\u{34f}'..='\u{34f}',
    // A direction mark; more of them below.
    '\u{61c}'..='\u{61c}',
    // Fillers, vowels and selectors of scripts, without a width of their own.
    '\u{115f}'..='\u{1160}',
    '\u{17b4}'..='\u{17b5}',
    '\u{180b}'..='\u{180f}',
    // Zero width; direction marks; separators of lines and paragraphs; embeddings and overrides.
    '\u{200b}'..='\u{200b}',
    '\u{200e}'..='\u{200f}',
    '\u{2028}'..='\u{202e}',
    // Invisible operators, isolates.
    '\u{2060}'..='\u{206f}',
    // Blank Braille, filler.
    '\u{2800}'..='\u{2800}',
    '\u{3164}'..='\u{3164}',
    // Variation selectors.
    '\u{fe00}'..='\u{fe0f}',
    // Zero width, filler, annotations.
    '\u{feff}'..='\u{feff}',
    '\u{ffa0}'..='\u{ffa0}',
    '\u{fff0}'..='\u{fffb}',
    // Controls of shorthand and music.
    '\u{1bca0}'..='\u{1bca3}',
    '\u{1d173}'..='\u{1d17a}',
    // Tags and the supplementary variation selectors: invisible letters that a model reads.
    '\u{e0000}'..='\u{e0fff}',
];

/// The selector that draws a symbol as an emoji. Anywhere else it is a letter that nobody sees.
pub(super) const AS_EMOJI: char = '\u{fe0f}';
/// With it and the selector a digit is a key: `1️⃣`.
const KEYCAP: char = '\u{20e3}';

/// Characters behind which the selector may stand: arrows to pictographs, and the emoji among
/// letters and marks.
pub(super) const EMOJI: &[CharRange] = &[
    '©'..='©',
    '®'..='®',
    '‼'..='‼',
    '⁉'..='⁉',
    '™'..='™',
    'ℹ'..='ℹ',
    '\u{2190}'..='\u{27ff}',
    '\u{2801}'..='\u{2bff}',
    '〰'..='〰',
    '〽'..='〽',
    '㊗'..='㊗',
    '㊙'..='㊙',
    '\u{1f000}'..='\u{1faff}',
];

/// Characters that are printed as nothing but distance in their line.
const BLANK: &[CharRange] = &[
    ' '..=' ',
    '\u{a0}'..='\u{a0}',
    '\u{1680}'..='\u{1680}',
    '\u{2000}'..='\u{200a}',
    '\u{202f}'..='\u{202f}',
    '\u{205f}'..='\u{205f}',
    '\u{2800}'..='\u{2800}',
    '\u{3000}'..='\u{3000}',
];

/// Some languages and emoji are written with these, so they are not hidden.
const JOINER: CharRange = '\u{200c}'..='\u{200d}';

fn is_in(table: &[CharRange], c: char) -> bool {
    let n_before = table.partition_point(|chars| *chars.end() < c);
    table.get(n_before).is_some_and(|chars| chars.contains(&c))
}

/// Whether `c` can do harm without being seen. Joiners cannot. The selector of emoji can, unless
/// what stands around it says otherwise: [`with_hidden`].
pub fn is_hidden(c: char) -> bool {
    // Most text is of these.
    !matches!(c, ' '..='~') && is_in(HIDDEN, c)
}

pub(super) fn is_blank(c: char) -> bool {
    is_in(BLANK, c)
}

pub(super) fn is_joiner(c: char) -> bool {
    JOINER.contains(&c)
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
    before.is_some_and(|before| match before {
        '0'..='9' | '#' | '*' => after == Some(KEYCAP),
        before => is_in(EMOJI, before),
    })
}

/// Appends a character in a form that can be seen: `\x1b`, `\u{202e}`.
pub(super) fn show_hidden(c: char, out: &mut String) {
    let _ = match u32::from(c) {
        code @ ..=0xff => write!(out, "\\x{code:02x}"),
        code => write!(out, "\\u{{{code:x}}}"),
    };
}

#[cfg(test)]
mod tests;
