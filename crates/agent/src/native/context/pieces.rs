//! The conversation part by part, with the numbers by which a model can speak of them.
//!
//! A number is the place of an item in the journal: it stays the same for as long as the
//! session lives, whatever is hidden or put aside.

use std::collections::HashMap;

use super::since_fresh_start;
use crate::native::chat::{ModelToolCall, parts_as_text};
use crate::native::journal::{JournalEntry, JournalItem};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::native) enum PieceRole {
    User,
    Answer,
    Result,
    Summary,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::native) struct ContextPiece {
    pub number: u64,
    pub role: PieceRole,
    /// The number of the piece that it belongs to: for a result its answer, for all else itself.
    pub group: u64,
    /// The tools that are called, or whose result it is.
    pub tools: String,
    pub text: String,
    /// It belongs to the turn that is running, so that it may not be edited.
    pub is_current: bool,
}

impl PieceRole {
    pub(in crate::native) fn word(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Answer => "answer",
            Self::Result => "result",
            Self::Summary => "summary",
        }
    }
}

/// All pieces since the last fresh start, hidden or not.
pub(in crate::native) fn pieces(entries: &[JournalEntry]) -> Vec<ContextPiece> {
    let mut pieces = pieces_of_all(since_fresh_start(entries));
    let present = present(entries);
    for piece in &mut pieces {
        piece.is_current = present.contains(&piece.group);
    }
    pieces
}

/// All pieces, also those that are no longer sent to the model.
pub(in crate::native) fn pieces_of_all(entries: &[JournalEntry]) -> Vec<ContextPiece> {
    let mut calls: HashMap<u64, &[ModelToolCall]> = HashMap::new();
    let mut pieces = Vec::new();
    for entry in entries {
        let (number, group) = (entry.seq, entry.seq);
        let (role, group, tools, text) = match &*entry.item {
            JournalItem::Prompt { parts, .. } => {
                (PieceRole::User, group, String::new(), parts_as_text(parts))
            }
            JournalItem::Answer { text, calls: made, .. } => {
                calls.insert(number, made);
                if text.is_empty() && made.is_empty() {
                    continue;
                }
                let names: Vec<&str> = made.iter().map(|call| call.name.as_str()).collect();
                (PieceRole::Answer, group, names.join(", "), said(text, made))
            }
            JournalItem::Called { answer, index, parts, .. } => {
                let call = calls.get(answer).and_then(|calls| calls.get(*index));
                let Some(call) = call else { continue };
                (PieceRole::Result, *answer, call.name.clone(), parts_as_text(parts))
            }
            JournalItem::Compacted { summary } => {
                (PieceRole::Summary, group, String::new(), summary.clone())
            }
            _ => continue,
        };
        pieces.push(ContextPiece { number, role, group, tools, text, is_current: false });
    }
    pieces
}

/// The prompt that is being answered, and the answer whose calls run.
fn present(entries: &[JournalEntry]) -> Vec<u64> {
    let prompt =
        entries.iter().rev().find(|entry| matches!(*entry.item, JournalItem::Prompt { .. }));
    let answer =
        entries.iter().rev().find(|entry| matches!(*entry.item, JournalItem::Answer { .. }));
    let has_open_calls = |entry: &&JournalEntry| match &*entry.item {
        JournalItem::Answer { calls, .. } => {
            let is_its = |other: &&JournalEntry| matches!(&*other.item, JournalItem::Called { answer, .. } if *answer == entry.seq);
            entries.iter().filter(is_its).count() < calls.len()
        }
        _ => false,
    };
    prompt.into_iter().chain(answer.filter(has_open_calls)).map(|entry| entry.seq).collect()
}

fn said(text: &str, calls: &[ModelToolCall]) -> String {
    let calls = calls.iter().map(|call| format!("[calls {} {}]", call.name, call.arguments));
    let text = Some(text.to_owned()).filter(|text| !text.is_empty());
    text.into_iter().chain(calls).collect::<Vec<_>>().join("\n")
}
