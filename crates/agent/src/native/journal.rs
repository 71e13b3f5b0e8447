//! The journal of a session: its items in order, kept in the event log.
//!
//! In: items. Out: the same items, after any crash. The messages for a model and the replay for
//! clients are both made from them, so nothing is kept twice and nothing is ever taken out: what a
//! model no longer needs is left out of its messages, not of this.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use store::{
    Batch, Claim, Durability, EventLog, NewSession, RecordChanges, SessionRecord, StoreError,
};
use wire::{Draft, Json, Kind, Seq, SessionId};

use super::chat::{MessagePart, ModelToolCall, TokenUsage};
use super::lock;
use super::options::SessionOptions;
use store::mint;

/// Events read at once when a session is taken up again.
const PAGE: usize = 256;
/// The name under which sessions of this agent are in the log.
pub(super) const AGENT: &str = "native";

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "item", rename_all = "snake_case")]
pub(super) enum JournalItem {
    /// The user's prompt: the blocks as they came, and the parts that a model is sent.
    Prompt {
        blocks: Vec<Value>,
        parts: Vec<MessagePart>,
    },
    Answer {
        text: String,
        thought: String,
        calls: Vec<ModelToolCall>,
        /// False if it was cut off: by the user, or by an error.
        is_whole: bool,
        usage: Option<TokenUsage>,
    },
    /// The result of the call at `index` of the answer at `answer`.
    Called {
        answer: u64,
        index: usize,
        /// The tool call as clients saw it last.
        shown: Value,
        parts: Vec<MessagePart>,
    },
    Options {
        options: SessionOptions,
    },
    /// A summary that stands for everything before it.
    Compacted {
        summary: String,
    },
    /// A fresh start: earlier items are no longer sent to the model.
    Cleared,
    /// Parts that are sent differently from here on.
    Edited {
        edits: Vec<PartEdit>,
    },
    /// A note stands for these parts until they are uncovered.
    Covered(CoveringNote),
    Uncovered {
        name: String,
    },
    /// The subjects of the conversation, part by part; the last such list counts.
    Threads {
        threads: Vec<WorkThread>,
    },
    /// The turn broke off with this error. Not sent to a model.
    Failed {
        message: String,
    },
    /// The cost of requests beside the conversation, in billionths of a US dollar. The cost of an
    /// answer is in its usage.
    Spent {
        nano_usd: u64,
    },
    /// The objective, which stays in view; none, if it was taken back.
    Objective {
        text: Option<String>,
    },
}

/// A change of how one part is sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PartEdit {
    /// The number of the item.
    pub part: u64,
    #[serde(flatten)]
    pub shape: PartShape,
}

/// The form in which a part is sent to the model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "shape", rename_all = "snake_case")]
pub(super) enum PartShape {
    Whole,
    Hidden,
    Replaced { text: String },
}

/// A note that stands for parts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct CoveringNote {
    pub name: String,
    pub cover: CoveringKind,
    pub note: String,
    pub parts: Vec<u64>,
}

/// Why a note stands for parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum CoveringKind {
    /// Put aside, to be taken up again.
    Parked,
    /// The note holds what mattered.
    Distilled,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct WorkThread {
    pub name: String,
    #[serde(default)]
    pub about: String,
    pub parts: Vec<u64>,
}

impl JournalItem {
    /// The known cost of the item.
    pub(super) fn nano_usd(&self) -> Option<u64> {
        match self {
            Self::Answer { usage, .. } => usage.and_then(|usage| usage.nano_usd),
            Self::Spent { nano_usd } => Some(*nano_usd),
            _ => None,
        }
    }

    /// The same item for another journal, where the items that it refers to have other numbers.
    /// None if it is about an item that is not there.
    pub(super) fn renumbered(&self, places: &HashMap<u64, u64>) -> Option<Self> {
        let moved = |parts: &[u64]| parts.iter().filter_map(|at| places.get(at).copied()).collect();
        let mut item = self.clone();
        match &mut item {
            // Whoever copies a session has not paid for it again.
            Self::Spent { .. } => return None,
            Self::Answer { usage: Some(usage), .. } => usage.nano_usd = None,
            Self::Called { answer, .. } => *answer = *places.get(answer)?,
            Self::Edited { edits } => edits.retain_mut(|edit| {
                places.get(&edit.part).map(|place| edit.part = *place).is_some()
            }),
            Self::Covered(covering) => covering.parts = moved(&covering.parts),
            Self::Threads { threads } => {
                for thread in threads {
                    thread.parts = moved(&thread.parts);
                }
            }
            _ => {}
        }
        Some(item)
    }
}

