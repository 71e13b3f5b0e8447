//! The agents that are driven, one row each.
//!
//! In: nothing. Out: which package, how Switchyard calls it, how it is set up to work offline with
//! our model, and where it is known to differ from the others.

mod recipes;
mod rows;

pub use recipes::{Recipe, Surroundings};
pub use rows::AGENTS;

use crate::checks::Check;
use crate::install::Package;

#[derive(Debug, Clone, Copy)]
pub struct Agent {
    /// As in the table and in `--only`.
    pub id: &'static str,
    pub package: Package,
    pub launch: Launch,
    pub recipe: fn(&Surroundings) -> Recipe,
    /// What it asks permission for.
    pub asks: Asks,
    /// `--model`, and the name under which the server then sees it.
    pub model: Option<(&'static str, &'static str)>,
    /// Whether it is also driven by the official client through `switchyard acp`.
    pub has_sdk_checks: bool,
    pub quirks: &'static [(Check, Quirk)],
}

/// How `switchyard run` is told which agent to use.
#[derive(Debug, Clone, Copy)]
pub enum Launch {
    /// By its name; the variable says where its program is.
    Name { name: &'static str, variable: &'static str },
    /// As a command that speaks ACP, with these arguments.
    Command(&'static [&'static str]),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asks {
    BeforeEdits,
    /// Edits pass without a question, commands do not.
    BeforeCommands,
    Never(&'static str),
}

/// Where an agent does something else than the others, and that is right for it.
#[derive(Debug, Clone, Copy)]
pub enum Quirk {
    NotApplicable(&'static str),
    /// The error of the provider is told as the agent's words, and the turn ends as usual.
    ErrorAsText,
    /// The agent does not say that anything went wrong.
    Hides,
    /// The agent tries again for so long that we cancel.
    KeepsTrying,
    /// The error comes under another of our categories.
    Category(&'static str, &'static str),
}

impl Agent {
    pub fn quirk(&self, check: Check) -> Option<Quirk> {
        self.quirks.iter().find(|(of, _)| *of == check).map(|(_, quirk)| *quirk)
    }

    pub fn by_id(id: &str) -> Option<&'static Self> {
        AGENTS.iter().find(|agent| agent.id == id)
    }
}
