//! What a session may use, as clients write it.

use serde::{Deserialize, Serialize};
use sessions::budget::Limits;
use utoipa::ToSchema;

use crate::problem::Problem;

/// What a session may use over its whole life before it pauses and asks. A limit that is
/// misspelt would be none, so unknown members are refused here.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct SessionLimits {
    turns: Option<u64>,
    /// Without the time that a turn waits for a person.
    running_seconds: Option<f64>,
    tokens: Option<u64>,
    cost_usd: Option<f64>,
}

impl SessionLimits {
    pub(crate) fn read(&self) -> Result<Limits, Problem> {
        let read = wire::Json::of(self).read();
        read.map_err(|error| Problem::bad_request(error.to_string()))
    }
}
