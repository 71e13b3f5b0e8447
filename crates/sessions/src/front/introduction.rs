//! What the two sides of a front say about themselves in `initialize`.

use serde_json::{Value, json};
use wire::Json;

/// The agent's answer to `initialize`, with what the log adds to it.
pub(super) fn with_own_capabilities(
    initialized: &Json,
    is_desk: bool,
) -> Result<Json, wire::NotJson> {
    let yes = Json::trusted("{}");
    let sessions = ["list", "resume", "close", "delete"].into_iter();
    let sessions = sessions.chain(is_desk.then_some("fork"));
    let mut answer = wire::set_member(
        initialized,
        &["agentCapabilities", "loadSession"],
        &Json::trusted("true"),
    )?;
    for capability in sessions {
        let path = ["agentCapabilities", "sessionCapabilities", capability];
        answer = wire::set_member(&answer, &path, &yes)?;
    }
    let version = Json::of(&json!({ "version": env!("CARGO_PKG_VERSION") }));
    wire::set_member(&answer, &["_meta", "switchyard"], &version)
}

/// Whether a client says which version it speaks. Before versions were numbers they were dates.
pub(super) fn names_a_version(initialize: &Json) -> bool {
    let params: Value = initialize.read().unwrap_or_default();
    match &params["protocolVersion"] {
        Value::String(version) => !version.is_empty(),
        version => version.as_u64().is_some_and(|version| u16::try_from(version).is_ok()),
    }
}

/// Whether a client reads and writes files for the agent.
pub(super) fn offers_files(initialize: &Json) -> bool {
    let params: Value = initialize.read().unwrap_or_default();
    let fs = &params["clientCapabilities"]["fs"];
    fs["readTextFile"] == true && fs["writeTextFile"] == true
}
