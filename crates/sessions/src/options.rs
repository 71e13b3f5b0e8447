//! Turns "model X", "effort high", "mode plan", "tools off" into the request that an agent
//! understands.
//!
//! In: the agent's answer to session/new, load or resume, and a choice. Out: a method and its
//! params. Agents offer the same choice in three ways; the newest that fits is taken:
//! config options by category, then `modes`, then the legacy `models`. Any other option is found by
//! its id.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use serde_with::skip_serializing_none;
use wire::Json;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OptionChoice<'a> {
    Model,
    Effort,
    Mode,
    /// An option that only this agent has, by its id.
    Option(&'a str),
}

impl<'a> OptionChoice<'a> {
    fn category(self) -> Option<&'static str> {
        match self {
            Self::Model => Some("model"),
            Self::Effort => Some("thought_level"),
            Self::Mode => Some("mode"),
            Self::Option(_) => None,
        }
    }

    pub(crate) fn name(self) -> &'a str {
        match self {
            Self::Model => "model",
            Self::Effort => "effort",
            Self::Mode => "mode",
            Self::Option(id) => id,
        }
    }
}

/// Options that a session gets as soon as its agent has it.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
pub struct InitialOptions {
    pub model: Option<String>,
    pub effort: Option<String>,
    pub mode: Option<String>,
    /// Options that only this agent has, by their ids.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub options: BTreeMap<String, String>,
}

/// A request that set something, to be made again when the agent has forgotten.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
pub struct SettingRequest {
    pub method: String,
    pub params: Json,
}

impl SettingRequest {
    pub(crate) fn n_bytes(&self) -> usize {
        self.method.len() + self.params.as_str().len()
    }
}

/// Modes that ask before they do anything, as agents are known to call them. What others mean
/// is known to the agent alone.
const ASKING_MODES: [&str; 4] = ["ask", "default", "plan", "read-only"];

impl InitialOptions {
    /// Whether they allow the agent no more than it would be allowed without them, for certain.
    pub fn are_restrictive(&self) -> bool {
        // What an option means is known to its agent alone.
        self.options.is_empty()
            && self.mode.as_deref().is_none_or(|mode| ASKING_MODES.contains(&mode))
    }

    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The options that were named. The model comes first: the others may depend on it.
    pub fn all(&self) -> impl Iterator<Item = (OptionChoice<'_>, &str)> {
        let all = [
            (OptionChoice::Model, self.model.as_deref()),
            (OptionChoice::Effort, self.effort.as_deref()),
            (OptionChoice::Mode, self.mode.as_deref()),
        ];
        let options =
            self.options.iter().map(|(id, wanted)| (OptionChoice::Option(id), wanted.as_str()));
        let named = all.into_iter().filter_map(|(choice, wanted)| Some((choice, wanted?)));
        named.chain(options)
    }

    /// These, with the agent's default model where none is named.
    pub(crate) fn with_default_model<'a>(
        &'a self,
        default: Option<&'a str>,
    ) -> impl Iterator<Item = (OptionChoice<'a>, &'a str)> {
        let default = default.filter(|_| self.model.is_none());
        default.map(|model| (OptionChoice::Model, model)).into_iter().chain(self.all())
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotOffered {
    #[error("the agent offers no choice of {0}")]
    NoChoice(String),
    #[error("the agent has no option `{wanted}`{}", only(.known))]
    NoSuchOption { wanted: String, known: Vec<String> },
    #[error("the agent has no {what} `{wanted}`; it offers: {}", .offered.join(", "))]
    NoSuchValue { what: String, wanted: String, offered: Vec<String> },
}

fn only(known: &[String]) -> String {
    match known {
        [] => ": it has none".to_owned(),
        known => format!("; it has: {}", known.join(", ")),
    }
}

/// The request that makes the agent use `wanted`, without its session id.
pub fn request_for(
    answer: &Json,
    choice: OptionChoice<'_>,
    wanted: &str,
) -> Result<(&'static str, Json), NotOffered> {
    let answer: Value = answer.read().unwrap_or_default();
    if let Some(option) = config_option(&answer, choice) {
        if option["type"] == "boolean" {
            let params = json!({ "configId": option["id"], "value": flag(choice, wanted)? });
            return Ok(("session/set_config_option", Json::of(&params)));
        }
        let values = select_values(&option["options"]);
        let value = match find(choice, &values, wanted) {
            // Our own adapters check what the CLI does not list.
            Err(_) if option["_meta"]["switchyard"]["takesOthers"] == true => wanted.to_owned(),
            found => found?,
        };
        let params = json!({ "configId": option["id"], "value": value });
        return Ok(("session/set_config_option", Json::of(&params)));
    }
    let Some((list, id, method, member)) = legacy(&answer, choice) else {
        return Err(match choice {
            OptionChoice::Option(wanted) => {
                let options = answer["configOptions"].as_array().into_iter().flatten();
                let known = options.filter_map(|option| Some(option["id"].as_str()?.to_owned()));
                NotOffered::NoSuchOption { wanted: wanted.to_owned(), known: known.collect() }
            }
            choice => NotOffered::NoChoice(choice.name().to_owned()),
        });
    };
    let values = legacy_values(list, id);
    let value = find(choice, &values, wanted)?;
    Ok((method, Json::of(&json!({ member: value }))))
}

/// The agent's answer after it has taken `setting` with `taken`.
pub(crate) fn answer_after(answer: &Json, setting: &SettingRequest, taken: &Json) -> Json {
    let params: Value = setting.params.read().unwrap_or_default();
    let taken: Value = taken.read().unwrap_or_default();
    let (path, value): (&[&str], &Value) = match &*setting.method {
        "session/set_mode" => (&["modes", "currentModeId"], &params["modeId"]),
        "session/set_model" => (&["models", "currentModelId"], &params["modelId"]),
        _ => (&["configOptions"], &taken["configOptions"]),
    };
    match value.is_null() {
        true => answer.clone(),
        false => {
            wire::set_member(answer, path, &Json::of(value)).unwrap_or_else(|_| answer.clone())
        }
    }
}

/// The values of one choice, and the current one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OfferedValues {
    pub current: Option<String>,
    /// Values and their names.
    pub values: Vec<(String, String)>,
}

