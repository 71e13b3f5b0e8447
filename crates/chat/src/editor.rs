//! The line, or lines, that are being typed.
//!
//! In: letters and movements. Out: a text and the place of the cursor, always between two
//! whole letters. Control characters never get in, whoever pastes them.

use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation as _;

/// More than anybody types or pastes in earnest.
const MAX_BYTES: usize = 1 << 20;

#[derive(Debug, Default, Clone)]
pub(crate) struct Editor {
    text: String,
    /// A boundary of letters in the text.
    cursor: usize,
    /// The text that was cut last.
    cut: String,
}

impl Editor {
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn cursor(&self) -> usize {
        self.cursor
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    pub(crate) fn before(&self) -> &str {
        self.text.get(..self.cursor).unwrap_or_default()
    }

    fn after(&self) -> &str {
        self.text.get(self.cursor..).unwrap_or_default()
    }

    pub(crate) fn take(&mut self) -> String {
        self.cursor = 0;
        std::mem::take(&mut self.text)
    }

    pub(crate) fn set(&mut self, text: &str) {
        self.text.clear();
        self.cursor = 0;
        self.insert(text);
    }

    /// Inserts text at the cursor; false if there is no room for it.
    pub(crate) fn insert(&mut self, text: &str) -> bool {
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        let fits = |c: &char| *c == '\n' || *c == '\t' || !c.is_control();
        let text: String = text.chars().filter(fits).collect();
        if self.text.len() + text.len() > MAX_BYTES {
            return false;
        }
        let (cursor, n_bytes) = (self.cursor, text.len());
        self.text.insert_str(cursor, &text);
        // The inserted text may have become one letter with those around it.
        self.cursor = self.boundary_at_or_after(cursor + n_bytes);
        true
    }

    /// Puts `text` in place of a range, and the cursor behind it.
    pub(crate) fn replace(&mut self, range: Range<usize>, text: &str) {
        if self.text.get(range.clone()).is_some() {
            self.remove(range);
            self.insert(text);
        }
    }

    pub(crate) fn left(&mut self) {
        self.cursor = self.before_cluster();
    }

    pub(crate) fn right(&mut self) {
        self.cursor = self.after_cluster();
    }

    pub(crate) fn word_left(&mut self) {
        let before = self.before().trim_end();
        let words = before.rfind(char::is_whitespace);
        let at = words.map_or(0, |at| before.ceil_char_boundary(at + 1));
        self.cursor = self.boundary_at_or_after(at);
    }

    pub(crate) fn word_right(&mut self) {
        let after = self.after();
        let blanks = after.len() - after.trim_start().len();
        let word = after.trim_start().find(char::is_whitespace);
        let at = word.map_or(self.text.len(), |at| self.cursor + blanks + at);
        self.cursor = self.boundary_at_or_after(at);
    }

    pub(crate) fn line_start(&mut self) {
        self.cursor = self.start_of_line();
    }

    pub(crate) fn line_end(&mut self) {
        self.cursor = self.end_of_line();
    }

    /// False in the first line.
    pub(crate) fn up(&mut self) -> bool {
        let start = self.start_of_line();
        let Some(above_end) = start.checked_sub(1) else { return false };
        let n_clusters = self.clusters(start, self.cursor);
        let above = self.text.get(..above_end).unwrap_or_default();
        let above_start = above.rfind('\n').map_or(0, |at| at + 1);
        self.cursor = self.nth(above_start, above_end, n_clusters);
        true
    }

    /// False in the last line.
    pub(crate) fn down(&mut self) -> bool {
        let end = self.end_of_line();
        if end == self.text.len() {
            return false;
        }
        let n_clusters = self.clusters(self.start_of_line(), self.cursor);
        let below = end + 1;
        let rest = self.text.get(below..).unwrap_or_default();
        let below_end = rest.find('\n').map_or(self.text.len(), |at| below + at);
        self.cursor = self.nth(below, below_end, n_clusters);
        true
    }

    pub(crate) fn backspace(&mut self) {
        self.remove(self.before_cluster()..self.cursor);
    }

    pub(crate) fn delete(&mut self) {
        self.remove(self.cursor..self.after_cluster());
    }

    pub(crate) fn cut_word(&mut self) {
        let end = self.cursor;
        self.word_left();
        self.cut_range(self.cursor..end);
    }

    pub(crate) fn cut_to_start(&mut self) {
        self.cut_range(self.start_of_line()..self.cursor);
    }

    pub(crate) fn cut_to_end(&mut self) {
        self.cut_range(self.cursor..self.end_of_line());
    }

    pub(crate) fn paste_cut(&mut self) {
        let cut = self.cut.clone();
        self.insert(&cut);
    }

    fn cut_range(&mut self, range: Range<usize>) {
        if let Some(cut) = self.text.get(range.clone()).filter(|cut| !cut.is_empty()) {
            self.cut = cut.to_owned();
            self.remove(range);
        }
    }

    /// Removes a range, and puts the cursor where it was.
    fn remove(&mut self, range: Range<usize>) {
        self.text.replace_range(range.clone(), "");
        // The letters around it may have become one.
        self.cursor = self.boundary_at_or_after(range.start);
    }

    fn start_of_line(&self) -> usize {
        self.before().rfind('\n').map_or(0, |at| at + 1)
    }

    fn end_of_line(&self) -> usize {
        self.after().find('\n').map_or(self.text.len(), |at| self.cursor + at)
    }

    fn before_cluster(&self) -> usize {
        self.cursor - self.before().graphemes(true).next_back().map_or(0, str::len)
    }

    fn after_cluster(&self) -> usize {
        self.cursor + self.after().graphemes(true).next().map_or(0, str::len)
    }

    fn clusters(&self, start: usize, end: usize) -> usize {
        self.text.get(start..end).unwrap_or_default().graphemes(true).count()
    }

    /// The place of the `n`th letter of a line, or its end.
    fn nth(&self, start: usize, end: usize, n: usize) -> usize {
        let line = self.text.get(start..end).unwrap_or_default();
        line.grapheme_indices(true).nth(n).map_or(end, |(at, _)| start + at)
    }

    fn boundary_at_or_after(&self, at: usize) -> usize {
        let ends = self.text.grapheme_indices(true).map(|(start, cluster)| start + cluster.len());
        let mut boundaries = std::iter::once(0).chain(ends);
        boundaries.find(|end| *end >= at).unwrap_or(self.text.len())
    }
}

#[cfg(test)]
mod tests;
