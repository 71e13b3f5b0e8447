//! The methods a client may call, except for `session/prompt`, which is a turn of its own.
//!
//! In: method and params. Out: the result, after the replay where there is one, and the updates
//! that follow it. A method that was not offered is "not found", as if it did not exist. A session
//! is looked up in memory first and then on disk, so it is found again by a later process on the
//! same state directory.

use super::commands;
use super::connection::DemoConnection;
use super::params::{invalid, read, unknown_session};
use super::session::{DemoRecord, DemoSession};
use super::settings::DemoSettings;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::path::Path;
use wire::{RpcError, codes};

// Small enough that a test with a few dozen sessions sees a second page.
const LIST_PAGE: usize = 50;

pub(super) struct MethodReply {
    pub(super) result: Value,
    /// An update of a session to send after the result.
    pub(super) then: Option<(String, Value)>,
}

impl From<Value> for MethodReply {
    fn from(result: Value) -> Self {
        Self { result, then: None }
    }
}

pub(super) async fn call(
    connection: &DemoConnection,
    method: &str,
    params: &str,
) -> Result<MethodReply, RpcError> {
    let offers = connection.options.offers;
    let has_config = !connection.options.has_no_config;
    match method {
        "initialize" => initialize(connection, read(params)?),
        "authenticate" => authenticate(connection, &read(params)?),
        "session/new" => new(connection, read(params)?).await,
        "session/load" if offers.load => load(connection, read(params)?).await,
        "session/resume" if offers.resume => resume(connection, read(params)?).await,
        // The only method that needs no params at all.
        "session/list" if offers.list && params == "null" => {
            list(connection, ListSessionsParams::default()).await
        }
        "session/list" if offers.list => list(connection, read(params)?).await,
        "session/close" if offers.close => close(connection, &read(params)?).await,
        "session/delete" if offers.delete => delete(connection, &read(params)?).await,
        "session/set_mode" if has_config => set_mode(connection, read(params)?).await,
        "session/set_config_option" if has_config => set_option(connection, read(params)?).await,
        "session/set_model" if has_config => set_model(connection, read(params)?).await,
        _ => Err(RpcError::new(codes::METHOD_NOT_FOUND, format!("no such method: {method}"))),
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct InitializeParams {
    #[expect(
        dead_code,
        reason = "must be there and a number, and is answered with 1 all the same"
    )]
    protocol_version: u16,
    #[serde(default)]
    client_capabilities: Value,
}

