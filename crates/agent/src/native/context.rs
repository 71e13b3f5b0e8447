//! The messages that a model is sent of a session.
//!
//! In: the journal. Out: messages that every endpoint takes: the system's words first, every
//! call followed by its result, never two messages of the user's or two answers in a row. Parts
//! that the model hid, replaced or put aside are sent as such; the journal keeps all of them.

mod overlay;
mod pieces;

use std::collections::{HashMap, HashSet};

use super::chat::{ChatMessage, MessagePart, ModelToolCall, ToolSpec, push_user};
use super::journal::{JournalEntry, JournalItem, PartShape};
pub(super) use overlay::Overlay;
pub(super) use pieces::{ContextPiece, PieceRole, pieces, pieces_of_all};

const INTERRUPTED: &str =
    "[The call was interrupted before it gave anything. It is not known how far it went.]";
const CUT_OFF: &str = "[This answer was cut off here.]";
const SUMMARY: &str = "This session began earlier. What follows is a summary of everything up to \
     here; go on from it as if you remembered.";
const HIDDEN_PROMPT: &str = "[A message of the user is left out here.]";
const HIDDEN_RESULT: &str = "[The result is left out here.]";
const OBJECTIVE: &str = "The objective of this session, which everything is to serve:";

/// The whole conversation as messages for the model.
pub(super) fn messages(system: &str, entries: &[JournalEntry]) -> Vec<ChatMessage> {
    let overlay = Overlay::of(entries);
    let waiting = unanswered_prompts(entries);
    let entries = since_fresh_start(entries);
    let mut told = MessageBuilder {
        messages: Vec::with_capacity(entries.len() + 1),
        overlay,
        results: results(entries),
        sent_notes: HashSet::new(),
    };
    let system = match &told.overlay.objective {
        Some(objective) => format!("{system}\n\n{OBJECTIVE}\n{objective}").trim_start().to_owned(),
        None => system.to_owned(),
    };
    if !system.is_empty() {
        told.messages.push(ChatMessage::System { text: system });
    }
    for entry in entries {
        match &*entry.item {
            JournalItem::Prompt { parts, .. } => told.user(entry.seq, parts.clone()),
            JournalItem::Answer { text, thought, calls, is_whole, .. } => match is_whole {
                true => told.answer(entry.seq, text, thought, calls),
                false => told.cut_off(entry.seq, text),
            },
            JournalItem::Compacted { summary } => {
                told.user(entry.seq, vec![MessagePart::text(format!("{SUMMARY}\n\n{summary}"))]);
                for (seq, parts) in &waiting {
                    told.user(*seq, parts.to_vec());
                }
            }
            _ => {}
        }
    }
    told.messages
}

/// Prompts that waited for their answer when the summary was made: room is made after a prompt
/// has come, and a model must have the user's own words for what it is to do now.
fn unanswered_prompts(entries: &[JournalEntry]) -> Vec<(u64, &[MessagePart])> {
    let start = fresh_start(entries);
    let before = entries.get(..start).unwrap_or_default().iter().rev();
    let is_unanswered = |entry: &&JournalEntry| {
        !is_start(entry) && !matches!(*entry.item, JournalItem::Answer { .. })
    };
    let mut prompts: Vec<(u64, &[MessagePart])> = before
        .take_while(is_unanswered)
        .filter_map(|entry| match &*entry.item {
            JournalItem::Prompt { parts, .. } => Some((entry.seq, parts.as_slice())),
            _ => None,
        })
        .collect();
    prompts.reverse();
    prompts
}

/// The entries since the last summary or fresh start; earlier ones are not sent to the model.
fn since_fresh_start(entries: &[JournalEntry]) -> &[JournalEntry] {
    entries.get(fresh_start(entries)..).unwrap_or_default()
}

fn fresh_start(entries: &[JournalEntry]) -> usize {
    entries.iter().rposition(is_start).unwrap_or_default()
}

fn is_start(entry: &JournalEntry) -> bool {
    matches!(*entry.item, JournalItem::Compacted { .. } | JournalItem::Cleared)
}

/// A tool result: its number in the journal, and its parts.
type CallResult<'a> = (u64, &'a [MessagePart]);

fn results(entries: &[JournalEntry]) -> HashMap<(u64, usize), CallResult<'_>> {
    let results = entries.iter().filter_map(|entry| match &*entry.item {
        JournalItem::Called { answer, index, parts, .. } => {
            Some(((*answer, *index), (entry.seq, parts.as_slice())))
        }
        _ => None,
    });
    results.collect()
}

struct MessageBuilder<'a> {
    messages: Vec<ChatMessage>,
    overlay: Overlay,
    results: HashMap<(u64, usize), CallResult<'a>>,
    /// Names of the coverings whose notes were sent already.
    sent_notes: HashSet<String>,
}

