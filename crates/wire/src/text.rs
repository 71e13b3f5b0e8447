//! Text of others, for a terminal, a page or a model.
//!
//! In: what an agent, a model or a command wrote. Out: text that can be shown as it is. Which
//! characters hide, which are blanks and which join is said in one table [`hidden`], from which
//! the page's own is made; what is done about them stands in [`safe`]; what a terminal would make
//! of escape sequences and of lines that are written over, in [`screen`].

mod escapes;
mod hidden;
mod safe;
mod screen;

pub use hidden::{is_hidden, with_hidden};
pub use safe::{Sanitizer, sanitize, sanitize_asked, sanitize_line};
pub use screen::{LineScreen, Tabs, last_screen};

/// A block of Markdown that shows `text` and obeys none of it.
pub fn fenced(language: &str, text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest.max(2) + 1);
    let end = if text.ends_with('\n') { "" } else { "\n" };
    format!("{fence}{language}\n{text}{end}{fence}")
}

#[cfg(test)]
mod tests;
