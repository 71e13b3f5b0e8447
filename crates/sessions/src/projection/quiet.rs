//! The agent's answer and nothing else.
//!
//! In: every event. Out: the text of the agent's messages as it streams. For a pipe the
//! text is left as it is; for a terminal it is made safe first.

use wire::{Event, Kind};

use super::sanitize::Sanitizer;
use super::view::{chunk_text, update_of};

/// Projects a log into the agent's answer.
#[derive(Debug)]
pub struct Quiet {
    /// Present when the reader is a terminal.
    sanitizer: Option<Sanitizer>,
}

impl Quiet {
    pub fn new(is_terminal: bool) -> Self {
        Self { sanitizer: is_terminal.then(Sanitizer::default) }
    }

    pub fn project(&mut self, event: &Event, out: &mut String) {
        if event.kind.update_name() == Some("agent_message_chunk") {
            let text = chunk_text(&update_of(event));
            match &mut self.sanitizer {
                Some(sanitizer) => sanitizer.push(&text, out),
                None => out.push_str(&text),
            }
        } else if let (Kind::TurnEnded, Some(sanitizer)) = (&event.kind, &mut self.sanitizer) {
            sanitizer.finish(out);
        }
    }
}

#[cfg(test)]
mod tests;
