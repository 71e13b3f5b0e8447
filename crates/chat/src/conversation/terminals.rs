//! The terminals of a session, by their ids.
//!
//! Output may come before the card that names its terminal, and for as long as the command
//! runs after it. When all of it together grows too large, the oldest is let go.

use std::collections::{HashMap, VecDeque};

use serde_json::Value;

use super::reading::line;
use super::terminal::Printed;

/// All output that is kept, of all terminals.
const MAX_BYTES: usize = 8 << 20;
const MAX_TERMINALS: usize = 2000;
/// A longer id is none of ours.
const MAX_ID_BYTES: usize = 200;
/// Cards that show the same terminal.
const MAX_CARDS: usize = 8;

#[derive(Debug, Default)]
pub(super) struct Terminals {
    by_id: HashMap<String, Terminal>,
    /// The oldest first.
    order: VecDeque<String>,
    n_bytes: usize,
}

#[derive(Debug, Default)]
pub(crate) struct Terminal {
    pub(crate) printed: Printed,
    /// How its command ended, if that is worth a word.
    pub(crate) end: Option<String>,
    /// The log has less than was printed.
    pub(crate) is_truncated: bool,
    /// The items that show it.
    cards: Vec<usize>,
}

impl Terminals {
    pub(super) fn get(&self, id: &str) -> Option<&Terminal> {
        self.by_id.get(id)
    }

    /// Something was printed. The items that change with it.
    pub(super) fn output(&mut self, payload: &Value) -> Vec<usize> {
        let Some(id) = id_of(&payload["terminalId"]) else { return Vec::new() };
        let data = payload["data"].as_str().unwrap_or_default();
        let terminal = self.terminal(&id);
        let before = terminal.printed.weight();
        terminal.printed.push(data);
        let (after, cards) = (terminal.printed.weight(), terminal.cards.clone());
        self.n_bytes = (self.n_bytes + after).saturating_sub(before);
        self.make_room();
        cards
    }

    pub(super) fn exited(&mut self, payload: &Value) -> Vec<usize> {
        let Some(id) = id_of(&payload["terminalId"]) else { return Vec::new() };
        let terminal = self.terminal(&id);
        terminal.is_truncated |= payload["truncated"] == true;
        terminal.end = end(payload);
        terminal.cards.clone()
    }

    /// An item shows this terminal.
    pub(super) fn shown_by(&mut self, id: &str, item: usize) {
        let terminal = self.terminal(id);
        if !terminal.cards.contains(&item) && terminal.cards.len() < MAX_CARDS {
            terminal.cards.push(item);
        }
        self.make_room();
    }

    fn terminal(&mut self, id: &str) -> &mut Terminal {
        if !self.by_id.contains_key(id) {
            self.order.push_back(id.to_owned());
        }
        self.by_id.entry(id.to_owned()).or_default()
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

pub(super) fn id_of(id: &Value) -> Option<String> {
    let id = id.as_str().filter(|id| !id.is_empty() && id.len() <= MAX_ID_BYTES)?;
    Some(id.to_owned())
}

fn end(payload: &Value) -> Option<String> {
    let signal = &payload["signal"];
    let signal = signal.as_str().map(|name| line(name, 40)).or_else(|| {
        let number = signal.as_i64()?;
        Some(format!("signal {number}"))
    });
    match (signal, payload["exitCode"].as_i64()) {
        (Some(signal), _) => Some(format!("ended by {signal}")),
        (None, Some(0) | None) => None,
        (None, Some(code)) => Some(format!("exit code {code}")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{MAX_BYTES, MAX_TERMINALS, Terminals};

    #[test]
    fn the_oldest_output_goes_when_there_is_too_much() {
        let mut terminals = Terminals::default();
        let data = "some words\n".repeat(2000);
        let mut output = |name: String, data: &str| {
            terminals.output(&json!({ "terminalId": name, "data": data }));
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
