//! What the terminal is, and plain words to it.

use std::io::{IsTerminal, Write};

/// Says something on stderr. A closed stderr is nobody's problem.
pub(crate) fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// Colour where there is a terminal that wants it.
pub(crate) fn color_on_stdout() -> bool {
    wants_color() && std::io::stdout().is_terminal()
}

pub(crate) fn color_on_stderr() -> bool {
    wants_color() && std::io::stderr().is_terminal()
}

fn wants_color() -> bool {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    !is_set("NO_COLOR") && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// Someone sits there who can be asked.
pub(crate) fn can_ask() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Columns of stdout; 0 when it is no terminal.
pub(crate) fn width() -> usize {
    rustix::termios::tcgetwinsize(std::io::stdout()).map_or(0, |size| usize::from(size.ws_col))
}
