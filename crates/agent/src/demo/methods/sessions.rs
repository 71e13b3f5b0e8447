//! The life of sessions: new, load, resume, list, close, delete.
//!
//! In: params. Out: the result, after the replay where there is one.
//! A session is looked up in memory first and then in the store, so it is found again by a later
//! process on the same state directory.

use super::{Reply, invalid, read, unknown_method, unknown_session};
use crate::demo::commands;
use crate::demo::connection::Connection;
use crate::demo::rpc::{self, RpcError};
use crate::demo::session::{Record, Session};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::path::Path;

// Small enough that a test with a few dozen sessions sees a second page.
const LIST_PAGE: usize = 50;

pub(super) async fn call(
    connection: &Connection,
    method: &str,
    params: &RawValue,
) -> Result<Reply, RpcError> {
    let offers = connection.options.offers;
    match method {
        "session/new" => new(connection, read(params)?).await,
        "session/load" if offers.load => load(connection, read(params)?).await,
        "session/resume" if offers.resume => resume(connection, read(params)?).await,
        "session/list" if offers.list => list(connection, read_or_default(params)?).await,
        "session/close" if offers.close => close(connection, &read(params)?).await,
        "session/delete" if offers.delete => delete(connection, &read(params)?).await,
        _ => Err(unknown_method(method)),
    }
}

/// `session/list` needs no params at all.
fn read_or_default<T: Default + serde::de::DeserializeOwned>(
    params: &RawValue,
) -> Result<T, RpcError> {
    if params.get() == "null" { Ok(T::default()) } else { read(params) }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct New {
    cwd: String,
    #[expect(dead_code, reason = "must be there; the demo agent connects to none of them")]
    mcp_servers: Vec<Value>,
}

async fn new(connection: &Connection, params: New) -> Result<Reply, RpcError> {
    check_auth(connection)?;
    check_cwd(&params.cwd)?;
    tokio::time::sleep(connection.options.slow_new).await;
    let id = connection.unique("demo");
    if connection.options.has_early_updates {
        connection.send_update(&id, &commands::available()).await;
    }
    let session = Session::open(Record::new(id.clone(), params.cwd));
    let mut result = describe(connection, &session.record);
    connection.state().sessions.insert(id.clone(), session);
    save(connection, &id).await?;
    result["sessionId"] = Value::from(id.as_str());
    Ok(Reply { result, then: vec![(id, commands::available())] })
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Load {
    session_id: String,
    cwd: String,
    #[expect(dead_code, reason = "must be there; the demo agent connects to none of them")]
    mcp_servers: Vec<Value>,
}

async fn load(connection: &Connection, params: Load) -> Result<Reply, RpcError> {
    let Load { session_id, cwd, .. } = params;
    let record = reopen(connection, &session_id, cwd).await?;
    for update in &record.history {
        connection.send_update(&session_id, update).await;
    }
    let result = describe(connection, &record);
    Ok(Reply { result, then: vec![(session_id, commands::available())] })
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Resume {
    session_id: String,
    cwd: String,
}

async fn resume(connection: &Connection, params: Resume) -> Result<Reply, RpcError> {
    let record = reopen(connection, &params.session_id, params.cwd).await?;
    Ok(describe(connection, &record).into())
}

async fn reopen(connection: &Connection, id: &str, cwd: String) -> Result<Record, RpcError> {
    check_auth(connection)?;
    check_cwd(&cwd)?;
    if connection.options.forgets {
        return Err(unknown_session(id));
    }
    let is_in_memory = connection.state().sessions.contains_key(id);
    if !is_in_memory {
        let record = match connection.store().await.load(id).await {
            Some(record) => record,
            None if connection.options.lies_on_resume => Record::new(id.to_owned(), cwd.clone()),
            None => return Err(unknown_session(id)),
        };
        connection.state().sessions.insert(id.to_owned(), Session::open(record));
    }
    let mut state = connection.state();
    let session = state.sessions.get_mut(id).ok_or_else(|| unknown_session(id))?;
    session.is_open = true;
    session.record.cwd = cwd;
    Ok(session.record.clone())
}

#[derive(Deserialize, Default)]
struct List {
    cwd: Option<String>,
    cursor: Option<String>,
}

async fn list(connection: &Connection, params: List) -> Result<Reply, RpcError> {
    check_auth(connection)?;
    let skip: usize = match params.cursor {
        Some(cursor) => cursor.parse().map_err(|_| invalid("no such cursor"))?,
        None => 0,
    };
    let mut found: HashMap<String, Record> = HashMap::new();
    for record in connection.store().await.list().await {
        found.insert(record.session_id.clone(), record);
    }
    for (id, session) in &connection.state().sessions {
        found.insert(id.clone(), session.record.clone());
    }
    let mut records: Vec<Record> = found
        .into_values()
        .filter(|record| params.cwd.as_ref().is_none_or(|cwd| *cwd == record.cwd))
        .collect();
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
struct Only {
    session_id: String,
}

async fn close(connection: &Connection, params: &Only) -> Result<Reply, RpcError> {
    let id = &params.session_id;
    {
        let mut state = connection.state();
        let session = state.sessions.get_mut(id).filter(|session| session.is_open);
        let session = session.ok_or_else(|| unknown_session(id))?;
        session.cancel();
        session.is_open = false;
    }
    save(connection, id).await?;
    Ok(json!({}).into())
}

async fn delete(connection: &Connection, params: &Only) -> Result<Reply, RpcError> {
    let id = &params.session_id;
    let store = connection.store().await;
    if let Some(session) = connection.state().sessions.remove(id) {
        session.cancel();
    }
    store.remove(id).await.map_err(|problem| storage(&problem))?;
    Ok(json!({}).into())
}

/// What new, load and resume say about a session.
fn describe(connection: &Connection, record: &Record) -> Value {
    if connection.options.has_no_config {
        return json!({});
    }
    json!({ "modes": record.settings.modes(), "configOptions": record.settings.options() })
}

fn info(record: &Record) -> Value {
    json!({
        "sessionId": record.session_id,
        "cwd": record.cwd,
        "title": record.title,
        "updatedAt": record.updated_at,
    })
}

fn check_auth(connection: &Connection) -> Result<(), RpcError> {
    if connection.state().is_authenticated {
        return Ok(());
    }
    Err(RpcError::new(rpc::AUTH_REQUIRED, "call authenticate first"))
}

fn check_cwd(cwd: &str) -> Result<(), RpcError> {
    if Path::new(cwd).is_absolute() {
        return Ok(());
    }
    Err(invalid(format!("cwd is not an absolute path: {cwd}")))
}

async fn save(connection: &Connection, id: &str) -> Result<(), RpcError> {
    connection.save(id).await.map_err(|problem| storage(&problem))
}

fn storage(problem: &std::io::Error) -> RpcError {
    RpcError::new(rpc::INTERNAL, format!("cannot keep the session: {problem}"))
}
