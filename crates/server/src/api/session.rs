//! One session: made, looked at, prompted, stopped.

use std::path::PathBuf;
use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::{Extension, Json};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sessions::desk::{Order, Status};
use sessions::mint;
use sessions::options::Wishes;
use sessions::permission::Mode;
use sessions::session::SessionHandle;
use store::SessionRecord;
use utoipa::ToSchema;
use wire::SessionId;

use crate::daemon::Daemon;
use crate::principal::{Principal, Role};
use crate::problem::Problem;

/// A session to be made.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct NewSession {
    agent: Option<String>,
    #[schema(value_type = String)]
    cwd: PathBuf,
    title: Option<String>,
    model: Option<String>,
    mode: Option<String>,
    effort: Option<String>,
    system_prompt: Option<String>,
    /// `ask`, `accept-edits`, `auto`, `read-only` or `deny-all`.
    #[schema(value_type = Option<String>)]
    permissions: Option<Mode>,
    #[serde(default)]
    #[schema(value_type = Vec<String>)]
    additional_directories: Vec<PathBuf>,
    #[serde(default)]
    mcp_servers: Vec<Value>,
    /// The agent is started with the first prompt.
    #[serde(default)]
    starts_later: bool,
}

/// A session as it is now.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Session {
    #[schema(value_type = String)]
    id: SessionId,
    agent: String,
    cwd: String,
    title: Option<String>,
    #[schema(value_type = String)]
    status: Status,
    created: i64,
    updated: i64,
    /// The number of its last event.
    head: u64,
    /// Changes when events were lost.
    epoch: String,
}

impl Session {
    pub(crate) fn of(daemon: &Daemon, record: SessionRecord) -> Self {
        Self {
            status: daemon.desk.status(&record),
            id: record.id,
            agent: record.agent,
            cwd: record.cwd,
            title: record.title,
            created: record.created.0,
            updated: record.updated.0,
            head: record.head.0,
            epoch: format!("{:x}", record.epoch),
        }
    }
}

/// Makes a session.
#[utoipa::path(post, path = "/v1/sessions", request_body = NewSession,
    responses((status = 201, body = Session)))]
pub(crate) async fn create(
    State(daemon): State<Arc<Daemon>>,
    Extension(principal): Extension<Principal>,
    Json(new): Json<NewSession>,
) -> Result<(StatusCode, Json<Session>), Problem> {
    principal.require(Role::Operator)?;
    let order = Order {
        agent: new.agent.or_else(|| daemon.settings.default_agent.clone()),
        cwd: new.cwd,
        title: new.title,
        wishes: Wishes { model: new.model, effort: new.effort, mode: new.mode },
        system_prompt: new.system_prompt,
        permissions: new.permissions,
        additional_directories: new.additional_directories,
        mcp_servers: new.mcp_servers,
        made_by: Some(principal.name.clone()),
        starts_later: new.starts_later,
        ..Order::default()
    };
    let order = daemon.checked(order, &principal)?;
    let opened = daemon.desk.create(order).await?;
    let record = daemon.desk.record(opened.handle.id()).await?;
    Ok((StatusCode::CREATED, Json(Session::of(&daemon, record))))
}

/// A session as it is now.
#[utoipa::path(get, path = "/v1/sessions/{id}", responses((status = 200, body = Session)))]
pub(crate) async fn get(
    State(daemon): State<Arc<Daemon>>,
    Extension(principal): Extension<Principal>,
    Path(id): Path<String>,
) -> Result<Json<Session>, Problem> {
    let record = daemon.visible(&id, &principal).await?;
    Ok(Json(Session::of(&daemon, record)))
}

/// What to say: text, or ACP's content blocks.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Prompt {
    prompt: Value,
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Accepted {
    turn_id: String,
}

/// Prompts the session; what follows is in its events.
#[utoipa::path(post, path = "/v1/sessions/{id}/prompt", request_body = Prompt,
    responses((status = 202, body = Accepted)))]
pub(crate) async fn prompt(
    State(daemon): State<Arc<Daemon>>,
    Extension(principal): Extension<Principal>,
    Path(id): Path<String>,
    Json(prompt): Json<Prompt>,
) -> Result<(StatusCode, Json<Accepted>), Problem> {
    principal.require(Role::Operator)?;
    let record = daemon.visible(&id, &principal).await?;
    let blocks = match prompt.prompt {
        Value::String(text) => json!([{ "type": "text", "text": text }]),
        Value::Array(blocks) => Value::Array(blocks),
        _ => return Err(Problem::bad_request("`prompt` is neither a text nor content blocks")),
    };
    let params = wire::Json::of(&json!({ "prompt": blocks }));
    let turn = mint::turn_id();
    let prompting = |session: SessionHandle| {
        let (params, by) = (params.clone(), principal.name.clone());
        async move { session.prompt(turn, params, by).await }
    };
    daemon.desk.with(record.id, prompting).await?;
    Ok((StatusCode::ACCEPTED, Json(Accepted { turn_id: turn.to_string() })))
}

/// Stops the running turn and drops those that wait; answers when none runs.
#[utoipa::path(post, path = "/v1/sessions/{id}/cancel", responses((status = 200)))]
pub(crate) async fn cancel(
    State(daemon): State<Arc<Daemon>>,
    Extension(principal): Extension<Principal>,
    Path(id): Path<String>,
) -> Result<Json<Session>, Problem> {
    principal.require(Role::Operator)?;
    let record = daemon.visible(&id, &principal).await?;
    if let Some(session) = daemon.desk.live(record.id) {
        let _ = session.cancel(principal.name.clone()).await;
    }
    let record = daemon.desk.record(record.id).await?;
    Ok(Json(Session::of(&daemon, record)))
}
