//! The `initialize` request: the adapter's own capabilities, and those of its host.

use serde_json::{Value, json};
use wire::{RpcError, codes};

use super::AdapterRuntime;
use crate::definition::{ImageSupport, McpChannel, OptionalArgument, ResumeStyle};

/// The capabilities that the host declared in `initialize`.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct HostCapabilities {
    pub(super) takes_notices: bool,
    pub(super) takes_compaction: bool,
    takes_terminal_auth: bool,
}

impl HostCapabilities {
    pub(super) fn read(params: &Value) -> Self {
        let capabilities = &params["clientCapabilities"];
        let has = |group: &str, name: &str| {
            let value = &capabilities[group][name];
            value.is_object() || value == true
        };
        Self {
            takes_notices: has("session", "notices"),
            takes_compaction: has("session", "compaction"),
            takes_terminal_auth: has("auth", "terminal"),
        }
    }
}

/// Whether a conversation can be resumed in a later process.
pub(super) fn resumes(runtime: &AdapterRuntime) -> bool {
    runtime.form.resume.style != ResumeStyle::None
}

pub(super) fn answer(runtime: &AdapterRuntime, client: HostCapabilities) -> Value {
    let takes_mcp = runtime.form.mcp != McpChannel::None;
    let mut sessions = json!({ "close": {} });
    if resumes(runtime) {
        sessions["resume"] = json!({});
    }
    if runtime.takes(OptionalArgument::AddDir) {
        sessions["additionalDirectories"] = json!({});
    }
    let mut methods = Vec::new();
    if let (true, Some(login)) = (client.takes_terminal_auth, &runtime.definition.auth.login) {
        methods.push(json!({
            "id": "login",
            "name": format!("Log in to {}", runtime.definition.name),
            "description": format!("Run `{login}` in a terminal"),
            "type": "terminal",
        }));
    }
    json!({
        "protocolVersion": 1,
        "agentInfo": {
            "name": runtime.definition.id,
            "title": runtime.definition.name,
            "version": runtime.version.as_deref().unwrap_or("unknown"),
        },
        "agentCapabilities": {
            "loadSession": false,
            "promptCapabilities": {
                "image": runtime.form.images != ImageSupport::None,
                "audio": false,
                "embeddedContext": true,
            },
            "mcpCapabilities": { "http": takes_mcp, "sse": takes_mcp },
            "sessionCapabilities": sessions,
        },
        "authMethods": methods,
        "_meta": { "switchyard": { "dialect": runtime.dialect.name() } },
    })
}

/// The answer to `authenticate`. Logging in takes the CLI's own screen, so a person must do it.
pub(super) fn cannot_authenticate(runtime: &AdapterRuntime) -> RpcError {
    let remedy = runtime.definition.login_hint();
    RpcError::new(codes::AUTH_REQUIRED, remedy.clone()).with_data(&json!({ "remedy": remedy }))
}