#[derive(Debug, Clone)]
pub(super) struct JournalEntry {
    pub seq: u64,
    pub item: Arc<JournalItem>,
}

/// The journal of one session, which is ours until it is released or dropped.
pub(super) struct Journal {
    log: Arc<dyn EventLog>,
    id: SessionId,
    entries: Mutex<Vec<JournalEntry>>,
    claim: Mutex<Option<Claim>>,
}

impl Journal {
    pub(super) async fn create(
        log: &Arc<dyn EventLog>,
        cwd: &str,
        details: Json,
    ) -> Result<Self, StoreError> {
        let id = mint::session_id();
        let (agent, cwd, created) = (AGENT.to_owned(), cwd.to_owned(), mint::now());
        let claim = log.claim(id).await?;
        log.create(NewSession { id, agent, cwd, created, details, origin: None }).await?;
        let claim = Mutex::new(Some(claim));
        Ok(Self { log: log.clone(), id, entries: Mutex::default(), claim })
    }

    /// Takes a session up again, if nobody else has it.
    pub(super) async fn open(
        log: &Arc<dyn EventLog>,
        id: SessionId,
    ) -> Result<Option<(Self, SessionRecord)>, StoreError> {
        let Some(mut record) = log.session(id).await? else { return Ok(None) };
        let claim = log.claim(id).await?;
        if record.damage.is_some() && log.recover(id).await?.is_some() {
            tracing::warn!(session = %id, "events of this session are lost");
            record = log.session(id).await?.unwrap_or(record);
        }
        let mut entries = Vec::new();
        let mut after = Seq(0);
        loop {
            let events = log.read(id, after, PAGE).await?;
            let Some(last) = events.last() else { break };
            after = last.seq;
            for event in &events {
                // Items that a later version wrote are left out.
                match event.payload.read::<JournalItem>() {
                    Ok(item) => {
                        entries.push(JournalEntry { seq: event.seq.0, item: Arc::new(item) });
                    }
                    Err(error) => {
                        tracing::warn!(seq = event.seq.0, %error, "cannot read an item of the journal");
                    }
                }
            }
        }
        let (entries, claim) = (Mutex::new(entries), Mutex::new(Some(claim)));
        Ok(Some((Self { log: log.clone(), id, entries, claim }, record)))
    }

    pub(super) fn id(&self) -> SessionId {
        self.id
    }

    /// Adds an item, safe against a crash; returns its number.
    pub(super) async fn add(&self, item: JournalItem) -> Result<u64, StoreError> {
        let kind = Kind::update(name(&item));
        let draft = Draft { at: mint::now(), turn: None, kind, payload: Json::of(&item) };
        // Items that a person wrote or paid for are worth a sync.
        let durability = match item {
            JournalItem::Prompt { .. }
            | JournalItem::Answer { .. }
            | JournalItem::Compacted { .. } => Durability::Power,
            // So is a note that stands for much of it.
            JournalItem::Covered { .. } => Durability::Power,
            _ => Durability::Process,
        };
        let batch = Batch::new(self.id, vec![draft]).durable(durability);
        let seq = self.log.append(batch).await?.last.0;
        lock(&self.entries).push(JournalEntry { seq, item: Arc::new(item) });
        Ok(seq)
    }

    pub(super) async fn change(&self, changes: RecordChanges) -> Result<(), StoreError> {
        self.log.update(self.id, changes).await
    }

    /// Releases the session to others, whoever still holds this.
    pub(super) fn release(&self) {
        drop(lock(&self.claim).take());
    }

    /// All entries so far.
    pub(super) fn all(&self) -> Vec<JournalEntry> {
        lock(&self.entries).clone()
    }
}

fn name(item: &JournalItem) -> &'static str {
    match item {
        JournalItem::Prompt { .. } => "native_prompt",
        JournalItem::Answer { .. } => "native_answer",
        JournalItem::Called { .. } => "native_called",
        JournalItem::Options { .. } => "native_options",
        JournalItem::Compacted { .. } => "native_compacted",
        JournalItem::Cleared => "native_cleared",
        JournalItem::Edited { .. } => "native_edited",
        JournalItem::Covered { .. } => "native_covered",
        JournalItem::Uncovered { .. } => "native_uncovered",
        JournalItem::Threads { .. } => "native_threads",
        JournalItem::Failed { .. } => "native_failed",
        JournalItem::Spent { .. } => "native_spent",
        JournalItem::Objective { .. } => "native_objective",
    }
}

#[cfg(test)]
mod tests;
