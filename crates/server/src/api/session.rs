//! One session: made, looked at, started, changed, forked, closed, deleted.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_with::rust::double_option;
use serde_with::skip_serializing_none;
use sessions::details::{ClientRequest, SessionDetails, TurnEndSummary};
use sessions::options::InitialOptions;
use sessions::order::SessionOrder;
use sessions::permission::PermissionMode;
use sessions::registry::SessionStatus;
use sessions::session::SessionHandle;
use store::SessionRecord;
use tokio::sync::oneshot;
use utoipa::ToSchema;
use wire::{Fault, Seq, SessionId};

use super::options::{AgentOptions, SessionLimits, SessionUsage};
use crate::daemon::Daemon;
use crate::input::{Admin, JsonBody, Observer, Operator, OptionalJsonBody, SessionRequest};
use crate::principal::Principal;
use crate::problem::{Problem, kinds};
use crate::request_names::digest;

/// Longer ones are no titles.
const MAX_TITLE_CHARS: usize = 500;

/// A session to be made.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct NewSession {
    /// The agent's name, as `/v1/agents` lists it.
    agent: Option<String>,
    /// An absolute path, or one that begins with `~`, the home of the daemon's user.
    #[schema(value_type = String)]
    cwd: PathBuf,
    title: Option<String>,
    model: Option<String>,
    mode: Option<String>,
    effort: Option<String>,
    /// Other options of the agent's own, by their ids.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    options: BTreeMap<String, String>,
    system_prompt: Option<String>,
    /// `ask`, `accept-edits`, `auto`, `read-only` or `deny-all`.
    #[schema(value_type = Option<String>)]
    permissions: Option<PermissionMode>,
    #[serde(default)]
    #[schema(value_type = Vec<String>)]
    additional_directories: Vec<PathBuf>,
    /// As in ACP's `session/new`. Those that are commands are for the daemon's own user.
    #[serde(default)]
    #[schema(value_type = Vec<Object>)]
    mcp_servers: Vec<Value>,
    /// Starts the agent with the first prompt only.
    #[serde(default)]
    starts_later: bool,
    #[serde(default)]
    limits: SessionLimits,
    /// An agent's command line, instead of a name. For the daemon's own user.
    #[serde(default)]
    command: Vec<String>,
    /// Instead of the daemon's environment. For the daemon's own user.
    #[serde(default)]
    env: Option<BTreeMap<String, String>>,
    /// An idempotency key: the same id with the same body makes no second session.
    client_request_id: Option<String>,
}

/// A session as it is now.
#[skip_serializing_none]
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Session)]
pub(crate) struct SessionView {
    #[schema(value_type = String)]
    id: SessionId,
    agent: String,
    /// Its agent's command line, if that was given instead of a name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    command: Vec<String>,
    /// The conversation's id as the agent itself has it.
    #[serde(rename = "agentSession")]
    id_at_agent: Option<String>,
    cwd: String,
    #[serialize_always]
    title: Option<String>,
    pub(super) status: SessionStatus,
    /// Milliseconds since 1970.
    created: i64,
    /// Time of the last event.
    updated: i64,
    /// The number of its last event.
    head: u64,
    /// Changes when events were lost.
    epoch: String,
    /// Size of its events in the log.
    bytes: u64,
    /// Why it could not go on; missing again once it does, which it tries by itself.
    halted: Option<String>,
    /// The turn that runs or is about to.
    active_turn: Option<String>,
    /// Name of the token that made it.
    made_by: Option<String>,
    /// The permission mode, if it is not the daemon's.
    #[schema(value_type = Option<String>)]
    permissions: Option<PermissionMode>,
    /// ACP clients that have it open.
    clients: usize,
    /// What it may use, if it has limits.
    limits: Option<SessionLimits>,
    /// What it has used, as far as the agent reports it.
    usage: Option<SessionUsage>,
    /// How its last turn ended; nothing before its first.
    last_turn: Option<LastTurn>,
    /// What the agent offers and uses, or did when it ran last; only of a single session.
    options: Option<AgentOptions>,
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LastTurn {
    /// ACP's stop reason, or `error`.
    stop_reason: String,
    /// What went wrong; only with `error`.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Fault>,
}

impl From<TurnEndSummary> for LastTurn {
    fn from(TurnEndSummary { stop_reason, error }: TurnEndSummary) -> Self {
        Self { stop_reason, error }
    }
}

impl SessionView {
    pub(crate) async fn of(daemon: &Daemon, record: SessionRecord) -> Self {
        let details = SessionDetails::read(&record);
        // A session without limits and usage has the default budget.
        let budget = Some(&details.budget).filter(|budget| !budget.is_default());
        let status = daemon.registry.status(&record).await;
        // Nothing runs in a session that could not go on, whatever its log says last.
        let active_turn = record.active_turn.filter(|_| status != SessionStatus::Failed);
        Self {
            status,
            clients: daemon.registry.n_clients(record.id),
            halted: daemon.registry.halted(record.id),
            id: record.id,
            agent: record.agent,
            command: if details.is_named { Vec::new() } else { details.command },
            id_at_agent: record.agent_session,
            cwd: record.cwd,
            title: record.title,
            created: record.created.0,
            updated: record.updated.0,
            head: record.head.0,
            epoch: format!("{:x}", record.epoch),
            bytes: record.bytes,
            active_turn: active_turn.map(|turn| turn.to_string()),
            made_by: details.made_by,
            permissions: details.permissions,
            limits: budget.map(|budget| SessionLimits::of(&budget.limits())),
            usage: budget.map(|budget| SessionUsage::of(budget.used())),
            last_turn: details.last_end.map(LastTurn::from),
            options: None,
        }
    }

