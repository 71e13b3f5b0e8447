//! Makes text of others safe to show.
//!
//! In: any text. Out: text that moves no cursor, changes no colour, writes no clipboard,
//! reorders no letters and hides nothing. What is dangerous is not dropped but shown
//! (`\x1b`, `\u{202e}`), because a person who approves a command must see that something
//! was there. Safe texts stay safe when joined, so chunks may be cut anywhere.

use std::borrow::Cow;
use std::fmt::Write as _;

use super::hidden::{AS_EMOJI, is_blank, is_hidden, is_joiner, show_hidden as escape, with_hidden};

/// A run of blanks this long in a one-line context is counted instead of printed: padding
/// is how a command pushes its tail out of sight.
const LONGEST_BLANK_RUN: usize = 16;
/// More blanks than this, of whatever kind, push out of sight what follows them in a text of
/// several lines; indented scripts have fewer.
const LONGEST_BLANK_RUN_OF_LINES: usize = 32;

/// Sanitizes a stream of chunks; a `\r\n` that was cut in two is still one line break, and an
/// emoji one emoji.
#[derive(Debug, Clone, Default)]
pub struct Sanitizer {
    before: Option<char>,
    /// A character that the next one may make ordinary: a `\r`, or the selector of an emoji.
    held: Option<char>,
}

impl Sanitizer {
    /// Appends the safe form of `chunk`. What depends on the next chunk waits for it.
    pub fn push(&mut self, chunk: &str, out: &mut String) {
        if chunk.is_empty() {
            return;
        }
        let chunk = match self.held.take() {
            Some(held) => Cow::Owned(format!("{held}{chunk}")),
            None => Cow::Borrowed(chunk),
        };
        self.held = chunk.chars().next_back().filter(|last| ['\r', AS_EMOJI].contains(last));
        let body = self.held.and_then(|held| chunk.strip_suffix(held)).unwrap_or(&chunk);
        out.push_str(&sanitize_after(self.before, body));
        self.before = body.chars().next_back().or(self.before);
    }

    /// Appends what was held back; the text ended here.
    pub fn finish(&mut self, out: &mut String) {
        if let Some(held) = self.held.take() {
            out.push_str(&sanitize_after(self.before, held.encode_utf8(&mut [0; 4])));
        }
        self.before = None;
    }
}

/// The safe form of a text of several lines; line breaks and tabs stay.
pub fn sanitize(text: &str) -> Cow<'_, str> {
    sanitize_after(None, text)
}

fn sanitize_after(before: Option<char>, text: &str) -> Cow<'_, str> {
    if !text.chars().any(|c| is_hidden(c) && c != '\n' && c != '\t') {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 16);
    let mut chars = with_hidden(before, text).peekable();
    while let Some((c, hides)) = chars.next() {
        match c {
            '\n' | '\t' => safe.push(c),
            '\r' if chars.peek().is_some_and(|(next, _)| *next == '\n') => {}
            c if hides => escape(c, &mut safe),
            c => safe.push(c),
        }
    }
    Cow::Owned(safe)
}

/// The safe form of a text that somebody is asked to allow: as [`sanitize`], but every character
/// can be seen, joiners too, because a command needs none; and so many blanks and empty lines that
/// they hide what follows are counted.
pub fn sanitize_asked(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = with_hidden(None, text).peekable();
    while let Some((c, hides)) = chars.next() {
        if is_distance(c) {
            let mut blanks = String::from(c);
            while let Some((next, _)) = chars.next_if(|(next, _)| is_distance(*next)) {
                blanks.push(next);
            }
            match blanks.chars().count() {
                n if n > LONGEST_BLANK_RUN_OF_LINES => _ = write!(out, "⟨{n} blank characters⟩"),
                _ => blanks.chars().for_each(|c| show_asked(c, is_hidden(c), &mut out)),
            }
        } else {
            show_asked(c, hides, &mut out);
        }
    }
    out
}

/// Blanks and line breaks of every kind.
fn is_distance(c: char) -> bool {
    c.is_whitespace() || is_blank(c)
}

