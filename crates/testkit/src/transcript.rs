//! A transcript: the lines of both peers, in order.
//!
//! In: lines with their direction. Out: the same, and the JSON in them.
//! A line is kept as it was, also when it is no message.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::Path;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Direction {
    #[serde(rename = "c2a")]
    ClientToAgent,
    #[serde(rename = "a2c")]
    AgentToClient,
}

impl Direction {
    #[must_use]
    pub fn opposite(self) -> Self {
        match self {
            Self::ClientToAgent => Self::AgentToClient,
            Self::AgentToClient => Self::ClientToAgent,
        }
    }
}

/// One line without its newline.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TranscriptEntry {
    #[serde(rename = "dir")]
    pub direction: Direction,
    pub line: String,
}

impl TranscriptEntry {
    pub fn json(&self) -> Option<Value> {
        serde_json::from_str(&self.line).ok()
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Transcript {
    pub entries: Vec<TranscriptEntry>,
}

impl Transcript {
    pub fn push(&mut self, direction: Direction, line: impl Into<String>) {
        self.entries.push(TranscriptEntry { direction, line: line.into() });
    }

    /// Reads a record with one [`TranscriptEntry`] as JSON per line.
    pub fn read(path: impl AsRef<Path>) -> std::io::Result<Self> {
        let record = std::fs::read_to_string(path)?;
        let entries = record.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
        Ok(Self { entries })
    }

    /// The messages of one direction; lines that are no JSON are left out.
    pub fn messages(&self, direction: Direction) -> impl Iterator<Item = Value> {
        self.entries
            .iter()
            .filter(move |entry| entry.direction == direction)
            .filter_map(TranscriptEntry::json)
    }

    /// The requests and notifications of one method.
    pub fn calls(&self, direction: Direction, method: &str) -> impl Iterator<Item = Value> {
        self.messages(direction).filter(move |message| message["method"] == method)
    }
}