    /// A session as it is now.
    pub(super) async fn now(daemon: &Daemon, id: SessionId) -> Result<Self, Problem> {
        Ok(Self::of(daemon, daemon.registry.record(id).await?).await)
    }

    /// A session with the options that its agent offers.
    pub(super) async fn with_options(
        daemon: &Daemon,
        principal: &Principal,
        record: SessionRecord,
    ) -> Self {
        let _place = daemon.load.lookup(&principal.name).await;
        let live = daemon.registry.awake_handle(record.id);
        let offer = match live {
            Some(handle) => handle.offer().await.ok().flatten(),
            None => None,
        };
        let answer =
            offer.map(|offer| offer.answer).or_else(|| SessionDetails::read(&record).offered);
        let options = match answer {
            Some(answer) => AgentOptions::read(daemon, principal, answer).await,
            None => None,
        };
        Self { options, ..Self::of(daemon, record).await }
    }
}

/// Makes a session.
#[utoipa::path(post, path = "/v1/sessions", operation_id = "createSession", tag = "sessions", request_body = NewSession,
    responses((status = 201, description = "Made", body = SessionView),
        (status = 200, description = "This request made it before", body = SessionView)))]
pub(crate) async fn create(
    State(daemon): State<Arc<Daemon>>,
    Operator(principal): Operator,
    JsonBody(new): JsonBody<NewSession>,
) -> Result<Response, Problem> {
    check_title(new.title.as_deref())?;
    new.client_request_id.as_deref().map(super::check_request_id).transpose()?;
    let request =
        new.client_request_id.clone().map(|id| ClientRequest { id, digest: digest(&new) });
    let order = SessionOrder {
        agent: new.agent.or_else(|| daemon.settings.default_agent.clone()),
        cwd: daemon.whole_path(new.cwd)?,
        title: new.title,
        initial_options: InitialOptions {
            model: new.model,
            effort: new.effort,
            mode: new.mode,
            options: new.options,
        },
        system_prompt: new.system_prompt,
        permissions: new.permissions,
        additional_directories: new.additional_directories,
        mcp_servers: new.mcp_servers,
        maker: Some(principal.maker()),
        has_own_worker: principal.own_sessions,
        made_for: request.clone().map(Box::new),
        starts_later: new.starts_later,
        limits: new.limits.read()?,
        command: new.command.into_iter().map(Into::into).collect(),
        env: new.env.map(|env| env.into_iter().map(|(k, v)| (k.into(), v.into())).collect()),
        ..SessionOrder::default()
    };
    let order = daemon.checked(order, &principal)?;
    let making = make(daemon.clone(), principal.clone(), request, order);
    // A client that leaves must not leave half a session behind.
    let made = task::spawn(making).await;
    let (id, is_new) = made??;
    let record = daemon.registry.record(id).await?;
    let session = SessionView::with_options(&daemon, &principal, record).await;
    let code = if is_new { StatusCode::CREATED } else { StatusCode::OK };
    Ok(with_location(code, session))
}

