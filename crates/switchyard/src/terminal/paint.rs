//! Colours on a terminal that wants them, plain words anywhere else.

use anstyle::{AnsiColor, Style};

use crate::terminal;

/// Colours, or none.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Paint {
    is_on: bool,
}

impl Paint {
    pub(crate) fn on_stdout() -> Self {
        Self { is_on: terminal::color_on_stdout() }
    }

    pub(crate) fn when(is_on: bool) -> Self {
        Self { is_on }
    }

    #[cfg(test)]
    pub(crate) fn none() -> Self {
        Self { is_on: false }
    }

    fn with(self, style: Style, text: &str) -> String {
        match self.is_on {
            true => format!("{style}{text}{style:#}"),
            false => text.to_owned(),
        }
    }

    pub(crate) fn good(self, text: &str) -> String {
        self.with(AnsiColor::Green.on_default(), text)
    }

    pub(crate) fn bad(self, text: &str) -> String {
        self.with(AnsiColor::Red.on_default(), text)
    }

    pub(crate) fn doubtful(self, text: &str) -> String {
        self.with(AnsiColor::Yellow.on_default(), text)
    }

    pub(crate) fn strong(self, text: &str) -> String {
        self.with(Style::new().bold(), text)
    }
}
