//! A session's options, limits and usage, as clients see them.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_with::skip_serializing_none;
use sessions::budget::{BudgetLimits, BudgetUse};
use sessions::options::{OptionChoice, offered_values};
use store::ReadBudget;
use utoipa::ToSchema;

use crate::daemon::Daemon;
use crate::principal::Principal;
use crate::problem::Problem;

/// Values listed for one option; nobody chooses among more.
const MAX_VALUES: usize = 4096;
/// Bytes of memory that a byte of an agent's answer may take while it is parsed.
const READ_BYTES: usize = 8;

#[skip_serializing_none]
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AgentOptions {
    model: Option<SelectableOption>,
    mode: Option<SelectableOption>,
    effort: Option<SelectableOption>,
    /// All options that the agent offers, as it sent them.
    #[schema(value_type = Vec<Object>)]
    config_options: wire::Json,
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SelectableOption {
    current: Option<String>,
    values: Vec<SelectableValue>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SelectableValue {
    id: String,
    name: String,
}

impl AgentOptions {
    /// None if it cannot be read.
    pub(super) async fn read(
        daemon: &Daemon,
        principal: &Principal,
        answer: wire::Json,
    ) -> Option<Self> {
        let n_bytes = answer.as_str().len();
        if !ReadBudget::is_large(n_bytes) {
            return Some(Self::of(&answer));
        }
        let _taken = daemon.load.budget(&principal.name).take(READ_BYTES * n_bytes).await;
        // It takes milliseconds, in which others would wait.
        tokio::task::spawn_blocking(move || Self::of(&answer)).await.ok()
    }

    fn of(answer: &wire::Json) -> Self {
        let answer: Value = answer.read().unwrap_or_default();
        let choosable = |choice| {
            let offered = offered_values(&answer, choice)?;
            let named = |(id, name): (String, String)| SelectableValue { id, name };
            let values = offered.values.into_iter().take(MAX_VALUES).map(named).collect();
            Some(SelectableOption { current: offered.current, values })
        };
        let none = Value::Array(Vec::new());
        let config_options = answer.get("configOptions").filter(|options| options.is_array());
        Self {
            model: choosable(OptionChoice::Model),
            mode: choosable(OptionChoice::Mode),
            effort: choosable(OptionChoice::Effort),
            config_options: wire::Json::of(config_options.unwrap_or(&none)),
        }
    }
}

/// The limits of what a session may use over its whole life before it pauses and asks. A limit that
/// is misspelt would be none, so unknown members are refused here.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct SessionLimits {
    turns: Option<u64>,
    /// Without the time that a turn waits for a person.
    running_seconds: Option<f64>,
    /// How long the agent may say nothing in a turn. Where nobody answers the question either,
    /// the turn is stopped.
    inactive_seconds: Option<f64>,
    tokens: Option<u64>,
    cost_usd: Option<f64>,
}

/// The usage of a session over its whole life, as far as its agent reports it.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SessionUsage {
    /// Turns that were started.
    turns: u64,
    /// Without the time that a turn waits for a person.
    running_seconds: f64,
    tokens: u64,
    cost_usd: f64,
}

impl SessionUsage {
    pub(crate) fn of(used: &BudgetUse) -> Self {
        Self {
            turns: used.turns,
            running_seconds: used.running.as_secs_f64(),
            tokens: used.tokens,
            cost_usd: used.cost_usd(),
        }
    }
}

impl SessionLimits {
    pub(crate) fn of(limits: &BudgetLimits) -> Self {
        // Both types serialise alike.
        wire::Json::of(limits).read().unwrap_or_default()
    }

    pub(crate) fn read(&self) -> Result<BudgetLimits, Problem> {
        let read = wire::Json::of(self).read();
        read.map_err(|error| Problem::bad_request(error.to_string()))
    }
}