async fn make(
    daemon: Arc<Daemon>,
    principal: Principal,
    request: Option<ClientRequest>,
    order: SessionOrder,
) -> Result<(SessionId, bool), Problem> {
    let make = || async { Ok(daemon.registry.create(order.clone()).await?.handle.id()) };
    match &request {
        Some(request) => {
            daemon.created_sessions.once(&daemon.registry, &principal, request, make).await
        }
        None => Ok((make().await?, true)),
    }
}

/// A response with the session and its `Location`.
fn with_location(code: StatusCode, session: SessionView) -> Response {
    let location = HeaderValue::try_from(format!("/v1/sessions/{}", session.id));
    let mut response = (code, Json(session)).into_response();
    if let Ok(location) = location {
        response.headers_mut().insert(header::LOCATION, location);
    }
    response
}

fn check_title(title: Option<&str>) -> Result<(), Problem> {
    match title.is_some_and(|title| title.chars().count() > MAX_TITLE_CHARS) {
        true => {
            Err(Problem::bad_request(format!("`title` has more than {MAX_TITLE_CHARS} characters")))
        }
        false => Ok(()),
    }
}

/// A session as it is now.
#[utoipa::path(get, path = "/v1/sessions/{id}", operation_id = "getSession", tag = "sessions",
    params(("id" = String, Path, description = "The session")),
    responses((status = 200, description = "The session", body = SessionView)))]
pub(crate) async fn get(session: SessionRequest<Observer>) -> Result<Json<SessionView>, Problem> {
    let (daemon, principal, record) = session.visible().await?;
    Ok(Json(SessionView::with_options(&daemon, &principal, record).await))
}

/// Options of an agent's start.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct StartBody {
    /// One of the agent's own ways to log in, by its id. The agent is asked for it first, as with
    /// ACP's `authenticate`. Not for agents.
    auth: Option<String>,
}

/// Starts the session's agent now, and not with the first prompt, and sets the options that the
/// session was made with. An agent that runs is left as it is.
#[utoipa::path(post, path = "/v1/sessions/{id}/start", operation_id = "startSession", tag = "sessions", request_body = Option<StartBody>,
    params(("id" = String, Path, description = "The session")),
    responses((status = 200, description = "Its agent has the session", body = SessionView)))]
pub(crate) async fn start(
    session: SessionRequest<Operator>,
    OptionalJsonBody(start): OptionalJsonBody<StartBody>,
) -> Result<Json<SessionView>, Problem> {
    let (daemon, principal, record) = session.visible().await?;
    if start.auth.is_some() && principal.is_worker {
        return Err(Problem::forbidden("an agent cannot log a user in"));
    }
    daemon.registry.start(record.id, start.auth.as_deref()).await?;
    let record = daemon.registry.record(record.id).await?;
    Ok(Json(SessionView::with_options(&daemon, &principal, record).await))
}

/// Changes of a session; what is left out stays as it is.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct SessionPatch {
    /// `null` removes it.
    #[serde(default, deserialize_with = "double_option::deserialize")]
    #[schema(value_type = Option<String>)]
    #[allow(clippy::option_option, reason = "`null` is told from a member that is left out")]
    title: Option<Option<String>>,
    model: Option<String>,
    mode: Option<String>,
    effort: Option<String>,
    /// Other options of the agent's own, by their ids.
    #[serde(default)]
    options: BTreeMap<String, String>,
    /// All limits anew; those that are left out are lifted.
    limits: Option<SessionLimits>,
}

/// Changes a session's title, or what its agent uses. The agent is started for that if it
/// does not run.
#[utoipa::path(patch, path = "/v1/sessions/{id}", operation_id = "changeSession", tag = "sessions", request_body = SessionPatch,
    params(("id" = String, Path, description = "The session")),
    responses((status = 200, description = "The session", body = SessionView)))]
