//! One session: what it remembers, and the turn that runs in it.
//!
//! In: prompts and the updates that were sent. Out: the memory that is kept on disk and replayed.
//! There is at most one turn at a time, and the memory has a limit: the oldest entries go first.

use super::settings::Settings;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::VecDeque;
use tokio::sync::watch;

// Enough for any story a test tells. Floods are not recorded at all.
const MAX_HISTORY: usize = 4096;

/// What survives the process.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Record {
    pub(super) session_id: String,
    pub(super) cwd: String,
    #[serde(default)]
    pub(super) title: Option<String>,
    pub(super) updated_at: String,
    #[serde(default)]
    pub(super) settings: Settings,
    /// What the user asked to `remember`.
    #[serde(default)]
    pub(super) notes: Vec<String>,
    /// The texts of the user's prompts.
    #[serde(default)]
    pub(super) prompts: VecDeque<String>,
    /// The `update` objects to replay, the user's messages among them.
    #[serde(default)]
    pub(super) history: VecDeque<Value>,
}

pub(super) struct Session {
    pub(super) record: Record,
    /// A closed session is remembered and refuses prompts until it is loaded or resumed.
    pub(super) is_open: bool,
    /// Set to true to cancel the running turn.
    pub(super) turn: Option<watch::Sender<bool>>,
}

impl Record {
    pub(super) fn new(session_id: String, cwd: String) -> Self {
        Self {
            session_id,
            cwd,
            title: None,
            updated_at: now(),
            settings: Settings::default(),
            notes: Vec::new(),
            prompts: VecDeque::new(),
            history: VecDeque::new(),
        }
    }

    pub(super) fn remember_prompt(&mut self, text: String) {
        self.updated_at = now();
        if self.title.is_none() {
            self.title = text.lines().next().map(|line| line.chars().take(60).collect());
        }
        push_bounded(&mut self.prompts, text);
    }

    pub(super) fn remember_update(&mut self, update: Value) {
        push_bounded(&mut self.history, update);
    }
}

impl Session {
    pub(super) fn open(record: Record) -> Self {
        Self { record, is_open: true, turn: None }
    }

    pub(super) fn cancel(&self) {
        if let Some(turn) = &self.turn {
            turn.send_replace(true);
        }
    }
}

pub(super) fn now() -> String {
    jiff::Timestamp::now().to_string()
}

fn push_bounded<T>(queue: &mut VecDeque<T>, entry: T) {
    if queue.len() >= MAX_HISTORY {
        queue.pop_front();
    }
    queue.push_back(entry);
}
