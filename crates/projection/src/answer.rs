//! The agent's answer and nothing else.
//!
//! In: the changes of a conversation. Out: the text of the agent's messages as it streams. For a
//! pipe the text is left as it is; for a terminal it is made safe first.
//!
//! Some agents send the error of a failed turn as if it were their answer. It is none, so the last
//! piece waits until it is known what follows, and is left out if the end of the turn says the
//! same.

use wire::OwnEvent;

use super::conversation::{Change, Conversation, Projection};
use wire::text::Sanitizer;

/// The projection to the bare text of the agent's answer.
#[derive(Debug, Clone)]
pub struct AnswerProjection {
    /// Present when the reader is a terminal.
    sanitizer: Option<Sanitizer>,
    /// The last piece, not written yet.
    last_piece: String,
}

impl AnswerProjection {
    pub fn new(is_terminal: bool) -> Self {
        Self { sanitizer: is_terminal.then(Sanitizer::default), last_piece: String::new() }
    }

    /// Writes the piece that waits: nothing will follow.
    pub fn finish(&mut self, out: &mut String) {
        let text = std::mem::take(&mut self.last_piece);
        match &mut self.sanitizer {
            Some(sanitizer) => sanitizer.push(&text, out),
            None => out.push_str(&text),
        }
    }
}

impl Projection for AnswerProjection {
    type Out = String;

    fn render(&mut self, change: Change<'_>, _now: &Conversation, out: &mut String) {
        match change {
            Change::Answer { text, .. } => {
                self.finish(out);
                self.last_piece = text;
            }
            Change::TurnEnded(end) => {
                if end.is_in_answer {
                    self.last_piece.clear();
                }
                self.finish(out);
                if let Some(sanitizer) = &mut self.sanitizer {
                    sanitizer.finish(out);
                }
            }
            // The answer goes on after these, or a person is asked and has to see all of it.
            // Everything else may come at any moment, between a failure and the end of its turn
            // too: usage, titles, commands, notices.
            Change::Thought { .. }
            | Change::CallSeen { .. }
            | Change::Planned { .. }
            | Change::Asked(_) => self.finish(out),
            Change::Own(own, _) if matches!(*own, OwnEvent::ElicitationRequested(_)) => {
                self.finish(out);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;
