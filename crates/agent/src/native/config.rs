//! `[native]` of `switchyard.toml`, and the variables that come before it.
//!
//! In: the table and a way to look variables up. Out: a [`ModelSetup`], the endpoints that can be
//! talked to. `OPENAI_BASE_URL`, `OPENAI_API_KEY`, `OPENAI_MODEL`, `OPENAI_SYSTEM_PROMPT`,
//! `OPENAI_MAX_TOKENS` and `OPENAI_TEMPERATURE` win over the table for the default provider,
//! `OPENAI_TOOLS` and `OPENAI_CONTEXT_TOOLS` for all.
//!
//! Always true: a key goes to the address that it was given for. `OPENAI_API_KEY` is used with
//! `OPENAI_BASE_URL`, with the endpoint that it is named after, or where a provider names that
//! variable; a provider's own key is not sent to an address that a variable put in its place.

mod resolve;

use std::collections::BTreeMap;

use serde::Deserialize;

pub use self::resolve::ModelSetup;
use super::endpoint::{ModelSettings, ProviderTable};
use super::mcp::McpConfig;
use super::sandbox;
use super::settings::EnabledContextTools;
use super::settings::{ContextSettings, TurnLimits};

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// The provider that is used where nobody chooses; without it the first by name.
    pub provider: Option<String>,
    /// Its model, or `provider/model`.
    pub model: Option<String>,
    pub system_prompt: Option<String>,
    pub max_tokens: Option<u32>,
    pub temperature: Option<f64>,
    /// Whether models get tools where nothing is said about them.
    pub tools: Option<bool>,
    pub providers: BTreeMap<String, ProviderTable>,
    /// Settings of single models, by `model` or `provider/model`.
    pub models: BTreeMap<String, ModelSettings>,
    /// The sandbox for commands.
    pub sandbox: SandboxTable,
    /// Pages of this machine and its networks may be fetched.
    pub fetch_private: bool,
    /// Requests to the model in one turn.
    pub max_requests: Option<u32>,
    /// Share of the window, in percent, at which the session is summarised.
    pub compact_at_percent: Option<u64>,
    /// Tools with which the agent works on its own context: all, none, or some by name.
    pub context_tools: EnabledContextTools,
    /// Commands that check the project; without them they are looked for.
    pub checks: Vec<String>,
    /// Servers of every session.
    pub mcp: BTreeMap<String, McpConfig>,
}

/// `[native.sandbox]`
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SandboxTable {
    /// Only the session's roots can be written.
    pub workspace: bool,
    pub network: bool,
}

/// A window that is smaller holds not even what the agent says about itself.
const LEAST_WINDOW: u64 = 256;
const LARGEST_WINDOW: u64 = 1 << 30;

impl Config {
    /// Checks ranges, prices and the sandbox, for which nothing has to be resolved.
    fn check(&self) -> Result<(), ConfigError> {
        let range = |place: String, value: Option<u64>, least: u64, most: u64| match value {
            Some(value) if !(least..=most).contains(&value) => {
                Err(ConfigError::OutOfRange { place, least, most })
            }
            _ => Ok(()),
        };
        range("native.compact_at_percent".to_owned(), self.compact_at_percent, 1, 100)?;
        let most = u64::from(u32::MAX);
        range("native.max_requests".to_owned(), self.max_requests.map(u64::from), 1, most)?;
        for (name, table) in &self.providers {
            let place = format!("native.providers.{name}.context_window");
            range(place, table.context_window, LEAST_WINDOW, LARGEST_WINDOW)?;
        }
        for (name, settings) in &self.models {
            if settings.price.is_some_and(|price| !price.is_sound()) {
                return Err(ConfigError::BadPrice { model: name.clone() });
            }
        }
        match self.sandbox {
            SandboxTable { workspace: false, network: true } => Err(ConfigError::NetworkAlone),
            _ => Ok(()),
        }
    }

    pub fn limits(&self) -> TurnLimits {
        let usual = TurnLimits::default();
        TurnLimits {
            max_requests: self.max_requests.unwrap_or(usual.max_requests).max(1),
            compact_at_percent: self
                .compact_at_percent
                .unwrap_or(usual.compact_at_percent)
                .clamp(1, 100),
        }
    }

    /// The context tools of the table; those of the variable instead, if it is set.
    pub fn context(&self, setup: &ModelSetup) -> ContextSettings {
        let tools = setup.context_tools.clone().unwrap_or_else(|| self.context_tools.clone());
        ContextSettings { tools, checks: self.checks.clone() }
    }

    pub fn sandbox(&self) -> sandbox::SandboxMode {
        match self.sandbox {
            SandboxTable { workspace: false, .. } => sandbox::SandboxMode::Off,
            SandboxTable { network, .. } => sandbox::SandboxMode::Workspace { network },
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    #[error(
        "`{name}` cannot name a provider of the built-in agent: use letters, digits, `-`, `_` and `.`"
    )]
    BadName { name: String },
    #[error("the built-in agent has no provider `{name}`; there are: {known}")]
    NoSuchProvider { name: String, known: String },
    #[error("the provider `{name}` needs `{member}`")]
    Missing { name: String, member: &'static str },
    #[error("{place} is not an address that begins with http:// or https://: `{value}`")]
    BadUrl { place: String, value: String },
    #[error("the provider `{name}` cannot have a header `{header}`")]
    BadHeader { name: String, header: String },
    #[error("{place} must be a number from 0 to 2")]
    BadTemperature { place: String },
    #[error("{place} must be more than 0")]
    Zero { place: String },
    #[error("{place} must be from {least} to {most}")]
    OutOfRange { place: String, least: u64, most: u64 },
    #[error("the price of native.models.{model} is not in US dollars per million tokens")]
    BadPrice { model: String },
    #[error("native.sandbox.network = true means nothing without native.sandbox.workspace = true")]
    NetworkAlone,
    #[error("{name} is not {wanted}: `{value}`")]
    BadVariable { name: &'static str, wanted: &'static str, value: String },
}

impl ConfigError {
    /// The variable that is wrong, if it is one and not the file.
    pub fn variable(&self) -> Option<&str> {
        match self {
            Self::BadVariable { name, .. } => Some(name),
            Self::BadUrl { place, .. } if place == "OPENAI_BASE_URL" => Some(place),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
