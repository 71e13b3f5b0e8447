//! Styled text, broken into lines that fit.
//!
//! In: pieces of text and a width. Out: lines, none of them wider. Whatever the text is, what
//! comes out has been made safe: it holds no control character, and every width is that of
//! what is seen.

use std::borrow::Cow;

use projection::sanitize;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use unicode_segmentation::UnicodeSegmentation as _;
use unicode_width::UnicodeWidthStr as _;

/// The spans before the first line, and before those that follow.
#[derive(Debug, Clone, Default)]
pub(crate) struct Margin {
    pub(crate) first: Vec<Span<'static>>,
    pub(crate) rest: Vec<Span<'static>>,
}

impl Margin {
    pub(crate) fn new(first: &str, rest: &str, style: Style) -> Self {
        let spans = |text: &str| vec![Span::styled(text.to_owned(), style)];
        Self { first: spans(first), rest: spans(rest) }
    }
}

/// Text as it may be shown; tabs become blanks.
pub(crate) fn displayable(text: &str) -> Cow<'_, str> {
    const TAB: &str = "    ";
    match sanitize(text) {
        safe if safe.contains('\t') => Cow::Owned(safe.replace('\t', TAB)),
        safe => safe,
    }
}

/// Columns that a text takes.
pub(crate) fn width(text: &str) -> usize {
    text.graphemes(true).map(unicode_width::UnicodeWidthStr::width).sum()
}

/// Where a line is broken.
#[derive(Debug, Clone, Copy)]
pub(crate) enum BreakAt {
    /// Between words, and inside of those that are too long.
    Words,
    /// Wherever the line is full; every blank is kept.
    Cells,
}

pub(crate) fn wrap(
    pieces: &[Span<'_>],
    columns: usize,
    margin: &Margin,
    at: BreakAt,
) -> Vec<Line<'static>> {
    let mut page = LineBreaker::new(columns, margin);
    for piece in pieces {
        for cluster in displayable(&piece.content).graphemes(true) {
            match (cluster, at) {
                ("\n" | "\r\n", _) => {
                    page.end_word();
                    page.end_line();
                }
                (" ", BreakAt::Words) => {
                    page.end_word();
                    page.blanks.push(piece.style);
                }
                (cluster, BreakAt::Words) => page.spell(cluster, piece.style),
                (cluster, BreakAt::Cells) => page.put_or_break(cluster, piece.style),
            }
        }
    }
    page.finish()
}

/// The beginning of a text, with a mark where it was cut.
pub(crate) fn cut(text: &str, columns: usize) -> String {
    let text = displayable(text);
    if width(&text) <= columns {
        return text.into_owned();
    }
    let mut out = String::new();
    let mut used = 1;
    for cluster in text.graphemes(true) {
        used += cluster.width();
        if used > columns {
            break;
        }
        out.push_str(cluster);
    }
    if columns > 0 {
        out.push('…');
    }
    out
}

struct LineBreaker<'a> {
    columns: usize,
    margin: &'a Margin,
    lines: Vec<Line<'static>>,
    line: Vec<Span<'static>>,
    /// Columns in use, without the margin.
    used: usize,
    room: usize,
    /// Blanks between the last word and the next, with their styles.
    blanks: Vec<Style>,
    word: Vec<Span<'static>>,
    word_width: usize,
    is_wide: bool,
}

impl<'a> LineBreaker<'a> {
    fn new(columns: usize, margin: &'a Margin) -> Self {
        let mut page = Self {
            columns,
            margin,
            lines: Vec::new(),
            line: Vec::new(),
            used: 0,
            room: 1,
            blanks: Vec::new(),
            word: Vec::new(),
            word_width: 0,
            is_wide: false,
        };
        page.begin(&margin.first);
        page
    }

    fn begin(&mut self, margin: &[Span<'static>]) {
        let taken: usize = margin.iter().map(|span| width(&span.content)).sum();
        // A screen too narrow for the margin shows the text.
        let fits = taken + 1 < self.columns;
        self.line = if fits { margin.to_vec() } else { Vec::new() };
        self.room = if fits { self.columns - taken } else { self.columns.max(1) };
        self.used = 0;
    }

    fn end_line(&mut self) {
        self.blanks.clear();
        let line = std::mem::take(&mut self.line);
        self.lines.push(Line::from(line));
        let margin = self.margin;
        self.begin(&margin.rest);
    }

    fn put(&mut self, cluster: &str, style: Style) {
        self.used += cluster.width();
        append(&mut self.line, cluster, style);
    }

    fn put_or_break(&mut self, cluster: &str, style: Style) {
        // Some letters with marks of their own width are wider than a narrow screen.
        if cluster.width() > self.room && cluster.chars().nth(1).is_some() {
            for c in cluster.chars() {
                self.put_or_break(c.encode_utf8(&mut [0; 4]), style);
            }
            return;
        }
        if self.used > 0 && self.used + cluster.width() > self.room {
            self.end_line();
        }
        self.put(cluster, style);
    }

    fn spell(&mut self, cluster: &str, style: Style) {
        let columns = cluster.width();
        self.word_width += columns;
        self.is_wide |= columns > 1;
        append(&mut self.word, cluster, style);
    }

    fn end_word(&mut self) {
        let word = std::mem::take(&mut self.word);
        let columns = std::mem::take(&mut self.word_width);
        let is_wide = std::mem::take(&mut self.is_wide);
        if word.is_empty() {
            return;
        }
        let fits = |page: &Self| page.used + page.blanks.len() + columns <= page.room;
        // Scripts with wide letters break anywhere, and so does what no line can hold.
        let breaks = is_wide || columns > self.room;
        if !fits(self) && !breaks && self.used > 0 {
            self.end_line();
        }
        let blanks = std::mem::take(&mut self.blanks);
        if self.used + blanks.len() < self.room {
            for style in blanks {
                self.put(" ", style);
            }
        }
        for piece in word {
            for cluster in piece.content.graphemes(true) {
                self.put_or_break(cluster, piece.style);
            }
        }
    }

    fn finish(mut self) -> Vec<Line<'static>> {
        self.end_word();
        self.lines.push(Line::from(self.line));
        self.lines
    }
}

/// Appends a letter to the last span, if that has its style.
fn append(spans: &mut Vec<Span<'static>>, cluster: &str, style: Style) {
    match spans.last_mut() {
        Some(last) if last.style == style => last.content.to_mut().push_str(cluster),
        _ => spans.push(Span::styled(cluster.to_owned(), style)),
    }
}

#[cfg(test)]
mod tests;
