//! The agent's answer and nothing else.
//!
//! In: every event. Out: the text of the agent's messages as it streams. For a pipe the
//! text is left as it is; for a terminal it is made safe first.
//!
//! Some agents say why a turn failed as if it were their answer. It is none, so the last piece
//! waits until it is known what follows, and is left out if the end of the turn says the same.

use wire::{Event, Kind, Own};

use super::retold::Retold;
use super::sanitize::Sanitizer;
use super::view::is_said;

/// Projects a log into the agent's answer.
#[derive(Debug)]
pub struct Quiet {
    /// Present when the reader is a terminal.
    sanitizer: Option<Sanitizer>,
    /// The last piece, not written yet.
    held: String,
    retold: Retold,
}

impl Quiet {
    pub fn new(is_terminal: bool) -> Self {
        Self {
            sanitizer: is_terminal.then(Sanitizer::default),
            held: String::new(),
            retold: Retold::default(),
        }
    }

    pub fn project(&mut self, event: &Event, out: &mut String) {
        let added = self.retold.see(event);
        match (event.kind.update_name(), &event.kind) {
            (Some("agent_message_chunk"), _) => {
                self.write_held(out);
                self.held = added.unwrap_or_default();
            }
            (_, Kind::TurnEnded) => {
                let fault = match event.own() {
                    Some(Own::TurnEnded(ended)) => ended.error,
                    _ => None,
                };
                if fault.is_some_and(|fault| is_said(&self.held, &fault.message)) {
                    self.held.clear();
                }
                self.write_held(out);
                if let Some(sanitizer) = &mut self.sanitizer {
                    sanitizer.finish(out);
                }
            }
            // An answer that goes on after this, or a person who is asked and sees all that was said.
            // What else may come at any moment, between a failure and the end of its turn too: usage,
            // titles, commands, what Switchyard notes.
            (Some("agent_thought_chunk" | "tool_call" | "tool_call_update" | "plan"), _)
            | (_, Kind::PermissionRequested | Kind::ElicitationRequested) => self.write_held(out),
            _ => {}
        }
    }

    /// Writes what waits: nothing will follow.
    pub fn finish(&mut self, out: &mut String) {
        self.write_held(out);
    }

    fn write_held(&mut self, out: &mut String) {
        let text = std::mem::take(&mut self.held);
        match &mut self.sanitizer {
            Some(sanitizer) => sanitizer.push(&text, out),
            None => out.push_str(&text),
        }
    }
}

#[cfg(test)]
mod tests;
