//! The state as a screen. Nothing here changes anything.

mod bottom;
mod input;
mod items;
mod overlays;
mod question;

use ratatui::Frame;
use ratatui::layout::Position;
use ratatui::text::Line;

pub(crate) use items::item_lines;

use crate::state::{Overlay, State};
use crate::view::View;

/// The conversation has at least so many rows, if the screen has them.
const LEAST_ROWS: usize = 3;

pub(crate) fn draw(state: &State, view: &mut View, frame: &mut Frame<'_>) {
    let area = frame.area();
    let (columns, rows) = (usize::from(area.width), usize::from(area.height));
    if columns == 0 || rows == 0 {
        return;
    }
    let theme = view.theme;
    let input = input::rows(state, columns, theme);
    let max_input = (rows / 3).clamp(1, 12);
    let (shown, cursor_row) = input.window(max_input);
    let mut bottom = Vec::new();
    let max_panel = rows.saturating_sub(LEAST_ROWS + shown.len() + 3);
    bottom.extend(bottom::panel(state, columns, max_panel, theme));
    bottom.push(bottom::activity(state, view.is_at_end(), columns, theme));
    bottom.push(Line::styled("─".repeat(columns), theme.dim()));
    let input_at = bottom.len();
    bottom.extend(shown.iter().cloned());
    bottom.push(bottom::status(state, columns, theme));

    // The last rows matter most.
    let hidden = bottom.len().saturating_sub(rows);
    let n_bottom = bottom.len() - hidden;
    let above = match &state.overlay {
        Some(Overlay::Picker(picker)) => overlays::picker(picker, columns, rows - n_bottom, theme),
        Some(Overlay::Help) => overlays::help(columns, rows - n_bottom, theme),
        None if state.talk.items().is_empty() => {
            overlays::welcome(state, columns, rows - n_bottom, theme)
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
}

#[cfg(test)]
mod tests;
