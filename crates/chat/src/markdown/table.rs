//! Tables: in columns where they fit, and row by row where they do not.

use pulldown_cmark::Alignment;
use ratatui::text::{Line, Span};

use crate::theme::Theme;
use crate::wrap::{BreakAt, Margin, displayable, width, wrap};

const BETWEEN: &str = " │ ";

#[derive(Debug)]
pub(super) struct MarkdownTable {
    /// The alignments of its columns; to the left where there is none.
    pub(super) alignments: Vec<Alignment>,
    /// The first is the head.
    pub(super) rows: Vec<Vec<String>>,
}

impl MarkdownTable {
    pub(super) fn text(&mut self, text: &str) {
        if let Some(cell) = self.rows.last_mut().and_then(|row| row.last_mut()) {
            cell.push_str(&displayable(text).replace('\n', " "));
        }
    }

    pub(super) fn lines(&self, columns: usize, theme: Theme) -> Vec<Line<'static>> {
        let n_columns = self.rows.iter().map(Vec::len).max().unwrap_or_default();
        let cell = |row: &[String], n: usize| row.get(n).cloned().unwrap_or_default();
        let widest =
            |n: usize| self.rows.iter().map(|row| width(&cell(row, n))).max().unwrap_or_default();
        let widths: Vec<usize> = (0..n_columns).map(widest).collect();
        let between = width(BETWEEN) * n_columns.saturating_sub(1);
        if widths.iter().sum::<usize>() + between > columns {
            return self.row_by_row(columns, theme);
        }
        let mut lines = Vec::new();
        for (index, row) in self.rows.iter().enumerate() {
            let mut spans = Vec::new();
            for (n, columns) in widths.iter().enumerate() {
                if n > 0 {
                    spans.push(Span::styled(BETWEEN, theme.dim()));
                }
                let text = cell(row, n);
                let text = self.placed(n, &text, *columns);
                spans.push(match index {
                    0 => Span::styled(text, theme.strong()),
                    _ => Span::raw(text),
                });
            }
            lines.push(Line::from(spans));
            if index == 0 {
                let rules: Vec<String> =
                    widths.iter().map(|columns| "─".repeat(*columns)).collect();
                lines.push(Line::styled(rules.join("─┼─"), theme.dim()));
            }
        }
        lines
    }

    /// A cell's text in its column.
    fn placed(&self, n: usize, text: &str, columns: usize) -> String {
        let spare = columns.saturating_sub(width(text));
        let before = match self.alignments.get(n) {
            Some(Alignment::Right) => spare,
            Some(Alignment::Center) => spare / 2,
            Some(Alignment::Left | Alignment::None) | None => 0,
        };
        format!("{}{text}{}", " ".repeat(before), " ".repeat(spare - before))
    }

    /// `head: value`, a line each.
    fn row_by_row(&self, columns: usize, theme: Theme) -> Vec<Line<'static>> {
        let Some((head, rows)) = self.rows.split_first() else { return Vec::new() };
        let mut lines = Vec::new();
        // A table that is all head.
        let rows = if rows.is_empty() { std::slice::from_ref(head) } else { rows };
        for (index, row) in rows.iter().enumerate() {
            if index > 0 {
                lines.push(Line::default());
            }
            for (n, text) in row.iter().enumerate() {
                let name = head.get(n).map(|name| format!("{name}: ")).unwrap_or_default();
                let pieces = [Span::styled(name, theme.strong()), Span::raw(text)];
                lines.extend(wrap(&pieces, columns, &Margin::default(), BreakAt::Words));
            }
        }
        lines
    }
}
