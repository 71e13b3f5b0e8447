//! The end of a command's output at a terminal that Switchyard serves, as text.
//!
//! In: pieces as they were printed, cut anywhere. Out: safe lines. Whatever is printed, what is
//! kept is bounded.

use wire::text::{LineScreen, Tabs, sanitize};

/// Output that is kept: the end of it is what tells how it went.
const MAX_BYTES: usize = 32 << 10;
/// The longest line that can still be overwritten.
const MAX_COLUMNS: usize = 2000;

/// The end of a terminal's output.
#[derive(Debug)]
pub(crate) struct OutputTail {
    /// Lines that can no longer change; safe.
    kept: String,
    screen: LineScreen,
    /// Whether something before that is gone.
    pub(crate) is_cut: bool,
}

impl Default for OutputTail {
    fn default() -> Self {
        let screen = LineScreen::new(MAX_COLUMNS, Tabs::Blanks);
        Self { kept: String::new(), screen, is_cut: false }
    }
}

impl OutputTail {
    pub(crate) fn push(&mut self, text: &str) {
        let mut more = String::new();
        self.screen.push(text, &mut more);
        self.kept.push_str(&sanitize(&more));
        let n_over = self.kept.len().saturating_sub(MAX_BYTES);
        if n_over > 0 {
            // Whole lines go, as long as they are lines.
            let from = self.kept.ceil_char_boundary(n_over);
            let rest = self.kept.get(from..).unwrap_or_default();
            self.kept.drain(..rest.find('\n').map_or(from, |end| from + end + 1));
            self.is_cut = true;
        }
    }

    /// All that is kept.
    pub(crate) fn text(&self) -> String {
        let mut text = self.kept.clone();
        text.push_str(&sanitize(&self.screen.line().collect::<String>()));
        text.truncate(text.trim_end().len());
        text
    }

    /// At least what it takes to keep it.
    pub(crate) fn weight(&self) -> usize {
        self.kept.len() + self.screen.weight()
    }
}

#[cfg(test)]
mod tests;
