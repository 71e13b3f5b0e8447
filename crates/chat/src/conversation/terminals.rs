//! The terminals of a session, by their ids.
//!
//! Output may come before the card that names its terminal, and for as long as the command
//! runs after it. When all of it together grows too large, the oldest is let go.

use std::collections::{HashMap, VecDeque};

use projection::CommandEnd;
use wire::event::{TerminalExited, TerminalOutput};

use super::output_tail::OutputTail;
use super::safe_text::line;

/// All output that is kept, of all terminals.
const MAX_BYTES: usize = 8 << 20;
const MAX_TERMINALS: usize = 2000;
/// A longer id is none of ours.
const MAX_ID_BYTES: usize = 200;
/// Cards that show the same terminal.
const MAX_ITEMS: usize = 8;

#[derive(Debug, Default)]
pub(super) struct Terminals {
    by_id: HashMap<String, Terminal>,
    /// The oldest first.
    order: VecDeque<String>,
    n_bytes: usize,
    /// Time of the current event.
    pub(super) at: i64,
    /// Since when the daemon runs, as far as that is known; no worker is older.
    alive_since: i64,
}

#[derive(Debug, Default)]
pub(crate) struct Terminal {
    pub(crate) printed: OutputTail,
    /// How its command ended, if it has.
    pub(crate) end: Option<CommandEnd>,
    /// The log has less than was printed.
    pub(crate) is_truncated: bool,
    /// The time of the first event about it.
    since: i64,
    has_printed: bool,
    /// Its worker is gone, and nobody said how it ended.
    is_lost: bool,
    /// The items that show it.
    items: Vec<usize>,
}

/// The state of a terminal's command, as far as the log says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CommandState {
    Running,
    Ended,
    Lost,
    /// Nothing of it is in the log: somebody else may serve it.
    Unknown,
}

impl Terminal {
    pub(crate) fn state(&self) -> CommandState {
        match () {
            () if self.end == Some(CommandEnd::Lost) => CommandState::Lost,
            () if self.end.is_some() => CommandState::Ended,
            () if !self.has_printed => CommandState::Unknown,
            () if self.is_lost => CommandState::Lost,
            () => CommandState::Running,
        }
    }

    /// How its command ended in words, if it did not succeed.
    pub(crate) fn end_words(&self) -> Option<String> {
        match self.end.as_ref()? {
            CommandEnd::Signal(signal) => Some(match signal.parse::<u32>() {
                // A number where the signal has no name of its own.
                Ok(number) => format!("ended by signal {number}"),
                Err(_) => format!("ended by {}", line(signal, 40)),
            }),
            CommandEnd::Code(code @ (..0 | 1..)) => Some(format!("exit code {code}")),
            CommandEnd::Code(0) | CommandEnd::TimedOut | CommandEnd::Unknown | CommandEnd::Lost => {
                None
            }
        }
    }
}

impl Terminals {
    /// Marks all commands as lost: no worker runs any more. Returns the items that change.
    pub(super) fn lose_all(&mut self) -> Vec<usize> {
        self.lose(|_| true)
    }

    /// Marks the commands from before the daemon's start as lost. Returns the items that change.
    pub(super) fn alive_since(&mut self, at: i64) -> Vec<usize> {
        self.alive_since = at;
        self.lose(|terminal| terminal.since < at)
    }

    fn lose(&mut self, is_gone: impl Fn(&Terminal) -> bool) -> Vec<usize> {
        let open = self.by_id.values_mut().filter(|one| one.end.is_none() && is_gone(one));
        let lost = open.map(|terminal| {
            terminal.is_lost = true;
            &terminal.items
        });
        lost.flatten().copied().collect()
    }

    /// The items that show what has not ended.
    pub(super) fn open_cards(&self) -> Vec<usize> {
        let open = self.by_id.values().filter(|terminal| terminal.end.is_none());
        open.flat_map(|terminal| &terminal.items).copied().collect()
    }

    pub(super) fn get(&self, id: &str) -> Option<&Terminal> {
        self.by_id.get(id)
    }

    /// Adds output. Returns the items that change.
    pub(super) fn output(&mut self, output: &TerminalOutput) -> Vec<usize> {
        let terminal = self.terminal(&output.terminal_id);
        let before = terminal.printed.weight();
        terminal.printed.push(&output.data);
        terminal.has_printed = true;
        let (after, cards) = (terminal.printed.weight(), terminal.items.clone());
        self.n_bytes = (self.n_bytes + after).saturating_sub(before);
        self.make_room();
        cards
    }

    pub(super) fn exited(&mut self, exited: &TerminalExited) -> Vec<usize> {
        let terminal = self.terminal(&exited.terminal_id);
        terminal.is_truncated |= exited.truncated;
        terminal.end = Some(CommandEnd::from_terminal(exited));
        terminal.items.clone()
    }

    /// Notes that an item shows this terminal.
    pub(super) fn shown_by(&mut self, id: &str, item: usize) {
        let terminal = self.terminal(id);
        if !terminal.items.contains(&item) && terminal.items.len() < MAX_ITEMS {
            terminal.items.push(item);
        }
        self.make_room();
    }

    fn terminal(&mut self, id: &str) -> &mut Terminal {
        if !self.by_id.contains_key(id) {
            self.order.push_back(id.to_owned());
        }
        let since = self.at;
        let is_lost = since < self.alive_since;
        let new = || Terminal { since, is_lost, ..Terminal::default() };
        self.by_id.entry(id.to_owned()).or_insert_with(new)
    }

    fn make_room(&mut self) {
        while (self.n_bytes > MAX_BYTES || self.order.len() > MAX_TERMINALS)
            && self.order.len() > 1
            && let Some(oldest) = self.order.pop_front()
        {
            let gone = self.by_id.remove(&oldest).unwrap_or_default();
            self.n_bytes = self.n_bytes.saturating_sub(gone.printed.weight());
        }
    }
}

pub(super) fn id_of(id: &str) -> Option<String> {
    (!id.is_empty() && id.len() <= MAX_ID_BYTES).then(|| id.to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{MAX_BYTES, MAX_TERMINALS, TerminalOutput, Terminals};

    #[test]
    fn how_a_command_ended_is_said_in_words() {
        let said = |payload| {
            let mut terminals = Terminals::default();
            terminals.exited(&serde_json::from_value(payload).unwrap());
            terminals.by_id.values().next().unwrap().end_words()
        };
        assert_eq!(said(json!({ "signal": "9" })).as_deref(), Some("ended by signal 9"));
        assert_eq!(said(json!({ "signal": "SIGKILL" })).as_deref(), Some("ended by SIGKILL"));
        assert_eq!(said(json!({ "exitCode": 3 })).as_deref(), Some("exit code 3"));
        assert_eq!(said(json!({ "exitCode": 0 })), None);
    }

    #[test]
    fn the_oldest_output_goes_when_there_is_too_much() {
        let mut terminals = Terminals::default();
        let data = "some words\n".repeat(2000);
        let mut output = |name: String, data: &str| {
            terminals.output(&TerminalOutput { terminal_id: name, data: data.to_owned() });
            assert!(terminals.n_bytes <= MAX_BYTES && terminals.by_id.len() <= MAX_TERMINALS);
        };
        for n in 0..3000 {
            output(format!("short{n}"), "x");
        }
        for n in 0..400 {
            output(format!("long{n}"), &data);
        }
        assert!(terminals.get("short0").is_none() && terminals.get("long0").is_none());
        assert!(terminals.get("long399").unwrap().printed.text().starts_with("some words"));
    }
}
