//! Names of the people who prompt and who answer.
//!
//! The daemon names everybody who comes through its private socket alike, so this chat knows its
//! own acts by what it has sent. What the same user did before is theirs as well; what comes in now
//! and was not sent from here was done elsewhere.

use std::collections::VecDeque;

use projection::{decider_phrase, sanitize, sanitize_line};
use wire::event::{DecidedBy, Decider};
use wire::{CallId, TurnId};

use super::safe_text::line;

/// The daemon's name for whoever comes through the private socket.
const LOCAL: &str = "local";
/// Own prompts and answers that are remembered; more than can be on their way at a time.
const MAX_SENT: usize = 256;
/// Own turns that are remembered; those before were the same user's anyway.
const MAX_OWN: usize = 4096;

/// The prompts and answers that this chat itself has sent.
#[derive(Debug)]
pub(crate) struct OwnActions {
    /// Prompts whose turn is not known yet.
    sent: VecDeque<String>,
    turns: VecDeque<TurnId>,
    answers: VecDeque<CallId>,
    /// Events up to this one are from before the session was opened here.
    since: u64,
}

impl Default for OwnActions {
    /// For a log that is only read: everything is from before.
    fn default() -> Self {
        Self::since(u64::MAX)
    }
}

impl OwnActions {
    /// Empty; events up to `since` are from before.
    pub(crate) fn since(since: u64) -> Self {
        let (sent, turns, answers) = Default::default();
        Self { sent, turns, answers, since }
    }

    /// Notes a prompt that is on its way.
    pub(crate) fn send(&mut self, text: &str) {
        remember(&mut self.sent, sanitize(text.trim()).into_owned(), MAX_SENT);
    }

    /// Notes that the daemon has answered for it, and with which turn.
    pub(crate) fn sent(&mut self, text: &str, turn: Option<TurnId>) {
        let text = sanitize(text.trim());
        if let Some(place) = self.sent.iter().position(|sent| *sent == text) {
            self.sent.remove(place);
        }
        if let Some(turn) = turn {
            remember(&mut self.turns, turn, MAX_OWN);
        }
    }

    pub(crate) fn answer(&mut self, id: CallId) {
        remember(&mut self.answers, id, MAX_SENT);
    }

    /// The name of who sent a prompt, unless it was this chat's user. `text` is the prompt's.
    pub(super) fn asker(
        &self,
        by: &str,
        seq: u64,
        turn: Option<TurnId>,
        text: &str,
    ) -> Option<String> {
        let is_own = || {
            seq <= self.since
                || turn.is_some_and(|turn| self.turns.contains(&turn))
                || self.sent.iter().any(|sent| sent == text)
        };
        match by {
            "" => None,
            LOCAL if is_own() => None,
            _ => Some(display_name(by, seq > self.since)),
        }
    }

    /// The name of who decided, as the end of a sentence: `by you`.
    pub(super) fn decider(&self, by: &Decider, request: CallId, seq: u64) -> String {
        let detail = by.detail.as_deref();
        match by.who {
            DecidedBy::Client if self.answers.contains(&request) => " by you".to_owned(),
            DecidedBy::Client => {
                format!(" by {}", display_name(detail.unwrap_or("a client"), seq > self.since))
            }
            _ => sanitize_line(&decider_phrase(by), 120),
        }
    }
}

/// `token:phone http` is `phone`, and `local http` the user of this machine.
fn display_name(who: &str, is_now: bool) -> String {
    let (name, _way) =
        who.rsplit_once(' ').filter(|(_, way)| is_transport(way)).unwrap_or((who, ""));
    let name = name.strip_prefix("token:").unwrap_or(name);
    match name {
        // Names that commands of this machine give themselves, where no daemon names them.
        LOCAL | "run" | "attach" | "terminal" => {
            if is_now { "you elsewhere" } else { "you" }.to_owned()
        }
        name if name.split(' ').next() == Some("browser") => "a browser".to_owned(),
        name => line(name, 60),
    }
}

fn is_transport(word: &str) -> bool {
    ["http", "unix", "tcp", "ws", "websocket", "acp", "stdio"].contains(&word)
}

fn remember<T>(all: &mut VecDeque<T>, one: T, max: usize) {
    if all.len() >= max {
        all.pop_front();
    }
    all.push_back(one);
}

#[cfg(test)]
mod tests {
    use super::display_name;

    #[test]
    fn names_are_those_that_a_person_gave() {
        assert_eq!(display_name("token:phone http", true), "phone");
        assert_eq!(display_name("local http", true), "you elsewhere");
        assert_eq!(display_name("local unix", false), "you");
        assert_eq!(display_name("token:browser sU6x9 http", true), "a browser");
        assert_eq!(display_name("phone", true), "phone");
        assert_eq!(display_name("a\u{1b}b", true), "a\\x1bb");
    }
}
