//! The options of a session: model, mode, how hard to think, and which tools there are.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use wire::RpcError;

use super::lenient;
use super::providers::OfferedModel;
use super::settings::EnabledContextTools;

/// Permission modes: what the agent may do without asking.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ApprovalMode {
    #[default]
    Ask,
    Code,
    Plan,
    Auto,
}

impl ApprovalMode {
    pub(super) const ALL: [Self; 4] = [Self::Ask, Self::Code, Self::Plan, Self::Auto];

    /// Its id, its name, and what it does.
    fn words(self) -> [&'static str; 3] {
        match self {
            Self::Ask => ["ask", "Ask", "Asks before it edits, runs a command or fetches a page"],
            Self::Code => ["code", "Code", "Edits files by itself; asks before commands and pages"],
            Self::Plan => ["plan", "Plan", "Only looks around and makes a plan"],
            Self::Auto => {
                ["auto", "Auto", "Does everything without asking, except in protected places"]
            }
        }
    }

    pub(super) fn id(self) -> &'static str {
        self.words()[0]
    }

    pub(super) fn read(id: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.id() == id)
    }
}

/// Reasoning efforts of a model; one that is not chosen is left to the endpoint.
const EFFORTS: [(&str, &str); 5] = [
    (DEFAULT_EFFORT, "Default"),
    ("minimal", "Minimal"),
    ("low", "Low"),
    ("medium", "Medium"),
    ("high", "High"),
];
const DEFAULT_EFFORT: &str = "default";

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct SessionOptions {
    /// The model's id, as it is offered.
    pub model: String,
    pub mode: ApprovalMode,
    pub effort: Option<String>,
    /// Whether there are tools; where nobody chose, as configured.
    #[serde(default)]
    pub tools: Option<bool>,
    /// The same for the tools for the agent's own context.
    #[serde(default)]
    pub context_tools: Option<bool>,
}

impl SessionOptions {
    /// Sets one option; says whether it was another before.
    pub(super) fn set(
        &mut self,
        id: &str,
        value: &str,
        offers: &[OfferedModel],
    ) -> Result<bool, RpcError> {
        let before = self.clone();
        match id {
            "model" => self.model = model(value, offers)?,
            "mode" => {
                let unknown =
                    || RpcError::invalid_params(format_args!("there is no mode `{value}`"));
                self.mode = ApprovalMode::read(value).ok_or_else(unknown)?;
            }
            "thought_level" => {
                if !EFFORTS.iter().any(|(known, _)| *known == value) {
                    return Err(RpcError::invalid_params(format_args!(
                        "there is no thought level `{value}`"
                    )));
                }
                self.effort = (value != DEFAULT_EFFORT).then(|| value.to_owned());
            }
            "tools" => self.tools = Some(switched(id, value)?),
            "context_tools" if value == SOME => self.context_tools = None,
            "context_tools" => self.context_tools = Some(switched(id, value)?),
            _ => {
                return Err(RpcError::invalid_params(format_args!(
                    "there is no option `{id}`, only model, mode, thought_level, tools and \
                     context_tools"
                )));
            }
        }
        Ok(*self != before)
    }

    /// As ACP's `configOptions`; with what counts as configured where nobody chose.
    pub(super) fn to_acp(
        &self,
        offers: &[OfferedModel],
        tools: bool,
        context_tools: &EnabledContextTools,
    ) -> Value {
        let is_offered = offers.iter().any(|offer| offer.id == self.model);
        let own = (!is_offered).then(|| json!({ "value": self.model, "name": self.model }));
        let models = offers.iter().map(|offer| json!({ "value": offer.id, "name": offer.name() }));
        let models = own.into_iter().chain(models).collect();
        let modes = ApprovalMode::ALL.map(|mode| {
            let [id, name, description] = mode.words();
            json!({ "value": id, "name": name, "description": description })
        });
        let efforts: Vec<Value> =
            EFFORTS.iter().map(|(id, name)| json!({ "value": id, "name": name })).collect();
        let effort = self.effort.as_deref().unwrap_or(DEFAULT_EFFORT);
        let tools = if self.tools.unwrap_or(tools) { ON } else { OFF };
        let mut model = select("model", "Model", "model", &self.model, models);
        if offers.is_empty() {
            // Nobody knows which there are: any may be named.
            model["_meta"] = json!({ "switchyard": { "takesOthers": true } });
        }
        json!([
            model,
            select("mode", "Mode", "mode", self.mode.id(), modes.into()),
            select("thought_level", "Thinking", "thought_level", effort, efforts),
            switch("tools", "Tools", "Off for models that can only talk", tools),
            self.context_tools_to_acp(context_tools),
        ])
    }

