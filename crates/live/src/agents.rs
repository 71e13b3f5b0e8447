//! The agents that are driven, one row each.
//!
//! In: nothing. Out: which package, how Switchyard calls it, how it is set up to work offline with
//! our model, and where it is known to differ from the others.

mod agent_table;
pub(crate) mod recipes;

pub use agent_table::{AGENTS, OWN};
pub use recipes::{AgentRecipe, AgentSurroundings};

use crate::check::Check;
use crate::install::Package;

#[derive(Debug, Clone, Copy)]
pub struct Agent {
    /// As in the table and in `--only`.
    pub id: &'static str,
    pub package: Package,
    pub launch: Launch,
    pub recipe: fn(&AgentSurroundings) -> AgentRecipe,
    /// The actions it asks permission for.
    pub asks: PermissionHabit,
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
    /// By its name; it is in the binary itself.
    Own(&'static str),
    /// As a command that speaks ACP, with these arguments.
    Command(&'static [&'static str]),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PermissionHabit {
    BeforeEdits,
    /// Before edits too, but only in this mode of its own.
    InMode(&'static str),
    /// Edits pass without a question, commands do not.
    BeforeCommands,
    Never(&'static str),
}

/// An accepted deviation of an agent from the others.
#[derive(Debug, Clone, Copy)]
pub enum Quirk {
    NotApplicable(&'static str),
    /// The error of the provider is told in these words of the agent's, and the turn ends as usual.
    ErrorAsText(&'static str),
    /// The agent ends its turn without output, so only the fact of an error is known.
    Hides,
    /// The agent tries again for so long that we cancel.
    KeepsTrying,
}

impl Agent {
    pub fn quirk(&self, check: Check) -> Option<Quirk> {
        self.quirks.iter().find(|(of, _)| *of == check).map(|(_, quirk)| *quirk)
    }

    pub fn by_id(id: &str) -> Option<&'static Self> {
        AGENTS.iter().find(|agent| agent.id == id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_definition_claims_a_version_that_is_not_run_here() {
        let definitions = concat!(env!("CARGO_MANIFEST_DIR"), "/../runtimes/definitions");
        let mut n_claims = 0;
        for entry in std::fs::read_dir(definitions).unwrap() {
            let path = entry.unwrap().path();
            let id = path.file_stem().unwrap().to_string_lossy().into_owned();
            let text = std::fs::read_to_string(&path).unwrap();
            let claims = text.lines().find_map(|line| line.strip_prefix("live = ["));
            let claims = claims.unwrap_or_default().trim_end_matches(']').split(", ");
            for claim in claims.map(|claim| claim.trim_matches('"')).filter(|c| !c.is_empty()) {
                n_claims += 1;
                let is_run = AGENTS.iter().any(|agent| {
                    let is_it = match agent.launch {
                        Launch::Name { name, .. } => name == id,
                        Launch::Command(_) => agent.package.program == id,
                        Launch::Own(_) => false,
                    };
                    is_it && agent.package.version == claim
                });
                assert!(is_run, "{id} {claim}");
            }
        }
        assert!(n_claims >= 13);
    }

    #[test]
    fn every_agent_is_told_apart_and_set_up_in_its_own_home() {
        let home = std::path::PathBuf::from("/home/of/agent");
        for agent in AGENTS {
            let same = AGENTS.iter().filter(|other| other.id == agent.id).count();
            assert_eq!(same, 1, "{}", agent.id);
            let model_url = format!("http://127.0.0.1:1/{}", agent.id);
            let recipe = (agent.recipe)(&AgentSurroundings {
                home: home.clone(),
                model_url: model_url.clone(),
            });
            let told: String = recipe
                .files
                .iter()
                .map(|(_, text)| text.clone())
                .chain(recipe.variables.iter().map(|(_, value)| value.clone()))
                .chain(recipe.first.iter().flatten().cloned())
                .collect();
            assert!(told.contains(&model_url), "{} does not know the model", agent.id);
            assert!(recipe.files.iter().all(|(path, _)| path.starts_with('.')), "{}", agent.id);
        }
    }
}
