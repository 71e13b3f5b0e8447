//! A spinner for a person who waits at a terminal.
//!
//! It appears on stderr when something takes longer than a second, and leaves no trace. Where
//! stderr is no terminal there is none.

use std::io::IsTerminal as _;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use tokio::task::JoinHandle;

use crate::terminal;

/// The delay before it is shown: what is quicker needs none.
const SHOWN_AFTER: Duration = Duration::from_secs(1);
const TURN_EVERY: Duration = Duration::from_millis(100);

/// A spinner, which turns until it is dropped.
#[derive(Debug)]
pub(crate) struct Spinner {
    /// Hidden until it is shown.
    bar: ProgressBar,
    /// Shows it later, where there is somebody to show it to.
    waiting: Option<JoinHandle<()>>,
}

impl Spinner {
    pub(crate) fn start(text: impl Into<String>) -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        if !std::io::stderr().is_terminal() || terminal::is_dumb() {
            return Self { bar, waiting: None };
        }
        if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}") {
            bar.set_style(style);
        }
        bar.set_message(text.into());
        let shown = bar.clone();
        let waiting = task::spawn(async move {
            tokio::time::sleep(SHOWN_AFTER).await;
            shown.set_draw_target(ProgressDrawTarget::stderr());
            shown.enable_steady_tick(TURN_EVERY);
        });
        Self { bar, waiting: Some(waiting) }
    }

    pub(crate) fn set_text(&self, text: impl Into<String>) {
        self.bar.set_message(text.into());
    }

    /// Prints something while the spinner makes room for it.
    pub(crate) fn aside<T>(&self, write: impl FnOnce() -> T) -> T {
        self.bar.suspend(write)
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        if let Some(waiting) = &self.waiting {
            waiting.abort();
        }
        self.bar.finish_and_clear();
    }
}
