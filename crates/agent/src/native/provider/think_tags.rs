//! Thoughts that a model writes into its answer, between `<think>` and `</think>`.
//!
//! Endpoints that know the model take them out and send them apart; others, above all servers at
//! home, pass on what the model says. Only what an answer *begins* with is a thought: the same
//! words further on are text, for instance about this very convention.

use crate::native::chat::Delta;

const OPEN: &str = "<think>";
const CLOSE: &str = "</think>";

/// The place in the answer, with text that may still turn out to be part of a tag.
#[derive(Debug, Default)]
pub(super) enum ThinkParser {
    /// Nothing but white space and perhaps the beginning of the tag.
    #[default]
    Start,
    Held(String),
    Inside(String),
    /// Behind the thought; the blank lines between it and the answer belong to neither.
    Behind,
    Text,
}

impl ThinkParser {
    pub(super) fn feed(&mut self, piece: &str) -> Vec<Delta> {
        let mut said = Vec::new();
        self.take(piece, &mut said);
        said
    }

    /// Gives out held text that is no tag: nothing follows, or something else does.
    pub(super) fn release(&mut self) -> Option<Delta> {
        match self {
            Self::Held(held) if !held.is_empty() => {
                let text = std::mem::take(held);
                *self = Self::Text;
                Some(Delta::Text(text))
            }
            Self::Inside(held) if !held.is_empty() => Some(Delta::Thought(std::mem::take(held))),
            _ => None,
        }
    }

    fn take(&mut self, piece: &str, said: &mut Vec<Delta>) {
        match std::mem::take(self) {
            Self::Text => {
                *self = Self::Text;
                push(piece, Delta::Text, said);
            }
            Self::Start => self.begin(piece.to_owned(), said),
            Self::Held(held) => self.begin(held + piece, said),
            Self::Inside(held) => self.think(held + piece, said),
            Self::Behind => {
                let text = piece.trim_start();
                *self = if text.is_empty() { Self::Behind } else { Self::Text };
                push(text, Delta::Text, said);
            }
        }
    }

    fn begin(&mut self, text: String, said: &mut Vec<Delta>) {
        let word = text.trim_start();
        if let Some(rest) = word.strip_prefix(OPEN) {
            self.think(rest.trim_start_matches('\n').to_owned(), said);
        } else if OPEN.starts_with(word) {
            *self = Self::Held(text);
        } else {
            *self = Self::Text;
            push(&text, Delta::Text, said);
        }
    }

    fn think(&mut self, mut text: String, said: &mut Vec<Delta>) {
        if let Some((thought, rest)) = text.split_once(CLOSE) {
            push(thought.trim_end_matches('\n'), Delta::Thought, said);
            *self = Self::Behind;
            self.take(rest, said);
            return;
        }
        let held = text.split_off(text.len() - tail(&text));
        push(&text, Delta::Thought, said);
        *self = Self::Inside(held);
    }
}

/// How many bytes at the end may be the beginning of the closing tag, or the line breaks before it.
fn tail(text: &str) -> usize {
    let partial = (1..CLOSE.len()).rev().find(|n| text.ends_with(&CLOSE[..*n])).unwrap_or(0);
    let before = &text[..text.len() - partial];
    let breaks = before.len() - before.trim_end_matches('\n').len();
    // A thought of blank lines alone must not be held for ever.
    partial + if breaks <= CLOSE.len() { breaks } else { 0 }
}

fn push(text: &str, make: fn(String) -> Delta, said: &mut Vec<Delta>) {
    if !text.is_empty() {
        said.push(make(text.to_owned()));
    }
}

#[cfg(test)]
mod tests;
