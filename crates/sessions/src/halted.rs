//! Sessions whose tasks could not go on, and why.
//!
//! In: what a task that failed could not write into the log. Out: why, for whoever looks at the
//! session meanwhile, and for the log, as soon as it takes appends again.
//!
//! Always true: a session is here from its failure until it was put right, or is gone; but no more
//! than [`MAX_HALTED`] are, the last ones.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Mutex;

use tokio::sync::Notify;
use wire::{SessionId, TurnId};

use crate::lock::lock;

/// More than one daemon has awake; each takes as much as a line of text, and one for each prompt.
const MAX_HALTED: usize = 4096;
/// Of a waiting prompt: enough to recognise it.
const MAX_TEXT_BYTES: usize = 500;

/// Why a session's task failed, and what its log lacks because of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Halt {
    pub(crate) why: String,
    /// The turn that ran.
    pub(crate) turn: Option<TurnId>,
    /// It is trouble with the log as a whole, which may pass by itself.
    pub(crate) may_pass: bool,
    /// The prompts that waited, each with the beginning of its text.
    waiting: Vec<QueuedPrompt>,
    /// Prompts that still wait, and are not to run.
    pub(crate) dropped: DroppedPrompts,
}

impl Halt {
    pub(crate) fn new(
        why: String,
        turn: Option<TurnId>,
        may_pass: bool,
        mut waiting: Vec<QueuedPrompt>,
    ) -> Self {
        for QueuedPrompt { text, .. } in &mut waiting {
            text.truncate(text.floor_char_boundary(MAX_TEXT_BYTES));
            text.shrink_to_fit();
        }
        Self { why, turn, may_pass, waiting, dropped: DroppedPrompts::default() }
    }

    /// The prompts that are to run when the session goes on.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = &QueuedPrompt> {
        self.waiting.iter().filter(|prompt| !self.dropped.has(prompt.turn))
    }
}

/// A prompt that waits for its turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueuedPrompt {
    pub turn: TurnId,
    pub text: String,
}

/// Prompts of a halted session that somebody has given up since.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct DroppedPrompts {
    /// Somebody has stopped the session.
    all: bool,
    /// The clients of these were told that they failed.
    turns: Vec<TurnId>,
}

impl DroppedPrompts {
    pub(crate) fn has(&self, turn: TurnId) -> bool {
        self.all || self.turns.contains(&turn)
    }
}

#[derive(Debug, Default)]
pub struct HaltedSessions {
    table: Mutex<HaltTable>,
    added: Notify,
}

#[derive(Debug, Default)]
struct HaltTable {
    halts: BTreeMap<SessionId, Halt>,
    /// In the order in which they came.
    order: VecDeque<SessionId>,
}

impl HaltedSessions {
    pub(crate) fn add(&self, session: SessionId, halt: Halt) {
        let mut table = lock(&self.table);
        table.forget(session);
        if table.halts.len() >= MAX_HALTED
            && let Some(oldest) = table.order.pop_front()
        {
            table.halts.remove(&oldest);
        }
        table.halts.insert(session, halt);
        table.order.push_back(session);
        drop(table);
        self.added.notify_one();
    }

    pub(crate) fn get(&self, session: SessionId) -> Option<Halt> {
        lock(&self.table).halts.get(&session).cloned()
    }

    /// Notes that what still waits in the session is not to run.
    pub(crate) fn drop_all(&self, session: SessionId) {
        self.note_dropped(session, |dropped| dropped.all = true);
    }

    /// Notes that some prompts, which may wait in the session, are not to run.
    pub(crate) fn drop_turns(&self, session: SessionId, turns: impl IntoIterator<Item = TurnId>) {
        self.note_dropped(session, |dropped| dropped.turns.extend(turns));
    }

    fn note_dropped(&self, session: SessionId, note: impl FnOnce(&mut DroppedPrompts)) {
        if let Some(halt) = lock(&self.table).halts.get_mut(&session) {
            note(&mut halt.dropped);
        }
    }

    /// The session is put right, or gone.
    pub(crate) fn remove(&self, session: SessionId) {
        lock(&self.table).forget(session);
    }

    /// Those that can go on when the log can, the oldest first.
    pub(crate) fn to_mend(&self) -> Vec<SessionId> {
        let table = lock(&self.table);
        let may_pass = |id: &&SessionId| table.halts.get(*id).is_some_and(|halt| halt.may_pass);
        table.order.iter().filter(may_pass).copied().collect()
    }

    pub fn n_halted(&self) -> usize {
        lock(&self.table).halts.len()
    }

    /// Waits until another one is added.
    pub(crate) async fn next(&self) {
        self.added.notified().await;
    }
}

impl HaltTable {
    fn forget(&mut self, session: SessionId) {
        if self.halts.remove(&session).is_some() {
            self.order.retain(|other| *other != session);
        }
    }
}

#[cfg(test)]
mod tests;
