//! The state as a screen. Nothing here changes anything.

mod bottom;
mod input;
mod items;
mod overlays;
mod question;
mod view;

use std::borrow::Cow;
use std::ops::Deref;

use ratatui::Frame;
use ratatui::layout::Position;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::state::{ChatState, Overlay, QuestionFocus};
use crate::theme::Theme;
use crate::wrap::{BreakAt, Margin, cut, wrap};
pub(crate) use view::ConversationView;

/// The conversation has at least so many rows, if the screen has them.
const LEAST_ROWS: usize = 3;

/// The surface to draw on: a number of columns, and the styles.
#[derive(Clone, Copy)]
struct Canvas {
    columns: usize,
    theme: Theme,
}

impl Canvas {
    /// One line, cut where the screen ends.
    fn line(self, text: &str, style: Style) -> Line<'static> {
        Line::styled(cut(text, self.columns), style)
    }

    /// A text in one style, broken between words.
    fn words<'a>(
        self,
        text: impl Into<Cow<'a, str>>,
        style: Style,
        margin: &Margin,
    ) -> Vec<Line<'static>> {
        wrap(&[Span::styled(text, style)], self.columns, margin, BreakAt::Words)
    }

    /// A text in one style, broken wherever a line is full.
    fn cells(self, text: &str, style: Style, margin: &Margin) -> Vec<Line<'static>> {
        wrap(&[Span::styled(text, style)], self.columns, margin, BreakAt::Cells)
    }
}

impl Deref for Canvas {
    type Target = Theme;

    fn deref(&self) -> &Theme {
        &self.theme
    }
}

/// Draws the state. Returns the open question, if all that a key could answer can be read.
pub(crate) fn draw(
    state: &ChatState,
    view: &mut ConversationView,
    frame: &mut Frame<'_>,
) -> Option<QuestionFocus> {
    let area = frame.area();
    let (columns, rows) = (usize::from(area.width), usize::from(area.height));
    if columns == 0 || rows == 0 {
        return None;
    }
    let canvas = Canvas { columns, theme: view.theme };
    // The input needs a row, unless a question has the keys.
    let least_input = usize::from(!state.is_answering);
    let asked = state
        .question()
        .map(|question| question::QuestionPanel::new(question, state, rows - least_input, canvas));
    let readable = asked.as_ref().filter(|asked| asked.is_readable());
    let readable = readable.and_then(|_| state.asking());

    // A question comes before everything; then what is typed, what happens, and the rest.
    let least = asked.as_ref().map_or(0, question::QuestionPanel::least_rows);
    let mut spare = rows.saturating_sub(least);
    let input = input::rows(state, canvas);
    let max_input = (rows / 3).clamp(1, 12).min(spare).max(least_input);
    let (shown, cursor_row) = input.window(max_input);
    spare = spare.saturating_sub(shown.len());
    let mut takes_row = || {
        let has_room = spare > 0;
        spare = spare.saturating_sub(1);
        has_room
    };
    let [has_activity, has_status, has_rule] = [takes_row(), takes_row(), takes_row()];
    let max_panel = least.min(rows) + spare.saturating_sub(LEAST_ROWS);
    let mut bottom = bottom::panel(state, asked, max_panel, canvas);
    if has_activity {
        bottom.push(bottom::activity(state, view.is_at_end(), canvas));
    }
    if has_rule {
        bottom.push(Line::styled("─".repeat(columns), canvas.dim()));
    }
    let input_at = bottom.len();
    bottom.extend(shown.iter().cloned());
    if has_status {
        bottom.push(bottom::status(state, canvas));
    }

    // The last rows matter most.
    let hidden = bottom.len().saturating_sub(rows);
    let n_bottom = bottom.len() - hidden;
    let above = match &state.overlay {
        Some(Overlay::Picker(picker)) => overlays::picker(picker, rows - n_bottom, canvas),
        Some(Overlay::Help) => overlays::help(rows - n_bottom, canvas),
        None if state.conversation.items().is_empty() => {
            overlays::welcome(state, rows - n_bottom, canvas)
        }
        None => view.lines(state, columns, rows - n_bottom),
    };
    let buffer = frame.buffer_mut();
    for (y, line) in (area.y..area.bottom()).zip(&above) {
        buffer.set_line(area.x, y, line, area.width);
    }
    let first = area.bottom().saturating_sub(u16::try_from(n_bottom).unwrap_or(u16::MAX));
    for (y, line) in (first..area.bottom()).zip(bottom.iter().skip(hidden)) {
        buffer.set_line(area.x, y, line, area.width);
    }
    let row = (input_at + cursor_row).checked_sub(hidden);
    if let Some(row) = row.and_then(|row| u16::try_from(row).ok())
        && state.overlay.is_none()
        && !state.is_answering
    {
        let column = u16::try_from(input.column).unwrap_or(u16::MAX);
        let position = Position::new(
            area.x.saturating_add(column).min(area.right().saturating_sub(1)),
            first.saturating_add(row),
        );
        if area.contains(position) {
            frame.set_cursor_position(position);
        }
    }
    readable.filter(|_| hidden == 0)
}

#[cfg(test)]
mod failure_tests;
#[cfg(test)]
mod question_tests;
#[cfg(test)]
mod small_tests;
#[cfg(test)]
pub(crate) mod tests;
