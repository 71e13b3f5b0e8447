//! The input, broken into rows, and the place of the cursor.

use ratatui::text::{Line, Span};
use unicode_segmentation::UnicodeSegmentation as _;

use super::Canvas;
use crate::state::ChatState;
use crate::wrap::{displayable, width};

const MARK: &str = "› ";
const INDENT: &str = "  ";

pub(super) struct InputRows {
    all: Vec<Line<'static>>,
    cursor_row: usize,
    pub(super) column: usize,
}

impl InputRows {
    /// As many rows around the cursor as there is room for, and the cursor's row in them.
    pub(super) fn window(&self, max_rows: usize) -> (&[Line<'static>], usize) {
        let n_rows = self.all.len().min(max_rows);
        let last_start = self.all.len() - n_rows;
        let start = (self.cursor_row + 1).saturating_sub(n_rows).min(last_start);
        let rows = self.all.get(start..start + n_rows).unwrap_or_default();
        (rows, self.cursor_row.saturating_sub(start))
    }
}

pub(super) fn rows(state: &ChatState, canvas: Canvas) -> InputRows {
    let (text, cursor) = (state.editor.text(), state.editor.cursor());
    let room = canvas.columns.saturating_sub(width(MARK)).max(1);
    let style = if state.is_answering { canvas.dim() } else { canvas.user() };
    let begin = |is_first: bool| {
        let mark = if is_first { MARK } else { INDENT };
        Line::from(vec![Span::styled(mark, style), Span::raw(String::new())])
    };
    let mut rows = vec![begin(true)];
    let (mut used, mut cursor_row, mut column) = (0, 0, width(MARK));
    if text.is_empty() {
        let hint = hint(state);
        rows = vec![Line::from(vec![Span::styled(MARK, style), Span::styled(hint, canvas.dim())])];
    }
    for (at, cluster) in text.grapheme_indices(true) {
        if at == cursor {
            (cursor_row, column) = (rows.len() - 1, width(MARK) + used);
        }
        if cluster == "\n" {
            rows.push(begin(false));
            used = 0;
            continue;
        }
        let cluster = displayable(cluster);
        let wide = width(&cluster);
        if used > 0 && used + wide > room {
            rows.push(begin(false));
            // The cursor goes with the letter that it stands before.
            if at == cursor {
                (cursor_row, column) = (rows.len() - 1, width(MARK));
            }
            used = 0;
        }
        if let Some(span) = rows.last_mut().and_then(|row| row.spans.last_mut()) {
            span.content.to_mut().push_str(&cluster);
        }
        used += wide;
    }
    if cursor == text.len() {
        (cursor_row, column) = (rows.len() - 1, width(MARK) + used);
    }
    InputRows { all: rows, cursor_row, column }
}

fn hint(state: &ChatState) -> &'static str {
    if state.form.is_some() {
        return "";
    }
    match (state.is_answering, state.session.is_some(), state.is_running()) {
        (true, _, _) => "Tab to type",
        (_, false, _) => "",
        (_, true, true) => "type the next prompt; it waits for its turn",
        (_, true, false) => "type a prompt, / for commands, @ for files",
    }
}
