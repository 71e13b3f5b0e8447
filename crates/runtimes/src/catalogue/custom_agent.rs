//! Agents that the user defines in the configuration.
//!
//! In: a table with a command, or with the name of a shipped definition and the fields to
//! override. The same shape takes `agent_servers {command, args, env}` of editors. Out: a
//! checked [`RuntimeDefinition`].

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::definition::{
    AuthDefinition, DefinitionError, ImageSupport, McpChannel, ModelDefinitions, PermissionSupport,
    PromptChannel, ResumeStyle, ResumeSupport, RuntimeDefinition, RuntimeForm, VersionProbe,
};
use crate::dialect::{Model, PermissionMode};

/// One `[agents.NAME]` table of the configuration.
///
/// ```toml
/// [agents.work-claude]
/// base = "claude"
/// command = "~/bin/claude-at-work"
/// env = { CLAUDE_CONFIG_DIR = "/home/me/.claude-work" }
/// default_model = "opus"
///
/// [agents.mine]
/// command = "npx"
/// args = ["-y", "my-agent", "--acp"]
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CustomAgent {
    /// The shipped definition that it is based on. Without it, it is a bare command.
    #[serde(alias = "based_on")]
    pub base: Option<String>,
    pub name: Option<String>,
    /// A program: a name, an absolute path, or a path below `~/`.
    #[serde(alias = "bin")]
    pub command: Option<String>,
    /// Arguments before all others.
    pub args: Vec<String>,
    pub env: BTreeMap<String, String>,
    /// In place of the models of the base.
    pub models: Vec<CustomModel>,
    pub default_model: Option<String>,
    /// The dialect to speak, one of the base's; for a bare command `acp` if it is not given.
    pub dialect: Option<String>,
    /// The channel of the prompt for a bare command, where its dialect leaves a choice.
    pub prompt: Option<PromptChannel>,
}

