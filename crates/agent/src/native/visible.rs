//! Text of others, made fit to be shown.
//!
//! In: what a model or a command wrote. Out: text in which nothing hides: what a terminal would
//! obey, what turns the direction of reading, and what has no width is written out.
//!
//! Always true: nothing here gives back a control character other than newline and tab.

use std::fmt::Write as _;

pub(crate) use wire::fenced;
use wire::{show_hidden as escape, with_hidden};

/// A title is one line in a list.
const TITLE_CHARS: usize = 200;
/// More blanks than this, of whatever kind, push what follows out of sight; indented scripts have
/// fewer.
const MAX_BLANKS: usize = 32;

/// What somebody is asked to allow: every character can be seen, lines stay lines.
pub(crate) fn asked(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let (mut rest, mut before) = (text, None);
    while let Some((c, is_hidden)) = with_hidden(before, rest).next() {
        before = Some(c);
        let blanks = || rest.chars().take_while(|next| is_blank(*next));
        let n_blanks = if is_blank(c) { blanks().count() } else { 0 };
        if n_blanks > MAX_BLANKS {
            let _ = write!(out, "⟨{n_blanks} blank characters⟩");
            rest = rest.get(blanks().map(char::len_utf8).sum()..).unwrap_or_default();
            continue;
        }
        match c {
            '\n' | '\t' => out.push(c),
            // Joiners are no exception here: a command needs none.
            c if is_hidden || matches!(c, '\u{200c}' | '\u{200d}') => escape(c, &mut out),
            c => out.push(c),
        }
        rest = rest.get(c.len_utf8()..).unwrap_or_default();
    }
    out
}

/// As [`asked`], in one line.
pub(crate) fn one_line(text: &str) -> String {
    asked(text.trim()).replace('\n', " ⏎ ").replace('\t', " ")
}

/// As [`one_line`]; of a long text both ends and how long all of it is.
pub(crate) fn title(text: &str) -> String {
    let line = one_line(text);
    let n = line.chars().count();
    if n <= TITLE_CHARS {
        return line;
    }
    // Of what will run, not of how it is shown.
    let n_real = text.trim().chars().count();
    let half = TITLE_CHARS / 2;
    let head: String = line.chars().take(half).collect();
    let tail: String = line.chars().skip(n - half).collect();
    format!("{head} … {tail} ({n_real} characters)")
}

/// What a command printed, as its last screen would show it: without colours and what a
/// progress bar wrote over.
pub(crate) fn printed(bytes: &[u8]) -> String {
    let text = wire::last_screen(&String::from_utf8_lossy(bytes));
    let mut out = String::with_capacity(text.len());
    for (c, is_hidden) in with_hidden(None, &text) {
        match c {
            '\n' | '\t' => out.push(c),
            c if is_hidden || c == '\u{200c}' => escape(c, &mut out),
            c => out.push(c),
        }
    }
    out
}

fn is_blank(c: char) -> bool {
    c.is_whitespace() || c == '\u{2800}'
}

#[cfg(test)]
mod tests;
