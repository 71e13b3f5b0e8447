//! Text of others, made fit to be shown.
//!
//! In: what a model or a command wrote. Out: text in which nothing hides: what a terminal would
//! obey, what turns the direction of reading, and what has no width is written out.
//!
//! Always true: nothing here gives back a control character other than newline and tab.

pub(crate) use wire::text::{fenced, sanitize_asked as asked};
use wire::text::{last_screen, sanitize};

use super::excerpt;

/// A title is one line in a list.
const TITLE_CHARS: usize = 200;

/// As [`asked`], in one line.
pub(crate) fn one_line(text: &str) -> String {
    asked(text.trim()).replace('\n', " ⏎ ").replace('\t', " ")
}

/// As [`one_line`]; of a long text both ends and how long all of it is.
pub(crate) fn title(text: &str) -> String {
    let line = one_line(text);
    if line.chars().count() <= TITLE_CHARS {
        return line;
    }
    // Of what will run, not of how it is shown.
    let n_real = text.trim().chars().count();
    let half = TITLE_CHARS / 2;
    let ends = excerpt::ends(&line, (half, half), |_| " … ".to_owned());
    format!("{ends} ({n_real} characters)")
}

/// The output of a command as its last screen would show it: without colours and what a
/// progress bar wrote over.
pub(crate) fn printed(bytes: &[u8]) -> String {
    sanitize(&last_screen(&String::from_utf8_lossy(bytes))).into_owned()
}

#[cfg(test)]
mod tests;
