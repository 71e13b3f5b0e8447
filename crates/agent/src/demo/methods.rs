//! The methods a client may call, except for `session/prompt`, which is a turn of its own.
//!
//! In: method and params. Out: the result, and the updates that follow it.
//! A method that was not offered is "not found", as if it did not exist.

mod sessions;
mod settings;

use super::connection::Connection;
use super::rpc::{self, RpcError};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use serde_json::{Value, json};

pub(super) struct Reply {
    pub(super) result: Value,
    /// Updates of a session to send after the result.
    pub(super) then: Vec<(String, Value)>,
}

impl From<Value> for Reply {
    fn from(result: Value) -> Self {
        Self { result, then: Vec::new() }
    }
}

pub(super) async fn call(
    connection: &Connection,
    method: &str,
    params: &RawValue,
) -> Result<Reply, RpcError> {
    match method {
        "initialize" => initialize(connection, read(params)?),
        "authenticate" => authenticate(connection, &read(params)?),
        "session/new" | "session/load" | "session/resume" | "session/list" | "session/close"
        | "session/delete" => sessions::call(connection, method, params).await,
        "session/set_mode" | "session/set_config_option" | "session/set_model" => {
            settings::call(connection, method, params).await
        }
        _ => Err(unknown_method(method)),
    }
}

pub(super) fn read<T: DeserializeOwned>(params: &RawValue) -> Result<T, RpcError> {
    serde_json::from_str(params.get()).map_err(|problem| invalid(problem.to_string()))
}

pub(super) fn invalid(message: impl Into<String>) -> RpcError {
    RpcError::new(rpc::INVALID_PARAMS, message)
}

pub(super) fn unknown_session(id: &str) -> RpcError {
    RpcError::new(rpc::NOT_FOUND, format!("no such session: {id}"))
}

fn unknown_method(method: &str) -> RpcError {
    RpcError::new(rpc::METHOD_NOT_FOUND, format!("no such method: {method}"))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Initialize {
    #[expect(
        dead_code,
        reason = "must be there and a number, and is answered with 1 all the same"
    )]
    protocol_version: u16,
    #[serde(default)]
    client_capabilities: Value,
}

fn initialize(connection: &Connection, params: Initialize) -> Result<Reply, RpcError> {
    if !matches!(params.client_capabilities, Value::Null | Value::Object(_)) {
        return Err(invalid("clientCapabilities is not an object"));
    }
    let options = &connection.options;
    let mut state = connection.state();
    state.is_initialized = true;
    state.client = params.client_capabilities;
    let auth_methods: Vec<Value> = options
        .auth
        .iter()
        .map(|id| json!({ "id": id, "name": "Demo login", "description": "Always lets you in" }))
        .collect();
    Ok(json!({
        "protocolVersion": options.version_answer.unwrap_or(1),
        "agentCapabilities": {
            "loadSession": options.offers.load,
            "promptCapabilities": { "image": true, "audio": true, "embeddedContext": true },
            "mcpCapabilities": { "http": false, "sse": false },
            "sessionCapabilities": session_capabilities(connection),
        },
        "authMethods": auth_methods,
        "agentInfo": {
            "name": "demo",
            "title": "Switchyard demo agent",
            "version": env!("CARGO_PKG_VERSION"),
        },
    })
    .into())
}

fn session_capabilities(connection: &Connection) -> Value {
    let offers = connection.options.offers;
    let all = [
        ("list", offers.list),
        ("resume", offers.resume),
        ("close", offers.close),
        ("delete", offers.delete),
    ];
    let offered = all.into_iter().filter(|(_, is_offered)| *is_offered);
    Value::Object(offered.map(|(name, _)| (name.to_owned(), json!({}))).collect())
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Authenticate {
    method_id: String,
}

fn authenticate(connection: &Connection, params: &Authenticate) -> Result<Reply, RpcError> {
    if connection.options.auth.as_deref() != Some(params.method_id.as_str()) {
        return Err(invalid(format!("no such auth method: {}", params.method_id)));
    }
    connection.state().is_authenticated = true;
    Ok(json!({}).into())
}
