//! The catalogue of agents: those inside this binary, the shipped definitions, and the user's
//! own.
//!
//! In: the definitions that are embedded in this binary, and entries of the configuration.
//! Out: definitions by id or alias. Every definition in a catalogue has been checked, and no
//! two agents answer to the same name.

mod custom_agent;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use crate::definition::{DefinitionError, RuntimeDefinition};

pub use custom_agent::{CustomAgent, CustomAgentError, CustomModel};

/// An agent inside this binary. Nobody else can have its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BuiltInAgent {
    Native,
    Demo,
}

impl BuiltInAgent {
    pub const ALL: [Self; 2] = [Self::Native, Self::Demo];

    pub fn id(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Demo => "demo",
        }
    }

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.id() == name)
    }
}

/// Name and text of each file in `definitions/`.
const SHIPPED: &[(&str, &str)] = &include!(concat!(env!("OUT_DIR"), "/shipped.rs"));

/// The shipped definitions, read and checked once.
pub fn shipped() -> Result<&'static [RuntimeDefinition], DefinitionError> {
    static PARSED: OnceLock<Result<Vec<RuntimeDefinition>, DefinitionError>> = OnceLock::new();
    let parsed = PARSED.get_or_init(|| {
        let all = SHIPPED.iter().map(|(_, text)| RuntimeDefinition::parse(text));
        let all: Vec<_> = all.collect::<Result<_, _>>()?;
        names_are_unique(&all)?;
        Ok(all)
    });
    parsed.as_ref().map(Vec::as_slice).map_err(Clone::clone)
}

/// All agents of one user.
#[derive(Debug, Clone)]
pub struct Catalogue {
    definitions: Vec<RuntimeDefinition>,
}

impl Catalogue {
    /// The shipped definitions alone.
    pub fn shipped() -> Result<Self, DefinitionError> {
        Ok(Self { definitions: shipped()?.to_vec() })
    }

    /// These definitions alone.
    pub fn of(definitions: Vec<RuntimeDefinition>) -> Result<Self, DefinitionError> {
        definitions.iter().try_for_each(RuntimeDefinition::check)?;
        names_are_unique(&definitions)?;
        Ok(Self { definitions })
    }

    /// The shipped definitions and the user's own; an own one takes the place of a shipped one
    /// with the same id, and takes the name if it is another's alias.
    pub fn with_custom(own: &BTreeMap<String, CustomAgent>) -> Result<Self, CustomAgentError> {
        let mut all = Self::shipped()?;
        let mut ids = BTreeSet::new();
        for (name, entry) in own {
            let id = custom_agent::id_of(name);
            if BuiltInAgent::named(&id).is_some() {
                return Err(CustomAgentError::Reserved(id));
            }
            if !ids.insert(id.clone()) {
                return Err(CustomAgentError::Twice(id));
            }
            all.put(entry.definition(name, shipped()?)?);
        }
        names_are_unique(&all.definitions)?;
        Ok(all)
    }

    /// Adds a definition as if it were shipped; it takes the place of one with its id.
    pub fn add(&mut self, definition: RuntimeDefinition) -> Result<(), DefinitionError> {
        self.put(definition);
        names_are_unique(&self.definitions)
    }

    /// The definition with this id or alias.
    pub fn get(&self, name: &str) -> Option<&RuntimeDefinition> {
        let by_id = self.definitions.iter().find(|one| one.id == name);
        by_id.or_else(|| self.definitions.iter().find(|one| one.aliases.iter().any(|a| a == name)))
    }

    pub fn iter(&self) -> impl Iterator<Item = &RuntimeDefinition> {
        self.definitions.iter()
    }

    /// The ids of all agents, those inside this binary first.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        let inside: [&str; 2] = BuiltInAgent::ALL.map(BuiltInAgent::id);
        inside.into_iter().chain(self.iter().map(|one| one.id.as_str()))
    }

    /// All names that an agent answers to.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.ids().chain(self.iter().flat_map(|one| &one.aliases).map(String::as_str))
    }

    fn put(&mut self, own: RuntimeDefinition) {
        for other in &mut self.definitions {
            other.aliases.retain(|alias| *alias != own.id);
        }
        match self.definitions.iter_mut().find(|one| one.id == own.id) {
            Some(place) => *place = own,
            None => self.definitions.push(own),
        }
    }
}

fn names_are_unique(definitions: &[RuntimeDefinition]) -> Result<(), DefinitionError> {
    let mut owners: BTreeMap<&str, &str> = BTreeMap::new();
    for definition in definitions {
        for name in definition.aliases.iter().chain([&definition.id]) {
            if let Some(owner) = owners.insert(name, &definition.id) {
                return Err(DefinitionError::NameTaken {
                    definition: definition.id.clone(),
                    name: name.clone(),
                    owner: owner.to_owned(),
                });
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
