//! Edits that a model made to its own context, taken together.
//!
//! In: the journal. Out: the form in which each part is sent now, and notes that stand for parts.
//! Later items win over earlier ones; a note that is taken back leaves no trace.

use std::collections::HashMap;

use crate::native::journal::{
    CoveringKind, CoveringNote, JournalEntry, JournalItem, PartShape, WorkThread,
};

#[derive(Debug, Default)]
pub(in crate::native) struct Overlay {
    shapes: HashMap<u64, PartShape>,
    /// In the order in which they were made.
    pub(in crate::native) coverings: Vec<CoveringNote>,
    /// By part, the index of the covering that stands for it.
    covered: HashMap<u64, usize>,
    pub(in crate::native) threads: Vec<WorkThread>,
    pub(in crate::native) objective: Option<String>,
}

impl Overlay {
    pub(in crate::native) fn of(entries: &[JournalEntry]) -> Self {
        let mut overlay = Self::default();
        for entry in entries {
            overlay.apply(&entry.item);
        }
        // Where several stand for a part the first counts, so it is inserted last.
        for (at, covering) in overlay.coverings.iter().enumerate().rev() {
            overlay.covered.extend(covering.parts.iter().map(|part| (*part, at)));
        }
        overlay
    }

    fn apply(&mut self, item: &JournalItem) {
        match item {
            JournalItem::Edited { edits } => {
                for edit in edits {
                    match &edit.shape {
                        PartShape::Whole => self.shapes.remove(&edit.part),
                        shape => self.shapes.insert(edit.part, shape.clone()),
                    };
                }
            }
            JournalItem::Covered(covering) => {
                self.coverings.retain(|known| known.name != covering.name);
                self.coverings.push(covering.clone());
            }
            JournalItem::Uncovered { name } => self.coverings.retain(|known| known.name != *name),
            JournalItem::Threads { threads } => self.threads.clone_from(threads),
            JournalItem::Objective { text } => self.objective.clone_from(text),
            // A fresh start has neither old aims nor old subjects; what was put aside is kept.
            JournalItem::Cleared => {
                self.objective = None;
                self.threads.clear();
            }
            _ => {}
        }
    }

    pub(in crate::native) fn shape(&self, part: u64) -> PartShape {
        self.shapes.get(&part).cloned().unwrap_or(PartShape::Whole)
    }

    /// Parts that are hidden or replaced.
    pub(in crate::native) fn edited(&self) -> Vec<u64> {
        let mut parts: Vec<u64> = self.shapes.keys().copied().collect();
        parts.sort_unstable();
        parts
    }

    /// The note that stands for a part; of several the first.
    pub(in crate::native) fn covering(&self, part: u64) -> Option<&CoveringNote> {
        self.coverings.get(*self.covered.get(&part)?)
    }

    pub(in crate::native) fn named(&self, name: &str) -> Option<&CoveringNote> {
        self.coverings.iter().find(|covering| covering.name == name)
    }
}

impl CoveringNote {
    /// The text that is sent in the place of the parts.
    pub(super) fn told(&self) -> String {
        let (name, note, n) = (&self.name, &self.note, self.parts.len());
        match self.cover {
            CoveringKind::Parked => {
                let note = note.replace('\n', " ");
                format!("[Put aside: the thread `{name}`, {n} parts. {note}]")
            }
            CoveringKind::Distilled => {
                format!("[Notes `{name}`, in the place of {n} parts:]\n{note}")
            }
        }
    }
}