pub(crate) async fn patch(
    session: SessionRequest<Operator>,
    JsonBody(changes): JsonBody<SessionPatch>,
) -> Result<Json<SessionView>, Problem> {
    let (daemon, principal, record) = session.visible().await?;
    if let Some(title) = &changes.title {
        check_title(title.as_deref())?;
    }
    let limits = changes.limits.as_ref().map(SessionLimits::read).transpose()?;
    if limits.is_some() {
        principal.require_person()?;
    }
    let SessionPatch { model, effort, mode, options, .. } = changes;
    let initial_options = InitialOptions { model, effort, mode, options };
    principal.check_options(&initial_options)?;
    for (choice, wanted) in initial_options.all() {
        daemon.registry.choose(record.id, choice, wanted).await?;
    }
    if let Some(title) = changes.title {
        let (title, by) = (&title, &principal.client("http"));
        let rename =
            |session: SessionHandle| async move { session.rename(title.clone(), by.clone()).await };
        daemon.registry.with(record.id, rename).await?;
    }
    if let Some(limits) = limits {
        let by = &principal.client("http");
        let set =
            |session: SessionHandle| async move { session.set_limits(limits, by.clone()).await };
        daemon.registry.with(record.id, set).await?;
    }
    let record = daemon.registry.record(record.id).await?;
    Ok(Json(SessionView::with_options(&daemon, &principal, record).await))
}

#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ForkBody {
    /// The last event to be taken over; whole turns only. Without it, all of them.
    up_to: Option<u64>,
}

/// Makes a session that begins with the conversation of this one. With `Prefer: respond-async` it is
/// told at once, with the status `copying`; copying goes on also if the client leaves.
#[utoipa::path(post, path = "/v1/sessions/{id}/fork", operation_id = "forkSession", tag = "sessions", request_body = Option<ForkBody>,
    params(("id" = String, Path, description = "The session")),
    responses((status = 201, description = "The new session", body = SessionView),
        (status = 202, description = "The new session, while it is copied", body = SessionView)))]
pub(crate) async fn fork(
    session: SessionRequest<Operator>,
    headers: HeaderMap,
    OptionalJsonBody(fork): OptionalJsonBody<ForkBody>,
) -> Result<Response, Problem> {
    let (daemon, principal, record) = session.visible().await?;
    let (registry, maker) = (daemon.registry.clone(), Some(principal.maker()));
    let (sender, made) = oneshot::channel();
    let forking = task::spawn(async move {
        let made = |id| {
            let _ = sender.send(id);
        };
        registry.fork_telling(record.id, fork.up_to.map(Seq), maker, made).await
    });
    if prefers_early_answer(&headers)
        && let Ok(id) = made.await
    {
        return Ok(with_location(StatusCode::ACCEPTED, SessionView::now(&daemon, id).await?));
    }
    let id = forking.await??;
    Ok(with_location(StatusCode::CREATED, SessionView::now(&daemon, id).await?))
}

/// Whether the client asks for an answer before the work is done (RFC 7240).
fn prefers_early_answer(headers: &HeaderMap) -> bool {
    let values = headers.get_all("prefer").iter().filter_map(|value| value.to_str().ok());
    let mut wanted = values.flat_map(|value| value.split(','));
    wanted.any(|one| one.trim().eq_ignore_ascii_case("respond-async"))
}

/// Cancels what runs and ends the session's worker; it can be prompted again.
#[utoipa::path(post, path = "/v1/sessions/{id}/close", operation_id = "closeSession", tag = "sessions",
    params(("id" = String, Path, description = "The session")),
    responses((status = 200, description = "Closed", body = SessionView)))]
pub(crate) async fn close(session: SessionRequest<Operator>) -> Result<Json<SessionView>, Problem> {
    let (daemon, _, record) = session.visible().await?;
    daemon.registry.close(record.id).await?;
    Ok(Json(SessionView::now(&daemon, record.id).await?))
}

/// Ends a session and removes its log and its attachments, for good.
#[utoipa::path(delete, path = "/v1/sessions/{id}", operation_id = "deleteSession", tag = "sessions",
    params(("id" = String, Path, description = "The session")),
    responses((status = 204, description = "Gone")))]
pub(crate) async fn delete(session: SessionRequest<Admin>) -> Result<StatusCode, Problem> {
    let daemon = session.daemon.clone();
    let named = SessionId::parse(&session.id);
    let id = match session.visible().await {
        // What is left of it is forgotten.
        Err(problem) if problem.is(kinds::SESSION_MISSING) => {
            named.map_err(|error| Problem::bad_request(error.to_string()))?
        }
        found => found?.2.id,
    };
    daemon.registry.delete(id).await?;
    Ok(StatusCode::NO_CONTENT)
}
