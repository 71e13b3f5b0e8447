//! The part of the conversation that fits on the screen.
//!
//! In: the state, and a size. Out: lines. Each item is drawn once for a width and drawn again
//! when it changes, so that a long session costs what can be seen of it. The place in it is
//! kept by item and line: what comes in below moves nothing.

use std::collections::HashMap;
use std::rc::Rc;

use ratatui::text::Line;

use super::Canvas;
use super::items::item_lines;
use crate::effect::Scroll;
use crate::state::ChatState;
use crate::theme::Theme;

/// Items that are kept drawn; those far away are drawn anew.
const MAX_CACHED: usize = 4000;

/// The settings that the lines of an item depend on.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct ViewSettings {
    columns: usize,
    shows_thinking: bool,
    shows_tools: bool,
    has_others: bool,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct LinePosition {
    item: usize,
    line: usize,
}

#[derive(Debug, Default)]
pub(crate) struct ConversationView {
    pub(crate) theme: Theme,
    settings: ViewSettings,
    drawn: HashMap<usize, (u32, Rc<Vec<Line<'static>>>)>,
    /// The first line that is seen; without it the end is.
    top: Option<LinePosition>,
    rows: usize,
}

impl ConversationView {
    pub(crate) fn new(theme: Theme) -> Self {
        Self { theme, ..Self::default() }
    }

    /// Forgets what was drawn: another conversation is shown.
    pub(crate) fn reset(&mut self) {
        self.drawn.clear();
        self.top = None;
    }

    pub(crate) fn is_at_end(&self) -> bool {
        self.top.is_none()
    }

    #[cfg(test)]
    pub(crate) fn n_drawn(&self) -> usize {
        self.drawn.len()
    }

    /// The lines that are seen, at most `rows`.
    pub(crate) fn lines(
        &mut self,
        state: &ChatState,
        columns: usize,
        rows: usize,
    ) -> Vec<Line<'static>> {
        self.fit(state, columns, rows);
        let mut seen = Vec::with_capacity(rows);
        let mut place = self.first_seen(state);
        while seen.len() < rows && place.item < state.conversation.items().len() {
            let lines = self.item(state, place.item);
            seen.extend(lines.iter().skip(place.line).take(rows - seen.len()).cloned());
            place = LinePosition { item: place.item + 1, line: 0 };
        }
        seen
    }

    pub(crate) fn scroll(&mut self, state: &ChatState, by: Scroll) {
        let page = isize::try_from(self.rows.saturating_sub(2).max(1)).unwrap_or(1);
        match by {
            Scroll::Lines(n) => self.step(state, n),
            Scroll::Pages(n) => self.step(state, n.saturating_mul(page)),
            Scroll::Start => self.top = Some(LinePosition::default()),
            Scroll::End => self.top = None,
        }
        let end = self.last_top(state);
        if self.top.is_some_and(|top| top >= end) {
            self.top = None;
        }
    }

    fn step(&mut self, state: &ChatState, by: isize) {
        let mut place = self.first_seen(state);
        let n_steps = by.unsigned_abs();
        if by < 0 {
            self.back(state, &mut place, n_steps);
        } else {
            for _ in 0..n_steps {
                let n_lines = self.item(state, place.item).len();
                place = match place.line + 1 < n_lines {
                    true => LinePosition { line: place.line + 1, ..place },
                    false => LinePosition { item: place.item + 1, line: 0 },
                };
                if place.item >= state.conversation.items().len() {
                    break;
                }
            }
        }
        self.top = Some(place);
    }

    fn back(&mut self, state: &ChatState, place: &mut LinePosition, n_steps: usize) {
        let mut left = n_steps;
        while left > place.line {
            left -= place.line;
            let Some(item) = place.item.checked_sub(1) else {
                place.line = 0;
                return;
            };
            *place = LinePosition { item, line: self.item(state, item).len() };
        }
        place.line -= left;
    }

    fn first_seen(&mut self, state: &ChatState) -> LinePosition {
        self.top.unwrap_or_else(|| self.last_top(state))
    }

    /// The first line of the last page.
    fn last_top(&mut self, state: &ChatState) -> LinePosition {
        let mut place = LinePosition { item: state.conversation.items().len(), line: 0 };
        let rows = self.rows;
        self.back(state, &mut place, rows);
        place
    }

    fn item(&mut self, state: &ChatState, index: usize) -> Rc<Vec<Line<'static>>> {
        let Some(item) = state.conversation.items().get(index) else { return Rc::default() };
        if let Some((revision, lines)) = self.drawn.get(&index)
            && *revision == item.revision
        {
            return lines.clone();
        }
        let before = index.checked_sub(1).and_then(|before| state.conversation.items().get(before));
        let canvas = Canvas { columns: self.settings.columns, theme: self.theme };
        let lines = Rc::new(item_lines(item, before, state, canvas));
        if self.drawn.len() >= MAX_CACHED {
            self.drawn.clear();
        }
        self.drawn.insert(index, (item.revision, lines.clone()));
        lines
    }

    fn fit(&mut self, state: &ChatState, columns: usize, rows: usize) {
        let ChatState { shows_thinking, shows_tools, .. } = *state;
        let has_others = state.conversation.has_other_senders;
        let key = ViewSettings { columns, shows_thinking, shows_tools, has_others };
        if key != self.settings {
            self.settings = key;
            self.drawn.clear();
        }
        self.rows = rows;
        if let Some(top) = self.top {
            // The item may have fewer lines now.
            let n_lines = self.item(state, top.item).len();
            self.top = Some(LinePosition { line: top.line.min(n_lines.saturating_sub(1)), ..top });
            if top >= self.last_top(state) {
                self.top = None;
            }
        }
    }
}
