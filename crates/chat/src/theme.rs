//! The few styles that everything is drawn in. Without colours, weight alone tells.

use ratatui::style::{Color, Modifier, Style};

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Theme {
    has_color: bool,
}

impl Theme {
    pub(crate) fn new(has_color: bool) -> Self {
        Self { has_color }
    }

    fn with(self, color: Color) -> Style {
        if self.has_color { Style::new().fg(color) } else { Style::new() }
    }

    pub(crate) fn dim(self) -> Style {
        self.with(Color::DarkGray).add_modifier(Modifier::DIM)
    }

    #[expect(clippy::unused_self, reason = "asked for like the others")]
    pub(crate) fn strong(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    pub(crate) fn heading(self) -> Style {
        self.with(Color::Cyan).add_modifier(Modifier::BOLD)
    }

    pub(crate) fn code(self) -> Style {
        self.with(Color::Yellow)
    }

    pub(crate) fn link(self) -> Style {
        self.with(Color::Blue).add_modifier(Modifier::UNDERLINED)
    }

    pub(crate) fn user(self) -> Style {
        self.with(Color::Cyan).add_modifier(Modifier::BOLD)
    }

    pub(crate) fn good(self) -> Style {
        self.with(Color::Green)
    }

    pub(crate) fn bad(self) -> Style {
        self.with(Color::Red)
    }

    pub(crate) fn doubtful(self) -> Style {
        self.with(Color::Yellow)
    }

    pub(crate) fn hunk(self) -> Style {
        self.with(Color::Magenta)
    }

    #[expect(clippy::unused_self, reason = "asked for like the others")]
    pub(crate) fn selected(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }
}