/// A model: its id alone, or all fields.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum CustomModel {
    Id(String),
    Full(Model),
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CustomAgentError {
    #[error("agent `{agent}`: there is no shipped agent `{base}` to base it on")]
    UnknownBase { agent: String, base: String },
    #[error("agent `{agent}`: `{base}` does not speak {dialect}; it speaks: {offered}")]
    DialectNotOffered { agent: String, base: String, dialect: String, offered: String },
    #[error("agent `{agent}`: it needs a `command`, or a `base`")]
    NoCommand { agent: String },
    #[error("agent `{agent}`: `prompt` is for a command with a `dialect` of its own")]
    NoChoiceOfPrompt { agent: String },
    #[error("agent `{0}`: this name is taken by the agent that is built in")]
    Reserved(String),
    #[error("agent `{0}` is there twice")]
    Twice(String),
    #[error(transparent)]
    Definition(#[from] DefinitionError),
}

impl CustomAgent {
    /// The definition that an entry called `name` makes.
    pub fn definition(
        &self,
        name: &str,
        shipped: &[RuntimeDefinition],
    ) -> Result<RuntimeDefinition, CustomAgentError> {
        let id = id_of(name);
        let base = match (&self.base, &self.command) {
            (Some(base), _) => Some(base.as_str()),
            // `[agents.claude]` without a command changes the shipped one.
            (None, None) => shipped.iter().any(|one| one.id == id).then_some(id.as_str()),
            (None, Some(_)) => None,
        };
        let has_choice = base.is_none() && self.dialect.as_deref().is_some_and(|d| d != "acp");
        if self.prompt.is_some() && !has_choice {
            return Err(CustomAgentError::NoChoiceOfPrompt { agent: id.clone() });
        }
        let mut definition = match base {
            Some(base) => self.based(&id, base, shipped)?,
            None => self.bare(&id)?,
        };
        definition.name = match (&self.name, base) {
            (Some(own), _) => own.clone(),
            (None, Some(base)) if base != id => format!("{name} ({})", definition.name),
            (None, Some(_)) => definition.name,
            (None, None) => name.to_owned(),
        };
        if base.is_some() {
            definition.prefix_args.clone_from(&self.args);
        }
        (definition.id, definition.is_own) = (id, true);
        definition.env.set.extend(self.env.clone());
        definition.env.strip.retain(|name| !self.env.contains_key(name));
        if !self.models.is_empty() {
            let known = self.models.iter().map(CustomModel::model).collect();
            definition.models = ModelDefinitions { known, ..ModelDefinitions::default() };
        }
        if self.default_model.is_some() {
            definition.models.default.clone_from(&self.default_model);
        }
        definition.check()?;
        Ok(definition)
    }

    fn based(
        &self,
        id: &str,
        base: &str,
        shipped: &[RuntimeDefinition],
    ) -> Result<RuntimeDefinition, CustomAgentError> {
        let answers =
            |one: &&RuntimeDefinition| one.id == base || one.aliases.iter().any(|a| a == base);
        let found = shipped.iter().find(answers).ok_or_else(|| CustomAgentError::UnknownBase {
            agent: id.to_owned(),
            base: base.to_owned(),
        })?;
        let mut definition = found.clone();
        if found.id != id {
            definition.aliases.clear();
        }
        if let Some(command) = &self.command {
            place(&mut definition, command);
        }
        if let Some(dialect) = &self.dialect {
            definition.forms.retain(|form| form.dialect == *dialect);
        }
        if definition.forms.is_empty() {
            let mut offered: Vec<_> = found.forms.iter().map(|form| form.dialect.clone()).collect();
            offered.dedup();
            return Err(CustomAgentError::DialectNotOffered {
                agent: id.to_owned(),
                base: base.to_owned(),
                dialect: self.dialect.clone().unwrap_or_default(),
                offered: offered.join(", "),
            });
        }
        // A model list of another dialect is still right, but ACP must be spoken to be asked.
        definition.models.acp &= definition.forms.iter().any(RuntimeForm::is_acp);
        Ok(definition)
    }

    fn bare(&self, id: &str) -> Result<RuntimeDefinition, CustomAgentError> {
        let command = self
            .command
            .as_ref()
            .ok_or_else(|| CustomAgentError::NoCommand { agent: id.to_owned() })?;
        let mut form = bare_form(self.dialect.as_deref().unwrap_or("acp"), self.prompt);
        form.args.clone_from(&self.args);
        let mut definition = RuntimeDefinition {
            id: id.to_owned(),
            name: id.to_owned(),
            install: "it is a custom agent: check its `command` in the configuration".into(),
            // We do not know which argument prints its version.
            version: VersionProbe { args: Vec::new(), ..VersionProbe::default() },
            // Which keys it needs is not known either, and the user who chose it trusts it with
            // all. Its models are not asked for: listing agents must not run a program that is not
            // known to be harmless.
            auth: AuthDefinition { any_provider: true, ..AuthDefinition::default() },
            forms: vec![form],
            is_own: true,
            ..RuntimeDefinition::default()
        };
        place(&mut definition, command);
        Ok(definition)
    }
}

impl CustomModel {
    fn model(&self) -> Model {
        match self {
            Self::Id(id) => Model { id: id.clone(), ..Model::default() },
            Self::Full(model) => model.clone(),
        }
    }
}

/// The id for a name from the configuration: `My Agent` of an editor becomes `my-agent`.
pub(super) fn id_of(name: &str) -> String {
    let is_typed = |c: char| c.is_ascii_alphanumeric() || "._-/".contains(c) || c.is_control();
    if name.chars().all(is_typed) {
        return name.to_owned();
    }
    let words = name.split(|c: char| !is_typed(c)).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("-").to_ascii_lowercase()
}

fn place(definition: &mut RuntimeDefinition, command: &str) {
    let is_path = command.contains('/');
    definition.path = is_path.then(|| command.to_owned());
    let name = command.rsplit('/').next().unwrap_or(command);
    definition.bins = vec![name.to_owned()];
}

/// The form of a command that is known by its dialect alone.
fn bare_form(dialect: &str, prompt: Option<PromptChannel>) -> RuntimeForm {
    let (prompt, asks) = match dialect {
        "acp" => (PromptChannel::Acp, true),
        "codex-app-server" => (PromptChannel::Dialect, true),
        "pi-rpc" => (PromptChannel::Dialect, false),
        _ => {
            let prompt = prompt.unwrap_or_default();
            (prompt, prompt == PromptChannel::Dialect)
        }
    };
    let speaks = matches!(prompt, PromptChannel::Acp | PromptChannel::Dialect);
    let is_acp = prompt == PromptChannel::Acp;
    let style = if is_acp || dialect == "codex-app-server" {
        ResumeStyle::Protocol
    } else {
        ResumeStyle::None
    };
    let auto = [(PermissionMode::Auto, Vec::new())];
    RuntimeForm {
        dialect: dialect.to_owned(),
        prompt,
        resume: ResumeSupport { style, ..ResumeSupport::default() },
        mcp: if is_acp { McpChannel::Acp } else { McpChannel::None },
        permissions: PermissionSupport {
            asks,
            modes: if asks { BTreeMap::new() } else { auto.into() },
            ..PermissionSupport::default()
        },
        images: if speaks { ImageSupport::Protocol } else { ImageSupport::None },
        ..RuntimeForm::default()
    }
}
