//! The model and the reasoning effort of a run: checked before anything is started, and set.

use serde_json::{Value, json};
use sessions::details::SessionDetails;
use sessions::options::{InitialOptions, OptionChoice, offered_values};
use sessions::session::{ChooseError, SessionHandle};
use store::SessionRecord;

use super::Runs;
use super::agents::efforts_of;
use crate::daemon::agents::FoundAgents;
use crate::problem::{Problem, shown};

const MAX_MODEL_CHARS: usize = 200;

/// The options requested for a run, and whether only the agent itself can tell if it offers them.
#[derive(Debug)]
pub(super) struct CheckedOptions {
    pub(super) initial_options: InitialOptions,
    pub(super) is_unsure: bool,
}

impl Runs {
    /// Refuses a model or an effort that no agent, or not this one, can be set to.
    pub(super) async fn check_options(
        &self,
        agent: &str,
        model: Option<&str>,
        reasoning: Option<&str>,
    ) -> Result<CheckedOptions, Problem> {
        let is_plain = model.is_none_or(is_plain_model);
        let initial_options = InitialOptions {
            model: model.map(str::to_owned),
            effort: reasoning.map(str::to_owned),
            ..InitialOptions::default()
        };
        if is_plain && reasoning.is_none() {
            return Ok(CheckedOptions { initial_options, is_unsure: false });
        }
        let known = self.known_agent(agent).await.unwrap_or_default();
        let models = known["models"].as_array().map(Vec::as_slice).unwrap_or_default();
        let listed = models.iter().find(|listed| listed["id"].as_str() == model);
        if !is_plain && listed.is_none() {
            return Err(Problem::bad_request(format!(
                "`model` `{}` is neither one that the agent lists nor 1 to {MAX_MODEL_CHARS} \
                 letters, digits and `._/:@-`",
                shown(model.unwrap_or_default())
            )));
        }
        let mut efforts = efforts_of(listed.unwrap_or(&Value::Null));
        if efforts.is_empty() {
            efforts = efforts_of(&known);
        }
        match reasoning {
            Some(effort) if !efforts.is_empty() && !efforts.iter().any(|one| one == effort) => {
                let why = format!(
                    "the agent has no reasoning `{}`; it offers: {}",
                    shown(effort),
                    efforts.join(", ")
                );
                Err(Problem::bad_request(why).details(json!({ "offered": efforts })))
            }
            reasoning => Ok(CheckedOptions {
                initial_options,
                is_unsure: reasoning.is_some() && efforts.is_empty(),
            }),
        }
    }

    /// One agent as detection found it.
    async fn known_agent(&self, agent: &str) -> Option<Value> {
        let find = |agents: &[wire::Json]| {
            let read = |one: &wire::Json| one.read::<Value>().ok();
            agents.iter().filter_map(read).find(|one| one["id"] == agent)
        };
        let mut found = self.daemon.agents.follow(&self.daemon.registry, false);
        let is_there = |found: &FoundAgents| found.is_done || find(&found.agents).is_some();
        find(&FoundAgents::when(&mut found, is_there).await.agents)
    }

    /// Sets the requested options of an existing session, where they are not set already.
    pub(super) async fn apply_options(
        &self,
        record: &SessionRecord,
        initial_options: &InitialOptions,
    ) -> Result<(), Problem> {
        let details = SessionDetails::read(record);
        for (choice, wanted) in initial_options.all() {
            let is_noted = is_noted(&details, choice, wanted);
            let choosing = |session: SessionHandle| async move {
                let is_so = match session.offer().await? {
                    Some(offer) => {
                        let offered =
                            offered_values(&offer.answer.read().unwrap_or_default(), choice);
                        offered.map_or(is_noted, |it| it.current.as_deref() == Some(wanted))
                    }
                    // It will be set again when the agent starts.
                    None => is_noted,
                };
                match is_so {
                    true => Ok(Ok(())),
                    false => match session.choose(choice, wanted).await {
                        Err(ChooseError::Session(error)) => Err(error),
                        chosen => Ok(chosen),
                    },
                }
            };
            self.daemon.registry.with(record.id, choosing).await??;
        }
        Ok(())
    }
}

/// Whether the session's record says that it was set to this the last time.
fn is_noted(details: &SessionDetails, choice: OptionChoice<'_>, wanted: &str) -> bool {
    let mut set = details.settings.values().filter_map(|setting| {
        let params: Value = setting.params.read().ok()?;
        let (is_of_choice, value) = match choice {
            OptionChoice::Model => match &*setting.method {
                "session/set_model" => (true, params["modelId"].clone()),
                _ => (params["configId"] == "model", params["value"].clone()),
            },
            OptionChoice::Effort => {
                let id = params["configId"].as_str().unwrap_or_default();
                let is_effort = matches!(id, "effort" | "thought_level" | "reasoning");
                (is_effort, params["value"].clone())
            }
            OptionChoice::Mode | OptionChoice::Option(_) => (false, Value::Null),
        };
        is_of_choice.then_some(value)
    });
    match set.next() {
        Some(value) => value == wanted,
        None => details.initial_options.all().any(|requested| requested == (choice, wanted)),
    }
}

/// Whether a model's name may become a command line argument without being listed anywhere.
fn is_plain_model(model: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._/:@-".contains(c);
    (1..=MAX_MODEL_CHARS).contains(&model.len())
        && model.starts_with(|c: char| c.is_ascii_alphanumeric())
        && model.chars().all(is_plain)
}

#[cfg(test)]
mod tests;
