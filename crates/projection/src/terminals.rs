//! Output of commands in the terminals that Switchyard serves, and how they ended.
//!
//! In: every event. Out: by a terminal's id, the newest of its output and how it ended. Output
//! may come before or after the tool call that shows its terminal. Memory is bounded: of each
//! terminal the end is kept, and of all terminals those that were used last.

use serde::{Deserialize, Serialize};
use wire::OwnEvent;
use wire::event::TerminalExited;

/// Output kept of each terminal; more than any view shows.
const KEPT_BYTES: usize = 32 << 10;
/// Terminals kept; more than a session has open at once.
const MAX_TERMINALS: usize = 64;

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Terminals {
    /// By their last output, the latest at the end.
    known: Vec<Terminal>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Terminal {
    pub(crate) id: String,
    /// Raw output, escape sequences included.
    pub(crate) text: String,
    pub(crate) end: Option<CommandEnd>,
}

/// How a command ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum CommandEnd {
    Code(i64),
    /// The signal's name or number.
    Signal(String),
    TimedOut,
    /// Neither an exit code nor a signal is known.
    Unknown,
    /// Nobody was there any more to see how it ended.
    Lost,
}

impl CommandEnd {
    /// The end as its terminal reported it.
    pub fn from_terminal(exited: &TerminalExited) -> Self {
        if exited.lost {
            return Self::Lost;
        }
        let signal = exited.signal.clone().map(Self::Signal);
        signal.or(exited.exit_code.map(|code| Self::Code(code.into()))).unwrap_or(Self::Unknown)
    }

    /// How it failed, if it did: `failed with exit code 2`.
    pub fn failure(&self) -> Option<String> {
        match self {
            Self::Code(0) | Self::Unknown => None,
            Self::Code(code) => Some(format!("failed with exit code {code}")),
            Self::Signal(signal) => Some(format!("was killed by {signal}")),
            Self::TimedOut => Some("took too long and was ended".to_owned()),
            Self::Lost => Some("was lost; nobody knows how it ended".to_owned()),
        }
    }
}

impl Terminals {
    /// Applies the event to its terminal, and returns that; `None` if it is about no terminal.
    pub(crate) fn apply(&mut self, own: &OwnEvent<'_>) -> Option<&Terminal> {
        match own {
            OwnEvent::TerminalOutput(output) => {
                let terminal = self.at(&output.terminal_id);
                terminal.add(&output.data);
                Some(terminal)
            }
            OwnEvent::TerminalExited(exited) => {
                let terminal = self.at(&exited.terminal_id);
                terminal.end = Some(CommandEnd::from_terminal(exited));
                Some(terminal)
            }
            _ => None,
        }
    }

    pub(crate) fn get(&self, id: &str) -> Option<&Terminal> {
        self.known.iter().rfind(|terminal| terminal.id == id)
    }

    fn at(&mut self, id: &str) -> &mut Terminal {
        let terminal = match self.known.iter().rposition(|terminal| terminal.id == id) {
            Some(at) => self.known.remove(at),
            None => Terminal { id: id.to_owned(), text: String::new(), end: None },
        };
        if self.known.len() >= MAX_TERMINALS {
            self.known.remove(0);
        }
        self.known.push_mut(terminal)
    }
}

impl Terminal {
    fn add(&mut self, data: &str) {
        self.text.push_str(data);
        // Twice as much may be there for a moment, so that not every chunk moves all of it.
        if self.text.len() > 2 * KEPT_BYTES {
            let from = self.text.ceil_char_boundary(self.text.len() - KEPT_BYTES);
            self.text.drain(..from);
        }
    }
}

#[cfg(test)]
mod tests;
