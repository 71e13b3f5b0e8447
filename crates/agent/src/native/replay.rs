//! A session's past as clients are shown it again.
//!
//! In: the journal. Out: the updates that tell it, in order, each once.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::client::{chunk, compaction};
use super::journal::{JournalEntry, JournalItem};
use super::todo;
use super::turn::call_id;

pub(super) fn updates(entries: &[JournalEntry], shows_compaction: bool) -> Vec<Value> {
    let called: HashSet<(u64, usize)> = entries.iter().filter_map(called).collect();
    let mut updates = Vec::new();
    for entry in entries {
        match &*entry.item {
            JournalItem::Prompt { blocks, .. } => {
                updates.extend(blocks.iter().map(
                    |block| json!({ "sessionUpdate": "user_message_chunk", "content": block }),
                ));
            }
            JournalItem::Answer { text, thought, calls, .. } => {
                updates.extend(said("agent_thought_chunk", thought));
                updates.extend(said("agent_message_chunk", text));
                let lost = calls.iter().enumerate();
                let lost = lost.filter(|(index, _)| !called.contains(&(entry.seq, *index)));
                updates.extend(lost.map(|(index, call)| {
                    json!({
                        "sessionUpdate": "tool_call", "toolCallId": call_id(entry.seq, index),
                        "title": call.name, "name": call.name, "status": "failed",
                    })
                }));
            }
            JournalItem::Called { shown, .. } => {
                let mut call = shown.clone();
                call["sessionUpdate"] = json!("tool_call");
                updates.push(call);
                updates.extend(todo::list_of(shown).map(|todos| todo::plan(&todos)));
            }
            JournalItem::Compacted { summary } if shows_compaction => {
                let id = format!("compaction-{}", entry.seq);
                updates.push(compaction(&id, "completed", Some(summary)));
            }
            JournalItem::Failed { message } => updates.extend(said("agent_message_chunk", message)),
            JournalItem::Compacted { .. }
            | JournalItem::Options { .. }
            | JournalItem::Cleared
            | JournalItem::Spent { .. } => {}
            // The calls that made them are replayed, and what they hid was seen.
            JournalItem::Edited { .. }
            | JournalItem::Covered { .. }
            | JournalItem::Uncovered { .. }
            | JournalItem::Threads { .. }
            | JournalItem::Objective { .. } => {}
        }
    }
    updates
}

fn called(entry: &JournalEntry) -> Option<(u64, usize)> {
    match &*entry.item {
        JournalItem::Called { answer, index, .. } => Some((*answer, *index)),
        _ => None,
    }
}

fn said(kind: &str, text: &str) -> Option<Value> {
    (!text.is_empty()).then(|| chunk(kind, text))
}

#[cfg(test)]
mod tests;
