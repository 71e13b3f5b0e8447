//! What an agent lets one choose.

use serde::Serialize;
use serde_json::Value;
use sessions::options::{Choice, offered};
use store::ReadBudget;
use utoipa::ToSchema;

use crate::daemon::Daemon;
use crate::principal::Principal;

/// Values of one choice that are told; nobody chooses among more.
const MAX_VALUES: usize = 4096;
/// What a byte of an agent's answer may take while it is read.
const READ_BYTES: usize = 8;

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AgentOptions {
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<Choosable>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mode: Option<Choosable>,
    #[serde(skip_serializing_if = "Option::is_none")]
    effort: Option<Choosable>,
    /// All that the agent lets one set, as it says it.
    #[schema(value_type = Vec<Object>)]
    config_options: wire::Json,
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Choosable {
    current: Option<String>,
    values: Vec<Named>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Named {
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
            let offered = offered(&answer, choice)?;
            let named = |(id, name): (String, String)| Named { id, name };
            let values = offered.values.into_iter().take(MAX_VALUES).map(named).collect();
            Some(Choosable { current: offered.current, values })
        };
        let none = Value::Array(Vec::new());
        let config_options = answer.get("configOptions").filter(|options| options.is_array());
        Self {
            model: choosable(Choice::Model),
            mode: choosable(Choice::Mode),
            effort: choosable(Choice::Effort),
            config_options: wire::Json::of(config_options.unwrap_or(&none)),
        }
    }
}
