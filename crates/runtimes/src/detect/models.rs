//! Parsers for the models that a CLI lists.
//!
//! In: its output, in one of several formats. Out: models; other lines are skipped.

use serde_json::Value;

use super::detected_agent::ModelsSource;
use super::facts::ModelsFact;
use crate::argument_checks;
use crate::definition::ModelListFormat;
use crate::dialect::Model;

/// The longest list of models that is kept, for people to choose from; one agent lists several
/// hundred.
const MAX_MODELS: usize = 2000;

pub(super) fn parse(shape: ModelListFormat, output: &str) -> Vec<Model> {
    let mut models: Vec<Model> = match shape {
        ModelListFormat::Lines => output.lines().filter_map(line).collect(),
        ModelListFormat::Table => output.lines().filter_map(row).collect(),
        ModelListFormat::CodexJson => codex(output),
    };
    models.truncate(MAX_MODELS);
    models
}

/// A model of a line `id` or `id - Name`.
fn line(line: &str) -> Option<Model> {
    let line = line.trim();
    let (id, name) = match line.split_once(" - ") {
        Some((id, name)) => (id.trim(), Some(name.trim().to_owned())),
        None => (line, None),
    };
    // A lone word with a colon at its end is a heading.
    let is_id = argument_checks::model_id(id).is_ok() && !id.ends_with(':');
    is_id.then(|| Model { id: id.to_owned(), name, ..Model::default() })
}

/// A model of a table row: provider, model, and more columns that are not used.
fn row(line: &str) -> Option<Model> {
    let mut columns = line.split_whitespace();
    let (provider, model) = (columns.next()?, columns.next()?);
    let is_heading = provider.eq_ignore_ascii_case("provider");
    let id = format!("{provider}/{model}");
    // A sentence has two words too, but no third column that begins with a digit.
    let is_row =
        columns.next().is_some_and(|context| context.starts_with(|c: char| c.is_ascii_digit()));
    let is_model = !is_heading && is_row && argument_checks::model_id(&id).is_ok();
    is_model.then(|| Model { id, ..Model::default() })
}

fn codex(output: &str) -> Vec<Model> {
    let Ok(value) = serde_json::from_str::<Value>(output.trim()) else { return Vec::new() };
    let listed = value["models"].as_array().into_iter().flatten();
    listed.filter_map(codex_model).collect()
}

fn codex_model(model: &Value) -> Option<Model> {
    let id = model["slug"].as_str()?;
    let is_hidden = matches!(model["visibility"].as_str(), Some("hide" | "hidden" | "none"));
    if is_hidden || argument_checks::model_id(id).is_err() {
        return None;
    }
    let levels = model["supported_reasoning_levels"].as_array().into_iter().flatten();
    let text = |name: &str| model[name].as_str().map(str::to_owned);
    Some(Model {
        id: id.to_owned(),
        name: text("display_name"),
        description: text("description"),
        efforts: levels
            .filter_map(|level| level["effort"].as_str().or(level.as_str()))
            .map(str::to_owned)
            .collect(),
        ..Model::default()
    })
}

/// The models and efforts in an ACP agent's answer to `session/new`: config options, or the
/// older `models`.
pub(super) fn offered(answer: &Value) -> ModelsFact {
    let options: Vec<&Value> = answer["configOptions"].as_array().into_iter().flatten().collect();
    let of_category =
        |category: &str| options.iter().find(|option| option["category"] == *category).copied();
    let by_id = options.iter().find(|option| option["id"] == "model").copied();
    let (mut models, current): (Vec<Model>, _) = match by_id.or_else(|| of_category("model")) {
        Some(option) => {
            let listed = choices(option).filter_map(|one| model(one, "value"));
            (listed.collect(), &option["currentValue"])
        }
        None => {
            let models = &answer["models"];
            let listed = models["availableModels"].as_array().into_iter().flatten();
            let listed = listed.filter_map(|one| model(one, "modelId"));
            (listed.collect(), &models["currentModelId"])
        }
    };
    models.truncate(MAX_MODELS);
    let efforts = of_category("thought_level").into_iter().flat_map(choices);
    let efforts = efforts.filter_map(|one| one["value"].as_str());
    ModelsFact {
        models,
        current: current.as_str().map(str::to_owned),
        efforts: efforts.map(str::to_owned).collect(),
        from: ModelsSource::Acp,
        ..ModelsFact::default()
    }
}

/// The values of a select, which may be in groups.
fn choices(option: &Value) -> impl Iterator<Item = &Value> {
    option["options"].as_array().into_iter().flatten().flat_map(|one| {
        match one["options"].as_array() {
            Some(group) => group.iter().collect::<Vec<_>>(),
            None => vec![one],
        }
    })
}

fn model(one: &Value, id: &str) -> Option<Model> {
    let text = |name: &str| one[name].as_str().filter(|text| !text.is_empty()).map(str::to_owned);
    Some(Model {
        id: text(id)?,
        name: text("name"),
        description: text("description"),
        ..Model::default()
    })
}

#[cfg(test)]
mod tests;
