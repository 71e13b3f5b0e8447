//! The choice of context tools: as the configuration, a variable or a session has it.

use std::collections::BTreeSet;
use std::fmt;

use serde::Deserialize;
use serde::de::{SeqAccess, Visitor};

use crate::native::lenient;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ContextToolName {
    ContextEdit,
    ThreadPark,
    ClassifierThreads,
    DistillThreads,
    ObjectiveSet,
    Verify,
    Refine,
}

impl ContextToolName {
    pub const ALL: [Self; 7] = [
        Self::ContextEdit,
        Self::ThreadPark,
        Self::ClassifierThreads,
        Self::DistillThreads,
        Self::ObjectiveSet,
        Self::Verify,
        Self::Refine,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::ContextEdit => "context_edit",
            Self::ThreadPark => "thread_park",
            Self::ClassifierThreads => "classifier_threads",
            Self::DistillThreads => "distill_threads",
            Self::ObjectiveSet => "objective_set",
            Self::Verify => "verify",
            Self::Refine => "refine",
        }
    }
}

/// The context tools that are on: `true`, `false`, or names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EnabledContextTools(BTreeSet<ContextToolName>);

impl EnabledContextTools {
    pub fn all() -> Self {
        Self(ContextToolName::ALL.into())
    }

    pub fn has(&self, name: ContextToolName) -> bool {
        self.0.contains(&name)
    }

    /// Whether some of them are on and others are not.
    pub fn is_partly_on(&self) -> bool {
        !self.0.is_empty() && self.0.len() < ContextToolName::ALL.len()
    }

    /// Reads the value of a variable: `on`, `off`, or names.
    pub fn read(text: &str) -> Option<Self> {
        if let Some(is_on) = lenient::is_on(text) {
            return Some(Self::all_or_none(is_on));
        }
        let named =
            |word: &str| ContextToolName::ALL.into_iter().find(|name| name.as_str() == word.trim());
        text.split(',').map(named).collect()
    }

    /// All of them, or none.
    pub fn all_or_none(is_on: bool) -> Self {
        if is_on { Self::all() } else { Self::default() }
    }

    /// The names of those that are on.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.0.iter().map(|name| name.as_str())
    }
}

impl FromIterator<ContextToolName> for EnabledContextTools {
    fn from_iter<T: IntoIterator<Item = ContextToolName>>(names: T) -> Self {
        Self(names.into_iter().collect())
    }
}

impl<'de> Deserialize<'de> for EnabledContextTools {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;

        impl<'de> Visitor<'de> for Either {
            type Value = EnabledContextTools;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("true, false or a list of names of context tools")
            }

            fn visit_bool<E>(self, is_on: bool) -> Result<EnabledContextTools, E> {
                Ok(EnabledContextTools::all_or_none(is_on))
            }

            fn visit_seq<A: SeqAccess<'de>>(
                self,
                mut names: A,
            ) -> Result<EnabledContextTools, A::Error> {
                let mut switch = EnabledContextTools::default();
                while let Some(name) = names.next_element()? {
                    switch.0.insert(name);
                }
                Ok(switch)
            }
        }

        deserializer.deserialize_any(Either)
    }
}
