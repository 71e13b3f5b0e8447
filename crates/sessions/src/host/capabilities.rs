//! Capabilities in `initialize`: those that an agent names, and our own.

use serde::Deserialize;
use serde_json::{Value, json};
use wire::Json;

use super::AgentQuirks;
use crate::settings::SessionSettings;

/// The parts of an `initialize` answer that decide what may be asked of the agent.
/// Read leniently: what is missing or odd is not supported.
#[derive(Debug, Clone, Default)]
pub struct AgentCapabilities {
    pub load: bool,
    pub resume: bool,
    pub list: bool,
    pub close: bool,
    pub delete: bool,
    pub image: bool,
    pub audio: bool,
    pub embedded_context: bool,
    pub mcp_http: bool,
    pub mcp_sse: bool,
    pub additional_directories: bool,
    pub auth_methods: Vec<AuthMethod>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthMethod {
    pub id: String,
    pub name: String,
    pub description: Option<String>,
    /// The user has to run a command in a terminal; `authenticate` cannot do it.
    pub is_terminal: bool,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct InitializeAnswer {
    agent_capabilities: Value,
    auth_methods: Value,
}

impl AgentCapabilities {
    pub fn read(initialized: &Json) -> Self {
        let answer: InitializeAnswer = initialized.read().unwrap_or_default();
        let capabilities = &answer.agent_capabilities;
        let is_true = |value: &Value| value.as_bool() == Some(true);
        // `{}` means yes; absent and null mean no. `true` is an old spelling.
        let is_marked = |value: &Value| value.is_object() || is_true(value);
        let sessions = &capabilities["sessionCapabilities"];
        let prompts = &capabilities["promptCapabilities"];
        Self {
            load: is_true(&capabilities["loadSession"]),
            resume: is_marked(&sessions["resume"]),
            list: is_marked(&sessions["list"]),
            close: is_marked(&sessions["close"]),
            delete: is_marked(&sessions["delete"]),
            image: is_true(&prompts["image"]),
            audio: is_true(&prompts["audio"]),
            embedded_context: is_true(&prompts["embeddedContext"]),
            mcp_http: is_true(&capabilities["mcpCapabilities"]["http"]),
            mcp_sse: is_true(&capabilities["mcpCapabilities"]["sse"]),
            additional_directories: is_marked(&sessions["additionalDirectories"]),
            auth_methods: read_auth_methods(&answer.auth_methods),
        }
    }
}

fn read_auth_methods(methods: &Value) -> Vec<AuthMethod> {
    let methods = methods.as_array().into_iter().flatten();
    let read = |method: &Value| {
        let id = method["id"].as_str()?.to_owned();
        Some(AuthMethod {
            name: method["name"].as_str().unwrap_or(&id).to_owned(),
            description: method["description"].as_str().map(str::to_owned),
            is_terminal: method["type"] == "terminal",
            id,
        })
    };
    methods.filter_map(read).collect()
}

/// `initialize` params of Switchyard itself. Everything named here is really served.
pub(super) fn initialize_params(settings: &SessionSettings, quirks: &AgentQuirks) -> Json {
    let mut capabilities = json!({
        "fs": { "readTextFile": !quirks.no_client_reads, "writeTextFile": true },
        "terminal": true,
        "session": { "configOptions": { "boolean": {} }, "notices": {}, "compaction": {} },
        // Rules may deny what an agent does by itself, so every agent can tell first.
        "_meta": { "switchyard": { "checks": true } },
    });
    if settings.questions_wait {
        capabilities["elicitation"] = json!({ "form": {} });
    }
    Json::of(&json!({
        "protocolVersion": 1,
        "clientCapabilities": capabilities,
        "clientInfo": {
            "name": "switchyard",
            "title": "Switchyard",
            "version": env!("CARGO_PKG_VERSION"),
        },
    }))
}
