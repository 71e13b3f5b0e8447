//! The options of a session: those that it is opened with, and of them model, effort and
//! permissions, which are offered as ACP's config options.
//!
//! A value is checked before it is kept; no unchecked value reaches an argument or the CLI.

use std::path::PathBuf;

use serde_json::{Value, json};
use wire::RpcError;

use super::AdapterRuntime;
use crate::argument_checks::{self, BadValue};
use crate::definition::OptionalArgument;
use crate::dialect::{ConversationOptions, Model, OptionChange, PermissionMode};
use crate::{argv, mcp};

/// The value of an option that leaves the choice to the CLI.
pub(super) const DEFAULT: &str = "default";

#[derive(Debug, Default)]
pub(super) struct SessionOptions {
    pub(super) chosen: ConversationOptions,
    /// The models that the CLI itself listed; empty: those of its definition are offered.
    pub(super) models: Vec<Model>,
    /// The model that the CLI said it runs with.
    pub(super) current: Option<String>,
}

impl SessionOptions {
    /// Reads and checks the parameters of `session/new`, or of `session/resume` with the CLI's own
    /// id of the conversation.
    pub(super) fn read(
        runtime: &AdapterRuntime,
        params: &Value,
        resume: Option<String>,
    ) -> Result<Self, RpcError> {
        let cwd = PathBuf::from(params["cwd"].as_str().unwrap_or_default());
        if !cwd.is_absolute() {
            return Err(RpcError::invalid_params("`cwd` must be an absolute path"));
        }
        let directories = params["additionalDirectories"].as_array().into_iter().flatten();
        let mcp_servers = match &params["mcpServers"] {
            Value::Null => Vec::new(),
            Value::Array(servers) => servers.clone(),
            _ => return Err(RpcError::invalid_params("`mcpServers` is not a list")),
        };
        mcp::check(&mcp_servers).map_err(RpcError::invalid_params)?;
        if let Some(id) = &resume {
            argument_checks::session_id(id).map_err(RpcError::invalid_params)?;
        }
        let system = &params["_meta"]["systemPrompt"];
        let system = system.as_str().or(system["append"].as_str());
        let chosen = ConversationOptions {
            cwd,
            directories: directories.filter_map(Value::as_str).map(PathBuf::from).collect(),
            resume,
            model: runtime.definition.models.default.clone(),
            effort: None,
            permissions: runtime.permissions,
            system_prompt: system.filter(|text| !text.trim().is_empty()).map(str::to_owned),
            mcp_servers,
        };
        Ok(Self { chosen, ..Self::default() })
    }

    fn models<'a>(&'a self, runtime: &'a AdapterRuntime) -> &'a [Model] {
        match self.models.is_empty() {
            true => &runtime.definition.models.known,
            false => &self.models,
        }
    }

    fn efforts<'a>(&'a self, runtime: &'a AdapterRuntime) -> &'a [String] {
        let wanted = self.chosen.model.as_ref().or(self.current.as_ref());
        let model = self.models(runtime).iter().find(|model| Some(&model.id) == wanted);
        match model {
            Some(model) if !model.efforts.is_empty() => &model.efforts,
            _ => &runtime.definition.reasoning.efforts,
        }
    }

    /// Sets an option, or says why not. `None`: there is nothing to send to the CLI.
    pub(super) fn set(
        &mut self,
        runtime: &AdapterRuntime,
        option: &str,
        value: &str,
    ) -> Result<Option<OptionChange>, BadValue> {
        let chosen = Some(value.to_owned()).filter(|value| value != DEFAULT);
        match option {
            "model" if runtime.takes(OptionalArgument::Model) => {
                if let Some(model) = &chosen {
                    argument_checks::model_id(model)?;
                }
                self.chosen.model.clone_from(&chosen);
                Ok(chosen.map(OptionChange::Model))
            }
            "effort" if runtime.takes(OptionalArgument::Effort) => {
                if let Some(effort) = &chosen {
                    argument_checks::one_of("effort", effort, self.efforts(runtime))?;
                    argument_checks::word("effort", effort)?;
                }
                self.chosen.effort.clone_from(&chosen);
                Ok(chosen.map(OptionChange::Effort))
            }
            "permissions" => {
                let names = argv::modes(&runtime.form).map(|mode| mode.name().to_owned());
                argument_checks::one_of("permissions", value, &names.collect::<Vec<_>>())?;
                let mode = PermissionMode::named(value).unwrap_or_default();
                self.chosen.permissions = mode;
                Ok(Some(OptionChange::Permissions(mode)))
            }
            _ => {
                let options = self.offered(runtime);
                let ids = options.as_array().into_iter().flatten().filter_map(|o| o["id"].as_str());
                let offered = ids.map(str::to_owned).collect();
                Err(BadValue::NotOffered { what: "an option", value: option.to_owned(), offered })
            }
        }
    }

    /// ACP's `configOptions`.
    pub(super) fn offered(&self, runtime: &AdapterRuntime) -> Value {
        let mut options = Vec::new();
        if runtime.takes(OptionalArgument::Model) {
            options.push(self.model_option(runtime));
        }
        let efforts = self.efforts(runtime);
        if !efforts.is_empty() && runtime.takes(OptionalArgument::Effort) {
            let values = std::iter::once(DEFAULT).chain(efforts.iter().map(String::as_str));
            options.push(select(
                ("effort", "Effort", "thought_level"),
                self.chosen.effort.as_deref().unwrap_or(DEFAULT),
                values.map(|value| json!({ "value": value, "name": value })).collect(),
            ));
        }
        let modes = argv::modes(&runtime.form).map(PermissionMode::name);
        let values = modes.map(|mode| json!({ "value": mode, "name": mode }));
        options.push(select(
            ("permissions", "Permissions", "mode"),
            self.chosen.permissions.name(),
            values.collect(),
        ));
        Value::Array(options)
    }

    fn model_option(&self, runtime: &AdapterRuntime) -> Value {
        let own = match &self.current {
            Some(current) => format!("Default ({current})"),
            None => "Default (the CLI's own choice)".to_owned(),
        };
        let mut values = vec![json!({ "value": DEFAULT, "name": own })];
        let models = self.models(runtime);
        values.extend(models.iter().filter(|model| model.id != DEFAULT).map(|model| {
            let mut value = json!({
                "value": model.id,
                "name": model.name.as_deref().unwrap_or(&model.id),
            });
            if let Some(description) = &model.description {
                value["description"] = json!(description);
            }
            value
        }));
        let chosen = self.chosen.model.as_deref().unwrap_or(DEFAULT);
        // A model that the CLI does not list may still be there.
        if chosen != DEFAULT && !models.iter().any(|model| model.id == chosen) {
            values.push(json!({ "value": chosen, "name": chosen }));
        }
        let mut option = select(("model", "Model", "model"), chosen, values);
        option["_meta"] = json!({ "switchyard": { "takesOthers": true } });
        option
    }
}

fn select((id, name, category): (&str, &str, &str), current: &str, values: Vec<Value>) -> Value {
    json!({
        "id": id,
        "name": name,
        "category": category,
        "type": "select",
        "currentValue": current,
        "options": values,
    })
}
