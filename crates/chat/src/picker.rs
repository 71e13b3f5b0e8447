//! A list to choose from, narrowed by typing.

use crate::conversation::line;

/// Entries of a list; typing narrows it.
const MAX_ENTRIES: usize = 1000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PickerKind {
    Session,
    Agent,
    Option(AgentOption),
}

/// An option of the agent whose values are chosen from a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AgentOption {
    Model,
    Mode,
    Effort,
}

impl AgentOption {
    /// Its name in the API.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::Mode => "mode",
            Self::Effort => "effort",
        }
    }
}

impl PickerKind {
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Session => "Sessions",
            Self::Agent => "Agents",
            Self::Option(AgentOption::Model) => "Models",
            Self::Option(AgentOption::Mode) => "Modes",
            Self::Option(AgentOption::Effort) => "Reasoning effort",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PickerEntry {
    /// Sent as it is, and never shown.
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) about: String,
    /// It cannot be chosen, for the reason in `about`.
    pub(crate) is_blocked: bool,
}

impl PickerEntry {
    pub(crate) fn new(id: &str, name: &str, about: &str) -> Self {
        let (name, about) = (line(name, 200), line(about, 300));
        Self { id: id.to_owned(), name, about, is_blocked: false }
    }
}

#[derive(Debug)]
pub(crate) struct Picker {
    pub(crate) kind: PickerKind,
    pub(crate) filter: String,
    pub(crate) is_loading: bool,
    entries: Vec<PickerEntry>,
    pub(crate) selected: usize,
}

impl Picker {
    pub(crate) fn loading(kind: PickerKind) -> Self {
        Self { kind, filter: String::new(), is_loading: true, entries: Vec::new(), selected: 0 }
    }

    /// Sets the entries; the selected one stays selected.
    pub(crate) fn fill(&mut self, entries: Vec<PickerEntry>, is_complete: bool) {
        let chosen = self.chosen().map(|entry| entry.id.clone());
        self.entries = entries;
        self.entries.truncate(MAX_ENTRIES);
        self.is_loading = !is_complete;
        let place = |id: String| self.shown().iter().position(|entry| entry.id == id);
        self.selected = chosen.and_then(place).unwrap_or_default();
    }

    pub(crate) fn shown(&self) -> Vec<&PickerEntry> {
        let words: Vec<String> = self.filter.split_whitespace().map(str::to_lowercase).collect();
        let fits = |entry: &&PickerEntry| {
            let text = format!("{} {} {}", entry.name, entry.about, entry.id).to_lowercase();
            words.iter().all(|word| text.contains(word))
        };
        self.entries.iter().filter(fits).collect()
    }

    pub(crate) fn chosen(&self) -> Option<&PickerEntry> {
        self.shown().get(self.selected).copied()
    }

    pub(crate) fn step(&mut self, by: isize) {
        let last = self.shown().len().saturating_sub(1);
        self.selected = self.selected.saturating_add_signed(by).min(last);
    }

    pub(crate) fn narrow(&mut self, change: impl FnOnce(&mut String)) {
        change(&mut self.filter);
        self.selected = 0;
    }
}
