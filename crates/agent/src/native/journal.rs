//! The journal of a session: its items in order, kept in the event log.
//!
//! In: items. Out: the same items, after any crash. The messages for a model and the replay for
//! clients are both made from them, so nothing is kept twice and nothing is ever taken out: what a
//! model no longer needs is left out of its messages, not of this.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use store::{Batch, Changes, Claim, Durability, EventLog, NewSession, SessionRecord, StoreError};
use wire::{Draft, Json, Kind, Seq, SessionId};

use super::chat::{Part, ToolCall, Usage};
use super::lock;
use super::options::Options;
use store::mint;

/// Events read at once when a session is taken up again.
const PAGE: usize = 256;
/// The name under which sessions of this agent are in the log.
pub(super) const AGENT: &str = "native";

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "item", rename_all = "snake_case")]
pub(super) enum Item {
    /// The user's prompt: the blocks as they came, and the parts that a model is sent.
    Prompt {
        blocks: Vec<Value>,
        parts: Vec<Part>,
    },
    Answer {
        text: String,
        thought: String,
        calls: Vec<ToolCall>,
        /// False if it was cut off: by the user, or by an error.
        is_whole: bool,
        usage: Option<Usage>,
    },
    /// The result of the call at `index` of the answer at `answer`.
    Called {
        answer: u64,
        index: usize,
        /// The tool call as clients saw it last.
        shown: Value,
        parts: Vec<Part>,
    },
    Options {
        options: Options,
    },
    /// A summary that stands for everything before it.
    Compacted {
        summary: String,
    },
    /// A fresh start: earlier items are no longer sent to the model.
    Cleared,
    /// Parts that are sent differently from here on.
    Edited {
        edits: Vec<Edit>,
    },
    /// A note stands for these parts until they are uncovered.
    Covered(Covering),
    Uncovered {
        name: String,
    },
    /// The subjects of the conversation, part by part; the last such list counts.
    Threads {
        threads: Vec<Thread>,
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
pub(super) struct Edit {
    /// The number of the item.
    pub part: u64,
    #[serde(flatten)]
    pub shape: Shape,
}

/// The form in which a part is sent to the model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "shape", rename_all = "snake_case")]
pub(super) enum Shape {
    Whole,
    Hidden,
    Replaced { text: String },
}

/// A note that stands for parts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Covering {
    pub name: String,
    pub cover: Cover,
    pub note: String,
    pub parts: Vec<u64>,
}

/// Why a note stands for parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Cover {
    /// Put aside, to be taken up again.
    Parked,
    /// The note holds what mattered.
    Distilled,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Thread {
    pub name: String,
    #[serde(default)]
    pub about: String,
    pub parts: Vec<u64>,
}

impl Item {
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
    pub(super) fn moved(&self, places: &HashMap<u64, u64>) -> Option<Self> {
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
pub(super) struct Entry {
    pub seq: u64,
    pub item: Arc<Item>,
}

/// The journal of one session, which is ours until it is released or dropped.
pub(super) struct Journal {
    log: Arc<dyn EventLog>,
    id: SessionId,
    entries: Mutex<Vec<Entry>>,
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
        log.create(NewSession { id, agent, cwd, created, details, origin: None }).await?;
        let claim = log.claim(id).await?;
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
                match event.payload.read::<Item>() {
                    Ok(item) => entries.push(Entry { seq: event.seq.0, item: Arc::new(item) }),
                    Err(error) => tracing::warn!(seq = event.seq.0, %error, "an item is unknown"),
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
    pub(super) async fn add(&self, item: Item) -> Result<u64, StoreError> {
        self.add_with(item, Changes::default()).await
    }

    pub(super) async fn add_with(&self, item: Item, changes: Changes) -> Result<u64, StoreError> {
        let kind = Kind::update(name(&item));
        let draft = Draft { at: mint::now(), turn: None, kind, payload: Json::of(&item) };
        // Items that a person wrote or paid for are worth a sync.
        let durability = match item {
            Item::Prompt { .. } | Item::Answer { .. } | Item::Compacted { .. } => Durability::Power,
            // So is a note that stands for much of it.
            Item::Covered { .. } => Durability::Power,
            _ => Durability::Process,
        };
        let batch = Batch::new(self.id, vec![draft]).durable(durability).with(changes);
        let seq = self.log.append(batch).await?.last.0;
        lock(&self.entries).push(Entry { seq, item: Arc::new(item) });
        Ok(seq)
    }

    pub(super) async fn change(&self, changes: Changes) -> Result<(), StoreError> {
        self.log.update(self.id, changes).await
    }

    /// Releases the session to others, whoever still holds this.
    pub(super) fn release(&self) {
        drop(lock(&self.claim).take());
    }

    /// All entries so far.
    pub(super) fn all(&self) -> Vec<Entry> {
        lock(&self.entries).clone()
    }
}

fn name(item: &Item) -> &'static str {
    match item {
        Item::Prompt { .. } => "native_prompt",
        Item::Answer { .. } => "native_answer",
        Item::Called { .. } => "native_called",
        Item::Options { .. } => "native_options",
        Item::Compacted { .. } => "native_compacted",
        Item::Cleared => "native_cleared",
        Item::Edited { .. } => "native_edited",
        Item::Covered { .. } => "native_covered",
        Item::Uncovered { .. } => "native_uncovered",
        Item::Threads { .. } => "native_threads",
        Item::Failed { .. } => "native_failed",
        Item::Spent { .. } => "native_spent",
        Item::Objective { .. } => "native_objective",
    }
}

#[cfg(test)]
mod tests;
