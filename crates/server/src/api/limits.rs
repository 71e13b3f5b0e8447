//! What a session may use, as clients write it.

use serde::{Deserialize, Serialize};
use sessions::budget::{Limits, Used};
use utoipa::ToSchema;

use crate::problem::Problem;

/// What a session may use over its whole life before it pauses and asks. A limit that is
/// misspelt would be none, so unknown members are refused here.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct SessionLimits {
    #[serde(skip_serializing_if = "Option::is_none")]
    turns: Option<u64>,
    /// Without the time that a turn waits for a person.
    #[serde(skip_serializing_if = "Option::is_none")]
    running_seconds: Option<f64>,
    /// How long the agent may say nothing in a turn. Where nobody answers the question either,
    /// the turn is stopped.
    #[serde(skip_serializing_if = "Option::is_none")]
    inactive_seconds: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cost_usd: Option<f64>,
}

/// What a session has used over its whole life, as far as its agent tells.
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
    pub(crate) fn of(used: &Used) -> Self {
        Self {
            turns: used.turns,
            running_seconds: used.running.as_secs_f64(),
            tokens: used.tokens,
            cost_usd: used.cost_usd(),
        }
    }
}

impl SessionLimits {
    pub(crate) fn of(limits: &Limits) -> Self {
        // They are written alike.
        wire::Json::of(limits).read().unwrap_or_default()
    }

    pub(crate) fn read(&self) -> Result<Limits, Problem> {
        let read = wire::Json::of(self).read();
        read.map_err(|error| Problem::bad_request(error.to_string()))
    }
}