    fn context_tools_to_acp(&self, configured: &EnabledContextTools) -> Value {
        let current = match self.context_tools {
            None if configured.is_partly_on() => SOME,
            None if *configured == EnabledContextTools::default() => OFF,
            Some(false) => OFF,
            None | Some(true) => ON,
        };
        let about = "Tools with which a model works on its own context";
        let mut option = switch("context_tools", "Context tools", about, current);
        if let (true, Some(values)) = (configured.is_partly_on(), option["options"].as_array_mut())
        {
            let names: Vec<&str> = configured.names().collect();
            values.push(json!({ "value": SOME, "name": "Some", "description": names.join(", ") }));
        }
        option
    }

    /// As ACP's older `modes`.
    pub(super) fn modes_to_acp(&self) -> Value {
        json!({ "currentModeId": self.mode.id(), "availableModes": modes() })
    }
}

/// The modes that every session has.
pub fn modes() -> Vec<Value> {
    let all = ApprovalMode::ALL.map(|mode| {
        let [id, name, description] = mode.words();
        json!({ "id": id, "name": name, "description": description })
    });
    all.into()
}

/// The reasoning efforts that any model can be given.
pub fn efforts() -> Vec<&'static str> {
    EFFORTS.iter().map(|(id, _)| *id).collect()
}

/// The id for a chosen model. One that no endpoint lists may still be there: deployments, aliases.
fn model(value: &str, offers: &[OfferedModel]) -> Result<String, RpcError> {
    if let Some(offer) = matching_offer(value, offers) {
        return Ok(offer.id.clone());
    }
    let is_plausible = !value.is_empty()
        && value.len() <= 200
        && value.chars().all(|c| !c.is_control() && !c.is_whitespace());
    match is_plausible && offers.is_empty() {
        true => Ok(value.to_owned()),
        false => {
            let known: Vec<&str> = offers.iter().take(10).map(|offer| &*offer.id).collect();
            let known = known.join(", ");
            Err(RpcError::invalid_params(format_args!(
                "there is no model `{value}`; there are {known}"
            )))
        }
    }
}

/// The offer that a name stands for: its own, without `:latest` as Ollama has it, or without
/// the provider where only one has a model of that name, or the first one, which is the default.
fn matching_offer<'a>(value: &str, offers: &'a [OfferedModel]) -> Option<&'a OfferedModel> {
    let is_latest = |id: &str, value: &str| id.strip_suffix(":latest") == Some(value);
    let is_named = |id: &str| id == value || is_latest(id, value);
    let exact = offers.iter().find(|offer| offer.id == value);
    let latest = || offers.iter().find(|offer| is_latest(&offer.id, value));
    let bare = || {
        let (default, _) = offers.first().and_then(of_model)?;
        let named =
            |offer: &&OfferedModel| of_model(offer).is_some_and(|(_, model)| is_named(model));
        let of_default = |offer: &&OfferedModel| {
            of_model(offer).is_some_and(|(provider, _)| provider == default)
        };
        let mut all = offers.iter().filter(named);
        match (all.next(), all.next()) {
            (Some(only), None) => Some(only),
            _ => offers.iter().filter(of_default).find(named),
        }
    };
    exact.or_else(latest).or_else(bare)
}

fn of_model(offer: &OfferedModel) -> Option<(&str, &str)> {
    offer.id.split_once('/')
}

/// Values of an option that is on or off.
const ON: &str = "on";
const OFF: &str = "off";
/// The value for those that the configuration names.
const SOME: &str = "some";

fn switched(id: &str, value: &str) -> Result<bool, RpcError> {
    let unknown = || RpcError::invalid_params(format_args!("`{id}` is on or off, not `{value}`"));
    lenient::is_on(value).ok_or_else(unknown)
}

/// An option that is on or off; without a category, because none of ACP's is about tools.
fn switch(id: &str, name: &str, about: &str, current: &str) -> Value {
    json!({
        "id": id, "name": name, "description": about, "type": "select", "currentValue": current,
        "options": [{ "value": ON, "name": "On" }, { "value": OFF, "name": "Off" }],
    })
}

fn select(id: &str, name: &str, category: &str, current: &str, options: Vec<Value>) -> Value {
    json!({
        "id": id, "name": name, "category": category,
        "type": "select", "currentValue": current, "options": options,
    })
}

#[cfg(test)]
mod tests;
