//! The terminal, taken and given back.
//!
//! Whatever ends the chat gives it back as it was: leaving, an error, a panic, a signal. Only
//! one screen is taken at a time.

use std::io::{self, Write as _};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

use ratatui::Terminal;
use ratatui::backend::{Backend as _, CrosstermBackend};
use ratatui::crossterm::event::{
    DisableBracketedPaste, EnableBracketedPaste, KeyboardEnhancementFlags,
    PopKeyboardEnhancementFlags, PushKeyboardEnhancementFlags,
};
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui::crossterm::{cursor, execute};

/// Whether the terminal is taken, and has to be given back.
static IS_TAKEN: AtomicBool = AtomicBool::new(false);

#[derive(Debug)]
pub(crate) struct Screen {
    terminal: Terminal<CrosstermBackend<io::Stdout>>,
}

impl Screen {
    pub(crate) fn take() -> io::Result<Self> {
        restore_terminal_on_panic();
        enter()?;
        match new_terminal() {
            Ok(terminal) => Ok(Self { terminal }),
            Err(error) => {
                restore_terminal();
                Err(error)
            }
        }
    }

    pub(crate) fn draw(&mut self, draw: impl FnOnce(&mut ratatui::Frame<'_>)) -> io::Result<()> {
        self.terminal.draw(draw)?;
        Ok(())
    }

    /// Draws everything anew at the next chance. The terminal's own way first asks where the cursor
    /// is, and a terminal that is slow to say so would end the chat.
    pub(crate) fn clear(&mut self) -> io::Result<()> {
        self.terminal.backend_mut().clear()?;
        self.terminal = new_terminal()?;
        Ok(())
    }

    /// Stops this process until somebody continues it, as Ctrl-Z does.
    pub(crate) fn suspend(&mut self) -> io::Result<()> {
        restore_terminal();
        // With all that the shell started for this command, as the terminal would do.
        rustix::process::kill_current_process_group(rustix::process::Signal::TSTP)?;
        enter()?;
        self.clear()
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        restore_terminal();
    }
}

/// A terminal without a record of what is on the screen.
fn new_terminal() -> io::Result<Terminal<CrosstermBackend<io::Stdout>>> {
    Terminal::new(CrosstermBackend::new(io::stdout()))
}

fn enter() -> io::Result<()> {
    enable_raw_mode()?;
    IS_TAKEN.store(true, Ordering::SeqCst);
    // Shift-Enter is told from Enter by terminals that know these flags; others ignore them.
    let flags = KeyboardEnhancementFlags::DISAMBIGUATE_ESCAPE_CODES;
    execute!(
        io::stdout(),
        EnterAlternateScreen,
        EnableBracketedPaste,
        PushKeyboardEnhancementFlags(flags)
    )
}

/// Gives the terminal back, once.
fn restore_terminal() {
    if !IS_TAKEN.swap(false, Ordering::SeqCst) {
        return;
    }
    // Each by itself: a terminal that is gone must not keep the rest from being tried.
    let mut stdout = io::stdout();
    let _ = execute!(stdout, PopKeyboardEnhancementFlags);
    let _ = execute!(stdout, DisableBracketedPaste);
    let _ = execute!(stdout, LeaveAlternateScreen, cursor::Show);
    let _ = stdout.flush();
    let _ = disable_raw_mode();
}

/// Gives the terminal back before a panic is printed: its words would be lost on a screen that is
/// about to go.
fn restore_terminal_on_panic() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            restore_terminal();
            before(panic);
        }));
    });
}

#[cfg(test)]
mod tests;
