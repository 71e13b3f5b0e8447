//! The surface to draw on: a number of columns, and the styles.

use std::ops::Deref;

use ratatui::style::Style;
use ratatui::text::Line;

use crate::theme::Theme;
use crate::wrap::{self, Margin, StyledText, cut};

#[derive(Clone, Copy)]
pub(crate) struct Canvas {
    pub(crate) columns: usize,
    pub(crate) theme: Theme,
}

impl Canvas {
    /// One line, cut where the screen ends.
    pub(super) fn line(self, text: &str, style: Style) -> Line<'static> {
        Line::styled(cut(text, self.columns), style)
    }

    /// As [`wrap::wrap_words`], in one style.
    pub(super) fn words(
        self,
        text: impl Into<String>,
        style: Style,
        margin: &Margin,
    ) -> Vec<Line<'static>> {
        wrap::wrap_words(&[StyledText::new(text, style)], self.columns, margin)
    }

    /// As [`wrap::wrap_cells`], in one style.
    pub(super) fn cells(
        self,
        text: impl Into<String>,
        style: Style,
        margin: &Margin,
    ) -> Vec<Line<'static>> {
        wrap::wrap_cells(&[StyledText::new(text, style)], self.columns, margin)
    }
}

impl Deref for Canvas {
    type Target = Theme;

    fn deref(&self) -> &Theme {
        &self.theme
    }
}
