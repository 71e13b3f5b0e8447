//! A session's past as clients are shown it again.
//!
//! In: the journal. Out: the updates that tell it, in order, each once.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::client::{chunk, compaction};
use super::journal::{Entry, Item};
use super::todo;
use super::turn::call_id;

pub(super) fn updates(entries: &[Entry], shows_compaction: bool) -> Vec<Value> {
    let called: HashSet<(u64, usize)> = entries.iter().filter_map(called).collect();
    let mut updates = Vec::new();
    for entry in entries {
        match &*entry.item {
            Item::Prompt { blocks, .. } => {
                updates.extend(blocks.iter().map(
                    |block| json!({ "sessionUpdate": "user_message_chunk", "content": block }),
                ));
            }
            Item::Answer { text, thought, calls, .. } => {
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
            Item::Called { shown, .. } => {
                let mut call = shown.clone();
                call["sessionUpdate"] = json!("tool_call");
                updates.push(call);
                updates.extend(todo::plan_of(shown));
            }
            Item::Compacted { summary } if shows_compaction => {
                let id = format!("compaction-{}", entry.seq);
                updates.push(compaction(&id, "completed", Some(summary)));
            }
            Item::Failed { message } => updates.extend(said("agent_message_chunk", message)),
            Item::Compacted { .. } | Item::Options { .. } | Item::Cleared | Item::Spent { .. } => {}
            // The calls that made them are replayed, and what they hid was seen.
            Item::Edited { .. }
            | Item::Covered { .. }
            | Item::Uncovered { .. }
            | Item::Threads { .. }
            | Item::Objective { .. } => {}
        }
    }
    updates
}

fn called(entry: &Entry) -> Option<(u64, usize)> {
    match &*entry.item {
        Item::Called { answer, index, .. } => Some((*answer, *index)),
        _ => None,
    }
}

fn said(kind: &str, text: &str) -> Option<Value> {
    (!text.is_empty()).then(|| chunk(kind, text))
}

#[cfg(test)]
mod tests;