impl MessageBuilder<'_> {
    fn user(&mut self, seq: u64, parts: Vec<MessagePart>) {
        if self.is_covered(seq) {
            self.left_out();
            return;
        }
        match self.overlay.shape(seq) {
            PartShape::Whole => push_user(&mut self.messages, parts),
            PartShape::Replaced { text } => {
                push_user(&mut self.messages, vec![MessagePart::text(text)]);
            }
            PartShape::Hidden => self.left_out(),
        }
    }

    fn answer(&mut self, seq: u64, text: &str, thought: &str, calls: &[ModelToolCall]) {
        if self.is_covered(seq) {
            return;
        }
        let (text, thought) = match self.overlay.shape(seq) {
            PartShape::Whole => (text.to_owned(), thought.to_owned()),
            // Its calls stay: their results speak of them.
            PartShape::Replaced { text } => (text, String::new()),
            PartShape::Hidden => return,
        };
        if text.is_empty() && calls.is_empty() {
            return;
        }
        self.messages.push(ChatMessage::Assistant { text, thought, calls: calls.to_vec() });
        for (index, call) in calls.iter().enumerate() {
            let parts = match self.results.get(&(seq, index)) {
                None => vec![MessagePart::text(INTERRUPTED)],
                Some((result, parts)) => match self.overlay.shape(*result) {
                    PartShape::Whole => parts.to_vec(),
                    PartShape::Replaced { text } => vec![MessagePart::text(text)],
                    PartShape::Hidden => vec![MessagePart::text(HIDDEN_RESULT)],
                },
            };
            self.messages.push(ChatMessage::Tool { call: call.id.clone(), parts });
        }
    }

    /// Adds an answer that was cut off, and says so: the user saw it, but it is not whole.
    fn cut_off(&mut self, seq: u64, text: &str) {
        if self.is_covered(seq) || text.is_empty() {
            return;
        }
        let text = match self.overlay.shape(seq) {
            PartShape::Whole => format!("{text}\n{CUT_OFF}"),
            PartShape::Replaced { text } if !text.is_empty() => text,
            PartShape::Replaced { .. } | PartShape::Hidden => return,
        };
        let (thought, calls) = (String::new(), Vec::new());
        self.messages.push(ChatMessage::Assistant { text, thought, calls });
    }

    /// Whether a note stands for a part; the first of its parts adds the note.
    fn is_covered(&mut self, seq: u64) -> bool {
        let Some(covering) = self.overlay.covering(seq) else { return false };
        if self.sent_notes.insert(covering.name.clone()) {
            let note = covering.told();
            push_user(&mut self.messages, vec![MessagePart::text(note)]);
        }
        true
    }

    /// Puts a placeholder where the user's words are left out: some endpoints refuse two answers in
    /// a row, or one before any message of the user.
    fn left_out(&mut self) {
        match self.messages.last() {
            Some(ChatMessage::User { .. } | ChatMessage::Tool { .. }) => {}
            Some(ChatMessage::Assistant { .. } | ChatMessage::System { .. }) | None => {
                push_user(&mut self.messages, vec![MessagePart::text(HIDDEN_PROMPT)]);
            }
        }
    }
}

/// Whether there are answers to summarise; without them a summary would save nothing.
pub(super) fn has_answers(entries: &[JournalEntry]) -> bool {
    let is_answer = |entry: &JournalEntry| matches!(*entry.item, JournalItem::Answer { .. });
    since_fresh_start(entries).iter().any(is_answer)
}

/// How many tokens the conversation has by what the endpoint counted last, with what came after
/// it; nothing, if it does not count.
pub(super) fn counted_tokens(entries: &[JournalEntry]) -> u64 {
    let entries = since_fresh_start(entries);
    let counted = entries.iter().enumerate().rev().find_map(|(place, entry)| match &*entry.item {
        JournalItem::Answer { usage: Some(usage), is_whole: true, .. } => {
            Some((place, usage.total()))
        }
        _ => None,
    });
    let Some((place, total)) = counted else { return 0 };
    let after = entries.get(place + 1..).unwrap_or_default().iter();
    let bytes = after.map(|entry| match &*entry.item {
        JournalItem::Prompt { parts, .. } | JournalItem::Called { parts, .. } => of_parts(parts),
        _ => 0,
    });
    total.saturating_add(in_tokens(bytes.sum()))
}

fn of_parts(parts: &[MessagePart]) -> usize {
    let of_part = |part: &MessagePart| match part {
        MessagePart::Text { text } => text.len(),
        // What an image costs depends on its size in pixels; this is a common price.
        MessagePart::Image { .. } => 4 * 1000,
    };
    parts.iter().map(of_part).sum()
}

/// A rough number of tokens; it depends on the model and the language.
fn in_tokens(n_bytes: usize) -> u64 {
    (n_bytes as u64).div_ceil(4)
}

/// About how many tokens the tools' descriptions take in every request.
pub(super) fn tool_tokens<'a>(specs: impl Iterator<Item = &'a ToolSpec>) -> u64 {
    let of = |spec: &ToolSpec| {
        let ToolSpec { name, description, parameters } = spec;
        name.len() + description.len() + parameters.to_string().len()
    };
    in_tokens(specs.map(of).sum())
}

/// About how many tokens these are, where the endpoint does not tell.
pub(super) fn estimate(messages: &[ChatMessage]) -> u64 {
    let bytes: usize = messages
        .iter()
        .map(|message| match message {
            ChatMessage::System { text } => text.len(),
            ChatMessage::User { parts } | ChatMessage::Tool { parts, .. } => of_parts(parts),
            ChatMessage::Assistant { text, thought, calls } => {
                let calls: usize =
                    calls.iter().map(|call| call.name.len() + call.arguments.len()).sum();
                text.len() + thought.len() + calls
            }
        })
        .sum();
    in_tokens(bytes) + 4 * messages.len() as u64
}

#[cfg(test)]
mod tests;