fn show_asked(c: char, hides: bool, out: &mut String) {
    match c {
        '\n' | '\t' => out.push(c),
        c if hides || is_joiner(c) => escape(c, out),
        c => out.push(c),
    }
}

/// The safe form of a text that must stay on one line and within `max_chars`: line breaks
/// and tabs are shown as escapes, long runs of blanks are counted, and a text that is too
/// long shows both of its ends and how many of its characters are left out between them.
pub fn sanitize_line(text: &str, max_chars: usize) -> String {
    let mut pieces = Vec::with_capacity(text.len());
    let mut rest = with_hidden(None, text.trim_end_matches(['\n', '\r'])).peekable();
    while let Some((first, hides)) = rest.next() {
        let mut n_chars = 1;
        while is_blank(first) && rest.next_if(|(next, _)| is_blank(*next)).is_some() {
            n_chars += 1;
        }
        if n_chars < LONGEST_BLANK_RUN {
            pieces.extend(std::iter::repeat_n(CharRun { first, n_chars: 1, hides }, n_chars));
        } else {
            pieces.push(CharRun { first, n_chars, hides });
        }
    }
    cut_middle(&pieces, max_chars)
}

/// One character of a text, or a long run of blanks.
#[derive(Clone, Copy)]
struct CharRun {
    first: char,
    n_chars: usize,
    hides: bool,
}

impl CharRun {
    fn write(self, out: &mut String) {
        // Writing to a String cannot fail, here and below.
        match self.first {
            _ if self.n_chars > 1 => _ = write!(out, " …({} blanks)… ", self.n_chars),
            c if is_blank(c) => out.push(' '),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            c if self.hides => escape(c, out),
            c => out.push(c),
        }
    }

    fn width(self) -> usize {
        if self.n_chars == 1 && !self.hides {
            return 1;
        }
        let mut shown = String::new();
        self.write(&mut shown);
        shown.chars().count()
    }
}

/// Keeps both ends of a text that takes more than `max_chars` characters. What is counted as
/// left out are characters of the text itself, however they are shown.
fn cut_middle(pieces: &[CharRun], max_chars: usize) -> String {
    let joined = |pieces: &[CharRun]| {
        let mut shown = String::with_capacity(pieces.len());
        for piece in pieces {
            piece.write(&mut shown);
        }
        shown
    };
    let width: usize = pieces.iter().map(|piece| piece.width()).sum();
    if width <= max_chars {
        return joined(pieces);
    }
    let n_chars: usize = pieces.iter().map(|piece| piece.n_chars).sum();
    let mark = |n_left_out: usize| format!(" …({n_left_out} chars left out)… ");
    // As wide as the mark can be.
    let kept = max_chars.saturating_sub(mark(n_chars).chars().count());
    // A line too narrow for the mark still says that something is missing.
    if kept < 2 {
        let line = joined(pieces);
        return line.chars().take(max_chars.saturating_sub(1)).chain(['…']).collect();
    }
    let n_tail = n_that_fit(pieces.iter().rev(), kept / 2);
    let n_head = n_that_fit(pieces.iter(), kept - kept / 2);
    let (head, rest) = pieces.split_at(n_head);
    let mut tail_from = rest.len().saturating_sub(n_tail);
    // A selector without its emoji is nothing to be seen.
    tail_from += usize::from(rest.get(tail_from).is_some_and(|piece| piece.first == AS_EMOJI));
    let (middle, tail) = rest.split_at(tail_from);
    let n_left_out = middle.iter().map(|piece| piece.n_chars).sum();
    format!("{}{}{}", joined(head), mark(n_left_out), joined(tail))
}

/// How many of `pieces`, from the first, take no more than `width` together.
fn n_that_fit<'a>(pieces: impl Iterator<Item = &'a CharRun>, width: usize) -> usize {
    let mut left = width;
    pieces
        .take_while(|piece| match left.checked_sub(piece.width()) {
            Some(rest) => {
                left = rest;
                true
            }
            None => false,
        })
        .count()
}

#[cfg(test)]
mod tests;