/// The agent's values for one choice, by the same order of precedence.
pub fn offered_values(answer: &Value, choice: OptionChoice<'_>) -> Option<OfferedValues> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    if let Some(option) = config_option(answer, choice) {
        let values = select_values(&option["options"]);
        return Some(OfferedValues { current: text(&option["currentValue"]), values });
    }
    let (list, id, _, _) = legacy(answer, choice)?;
    let current = match choice {
        OptionChoice::Mode => &answer["modes"]["currentModeId"],
        _ => &answer["models"]["currentModelId"],
    };
    let values = legacy_values(list, id);
    (!values.is_empty()).then(|| OfferedValues { current: text(current), values })
}

fn config_option<'a>(answer: &'a Value, choice: OptionChoice<'_>) -> Option<&'a Value> {
    let mut options = answer["configOptions"].as_array().into_iter().flatten();
    let Some(category) = choice.category() else {
        return options.find(|option| option["id"] == choice.name());
    };
    let of_category: Vec<&Value> =
        options.filter(|option| option["category"] == category).collect();
    // One agent has a provider in the category of models too.
    let by_name = of_category.iter().find(|option| option["id"] == choice.name());
    by_name.or(of_category.first()).copied()
}

/// The older way: the list, its ids' member, the method and its param.
fn legacy<'a>(
    answer: &'a Value,
    choice: OptionChoice<'_>,
) -> Option<(&'a Value, &'static str, &'static str, &'static str)> {
    match choice {
        OptionChoice::Mode => {
            Some((&answer["modes"]["availableModes"], "id", "session/set_mode", "modeId"))
        }
        OptionChoice::Model => {
            let list = &answer["models"]["availableModels"];
            Some((list, "modelId", "session/set_model", "modelId"))
        }
        OptionChoice::Effort | OptionChoice::Option(_) => None,
    }
}

fn legacy_values(list: &Value, id: &str) -> Vec<(String, String)> {
    let entries = list.as_array().into_iter().flatten();
    entries.filter_map(|entry| named_value(entry, id)).collect()
}

/// Values and names of a select; its options may stand in groups.
fn select_values(options: &Value) -> Vec<(String, String)> {
    let entries = options.as_array().into_iter().flatten();
    let values = entries.flat_map(|entry| match &entry["options"] {
        group @ Value::Array(_) => select_values(group),
        _ => named_value(entry, "value").into_iter().collect(),
    });
    values.collect()
}

/// A value, which is the member `id`, and its name; it is its own where it has no other.
fn named_value(entry: &Value, id: &str) -> Option<(String, String)> {
    let value = entry[id].as_str()?;
    Some((value.to_owned(), entry["name"].as_str().unwrap_or(value).to_owned()))
}

fn flag(choice: OptionChoice<'_>, wanted: &str) -> Result<bool, NotOffered> {
    match wanted.to_ascii_lowercase().as_str() {
        "on" | "true" => Ok(true),
        "off" | "false" => Ok(false),
        _ => Err(NotOffered::NoSuchValue {
            what: choice.name().to_owned(),
            wanted: wanted.to_owned(),
            offered: vec!["on".to_owned(), "off".to_owned()],
        }),
    }
}

fn find(
    choice: OptionChoice<'_>,
    values: &[(String, String)],
    wanted: &str,
) -> Result<String, NotOffered> {
    if values.is_empty() {
        return Err(NotOffered::NoChoice(choice.name().to_owned()));
    }
    let exact = values.iter().find(|(value, _)| value == wanted);
    let by_name = || {
        values.iter().find(|(value, name)| {
            value.eq_ignore_ascii_case(wanted) || name.eq_ignore_ascii_case(wanted)
        })
    };
    // Models are called `provider/model` or `model:latest` by some, and by their users `model`.
    let by_short_name = || {
        let is_meant = |value: &str| {
            let value = value.strip_suffix(":latest").unwrap_or(value);
            let before = value.strip_suffix(wanted);
            before.is_some_and(|before| before.is_empty() || before.ends_with('/'))
        };
        let mut meant = values.iter().filter(|(value, _)| is_meant(value));
        let only = meant.next().filter(|_| meant.next().is_none() && !wanted.is_empty());
        only.filter(|_| choice == OptionChoice::Model)
    };
    match exact.or_else(by_name).or_else(by_short_name) {
        Some((value, _)) => Ok(value.clone()),
        None => Err(NotOffered::NoSuchValue {
            what: choice.name().to_owned(),
            wanted: wanted.to_owned(),
            offered: values.iter().map(|(value, _)| value.clone()).collect(),
        }),
    }
}

#[cfg(test)]
mod tests;