fn initialize(
    connection: &DemoConnection,
    params: InitializeParams,
) -> Result<MethodReply, RpcError> {
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

fn session_capabilities(connection: &DemoConnection) -> Value {
    let offers = connection.options.offers;
    let all = [
        ("list", offers.list),
        ("resume", offers.resume),
        ("close", offers.close),
        ("delete", offers.delete),
    ];
    let offered = all.into_iter().filter(|(_, is_offered)| *is_offered);
    offered.map(|(name, _)| (name.to_owned(), json!({}))).collect()
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AuthenticateParams {
    method_id: String,
}

fn authenticate(
    connection: &DemoConnection,
    params: &AuthenticateParams,
) -> Result<MethodReply, RpcError> {
    if connection.options.auth.as_deref() != Some(params.method_id.as_str()) {
        return Err(invalid(format!("no such auth method: {}", params.method_id)));
    }
    connection.state().is_authenticated = true;
    Ok(json!({}).into())
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct NewSessionParams {
    cwd: String,
    #[expect(dead_code, reason = "must be there; the demo agent connects to none of them")]
    mcp_servers: Vec<Value>,
}

async fn new(
    connection: &DemoConnection,
    params: NewSessionParams,
) -> Result<MethodReply, RpcError> {
    check(connection, &params.cwd)?;
    tokio::time::sleep(connection.options.slow_new).await;
    let id = connection.unique("demo");
    if connection.options.has_early_updates {
        connection.send_update(&id, &commands::available()).await;
    }
    let session = DemoSession::open(DemoRecord::new(id.clone(), params.cwd));
    let mut result = describe(connection, &session.record);
    connection.state().sessions.insert(id.clone(), session);
    save(connection, &id).await?;
    result["sessionId"] = Value::from(id.as_str());
    Ok(MethodReply { result, then: Some((id, commands::available())) })
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct LoadSessionParams {
    session_id: String,
    cwd: String,
    #[expect(dead_code, reason = "must be there; the demo agent connects to none of them")]
    mcp_servers: Vec<Value>,
}

async fn load(
    connection: &DemoConnection,
    params: LoadSessionParams,
) -> Result<MethodReply, RpcError> {
    let LoadSessionParams { session_id, cwd, .. } = params;
    let record = reopen(connection, &session_id, cwd).await?;
    for update in &record.history {
        connection.send_update(&session_id, update).await;
    }
    let result = describe(connection, &record);
    Ok(MethodReply { result, then: Some((session_id, commands::available())) })
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ResumeSessionParams {
    session_id: String,
    cwd: String,
}

async fn resume(
    connection: &DemoConnection,
    params: ResumeSessionParams,
) -> Result<MethodReply, RpcError> {
    let record = reopen(connection, &params.session_id, params.cwd).await?;
    Ok(describe(connection, &record).into())
}

async fn reopen(
    connection: &DemoConnection,
    id: &str,
    cwd: String,
) -> Result<DemoRecord, RpcError> {
    check(connection, &cwd)?;
    if connection.options.forgets {
        return Err(unknown_session(id));
    }
    let is_in_memory = connection.state().sessions.contains_key(id);
    if !is_in_memory {
        let record = match connection.store.lock().await.load(id).await {
            Some(record) => record,
            None if connection.options.lies_on_resume => {
                DemoRecord::new(id.to_owned(), cwd.clone())
            }
            None => return Err(unknown_session(id)),
        };
        connection.state().sessions.insert(id.to_owned(), DemoSession::open(record));
    }
    let mut state = connection.state();
    let session = state.sessions.get_mut(id).ok_or_else(|| unknown_session(id))?;
    session.is_open = true;
    session.record.cwd = cwd;
    Ok(session.record.clone())
}

#[derive(Deserialize, Default)]
struct ListSessionsParams {
    cwd: Option<String>,
    cursor: Option<String>,
}

async fn list(
    connection: &DemoConnection,
    params: ListSessionsParams,
) -> Result<MethodReply, RpcError> {
    check_auth(connection)?;
    let skip: usize = match params.cursor {
        Some(cursor) => cursor.parse().map_err(|_| invalid("no such cursor"))?,
        None => 0,
    };
    let on_disk = connection.store.lock().await.list().await;
    let found = on_disk.into_iter().map(|record| (record.session_id.clone(), record));
    let mut found: HashMap<String, DemoRecord> = found.collect();
    for (id, session) in &connection.state().sessions {
        found.insert(id.clone(), session.record.clone());
    }
    let is_meant = |record: &DemoRecord| params.cwd.as_ref().is_none_or(|cwd| *cwd == record.cwd);
    let mut records: Vec<DemoRecord> = found.into_values().filter(is_meant).collect();
    // Newest first; the id makes the order the same on every page.
    records.sort_by(|a, b| {
        b.updated_at.cmp(&a.updated_at).then_with(|| a.session_id.cmp(&b.session_id))
    });
    let sessions: Vec<Value> = records.iter().skip(skip).take(LIST_PAGE).map(info).collect();
    let mut result = json!({ "sessions": sessions });
    if records.len() > skip.saturating_add(LIST_PAGE) {
        result["nextCursor"] = Value::from((skip + LIST_PAGE).to_string());
    }
    Ok(result.into())
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SessionIdParams {
    pub(super) session_id: String,
}

async fn close(
    connection: &DemoConnection,
    params: &SessionIdParams,
) -> Result<MethodReply, RpcError> {
    let id = &params.session_id;
    connection.state().open_session(id)?.close();
    save(connection, id).await?;
    Ok(json!({}).into())
}

async fn delete(
    connection: &DemoConnection,
    params: &SessionIdParams,
) -> Result<MethodReply, RpcError> {
    let id = &params.session_id;
    let store = connection.store.lock().await;
    if let Some(session) = connection.state().sessions.remove(id) {
        session.cancel();
    }
    store.remove(id).await.map_err(|problem| storage(&problem))?;
    Ok(json!({}).into())
}

/// The modes and config options of a session, for the answers to new, load and resume.
fn describe(connection: &DemoConnection, record: &DemoRecord) -> Value {
    if connection.options.has_no_config {
        return json!({});
    }
    json!({ "modes": record.settings.modes(), "configOptions": record.settings.options() })
}

fn info(record: &DemoRecord) -> Value {
    json!({
        "sessionId": record.session_id,
        "cwd": record.cwd,
        "title": record.title,
        "updatedAt": record.updated_at,
    })
}

fn check_auth(connection: &DemoConnection) -> Result<(), RpcError> {
    match connection.state().is_authenticated {
        true => Ok(()),
        false => Err(RpcError::new(codes::AUTH_REQUIRED, "call authenticate first")),
    }
}

fn check(connection: &DemoConnection, cwd: &str) -> Result<(), RpcError> {
    check_auth(connection)?;
    match Path::new(cwd).is_absolute() {
        true => Ok(()),
        false => Err(invalid(format!("cwd is not an absolute path: {cwd}"))),
    }
}

async fn save(connection: &DemoConnection, id: &str) -> Result<(), RpcError> {
    connection.save(id).await.map_err(|problem| storage(&problem))
}

fn storage(problem: &std::io::Error) -> RpcError {
    RpcError::new(codes::INTERNAL, format!("cannot save the session: {problem}"))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SetModeParams {
    session_id: String,
    mode_id: String,
}

async fn set_mode(
    connection: &DemoConnection,
    params: SetModeParams,
) -> Result<MethodReply, RpcError> {
    let SetModeParams { session_id, mode_id } = params;
    change(connection, &session_id, |settings| settings.set_mode(&mode_id)).await?;
    let update = json!({ "sessionUpdate": "current_mode_update", "currentModeId": mode_id });
    Ok(MethodReply { result: json!({}), then: Some((session_id, update)) })
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SetOptionParams {
    session_id: String,
    config_id: String,
    value: String,
}

async fn set_option(
    connection: &DemoConnection,
    params: SetOptionParams,
) -> Result<MethodReply, RpcError> {
    let SetOptionParams { session_id, config_id, value } = params;
    let options =
        change(connection, &session_id, |settings| settings.set_option(&config_id, &value)).await?;
    Ok(json!({ "configOptions": options }).into())
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SetModelParams {
    session_id: String,
    model_id: String,
}

async fn set_model(
    connection: &DemoConnection,
    params: SetModelParams,
) -> Result<MethodReply, RpcError> {
    let SetModelParams { session_id, model_id } = params;
    let options =
        change(connection, &session_id, |settings| settings.set_option("model", &model_id)).await?;
    let update = json!({ "sessionUpdate": "config_option_update", "configOptions": options });
    Ok(MethodReply { result: json!({}), then: Some((session_id, update)) })
}

/// Applies a change and gives the complete list of options after it.
async fn change(
    connection: &DemoConnection,
    id: &str,
    apply: impl FnOnce(&mut DemoSettings) -> bool,
) -> Result<Value, RpcError> {
    let options = {
        let mut state = connection.state();
        let session = state.open_session(id)?;
        if !apply(&mut session.record.settings) {
            return Err(invalid("no such option or no such value"));
        }
        session.record.settings.options()
    };
    // The choice holds for this process even when it cannot be written down.
    let _ = connection.save(id).await;
    Ok(options)
}
