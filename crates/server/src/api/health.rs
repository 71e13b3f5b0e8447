//! The health and the capabilities of the daemon.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::Serialize;
use utoipa::ToSchema;

use crate::attachments;
use crate::daemon::Daemon;
use crate::input::Observer;
use crate::principal::Role;

/// The features of this daemon, as plain words. A word is never taken back and never changes its
/// meaning; new ones are added.
const FEATURES: &[&str] = &[
    "acp.http",
    "acp.websocket",
    "agents",
    "agents.stream",
    "attachments",
    "audit",
    "cancel",
    "events.list",
    "events.sse",
    "events.websocket",
    "export",
    "metrics",
    "open-design",
    "permissions",
    "permissions.all",
    "permissions.elicitation",
    "prompt.attachments",
    "prompt.blocks",
    "prompt.idempotent",
    "queue",
    "sessions",
    "sessions.close",
    "sessions.delete",
    "sessions.files",
    "sessions.find",
    "sessions.fork",
    "sessions.idempotent",
    "sessions.options",
    "sessions.patch",
    "sessions.search",
    "sessions.start",
    "transcript",
];

/// Whether the daemon runs; needs no token.
#[utoipa::path(get, path = "/healthz", operation_id = "isAlive", tag = "daemon", security(()),
    responses((status = 200, description = "It runs", body = String, content_type = "text/plain")))]
pub(crate) async fn alive() -> &'static str {
    "ok\n"
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Health {
    /// `ok`, `degraded` if the log cannot be read, or `stopping`.
    status: &'static str,
    version: &'static str,
    uptime_seconds: u64,
    /// Not for tokens that are limited to their own sessions.
    #[serde(skip_serializing_if = "Option::is_none")]
    sessions: Option<SessionCount>,
    store: StoreHealth,
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SessionCount {
    /// In memory, with or without a worker.
    live: usize,
    /// In the log.
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<u64>,
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct StoreHealth {
    ok: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes_on_disk: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

/// The health of the daemon and its log.
#[utoipa::path(get, path = "/v1/health", operation_id = "getHealth", tag = "daemon",
    responses((status = 200, description = "All is well", body = Health),
        (status = 503, description = "The log cannot be read, or the daemon is stopping", body = Health)))]
pub(crate) async fn health(
    Observer(principal): Observer,
    State(daemon): State<Arc<Daemon>>,
) -> (StatusCode, Json<Health>) {
    let usage = daemon.registry.log().usage().await;
    let (known, sees_all) = (usage.as_ref().ok(), !principal.own_sessions);
    let status = match &usage {
        _ if daemon.stopping.is_cancelled() => "stopping",
        Ok(_) => "ok",
        Err(_) => "degraded",
    };
    let health = Health {
        status,
        version: env!("CARGO_PKG_VERSION"),
        uptime_seconds: daemon.started.elapsed().as_secs(),
        sessions: sees_all.then(|| SessionCount {
            live: daemon.registry.n_live(),
            total: known.map(|usage| usage.n_sessions),
        }),
        store: StoreHealth {
            ok: usage.is_ok(),
            bytes_on_disk: known.filter(|_| sees_all).map(|usage| usage.bytes_on_disk),
            error: usage.as_ref().err().map(ToString::to_string),
        },
    };
    let code = if status == "ok" { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (code, Json(health))
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Capabilities {
    version: &'static str,
    /// Names of what this daemon can do: check these, not the version.
    features: &'static [&'static str],
    limits: CapabilityLimits,
    you: Caller,
}

/// The caller.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Caller {
    /// The token's name.
    name: String,
    /// `observer`, `operator` or `admin`.
    #[schema(value_type = String)]
    role: Role,
    /// Sees only the sessions that it made itself.
    own_sessions: bool,
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CapabilityLimits {
    attachment_bytes: u64,
    session_attachment_bytes: u64,
    queued_prompts: usize,
}

/// The features and limits of this daemon, and the role of the caller.
#[utoipa::path(get, path = "/v1/capabilities", operation_id = "getCapabilities", tag = "daemon",
    responses((status = 200, description = "Its features and limits", body = Capabilities)))]
pub(crate) async fn capabilities(
    Observer(principal): Observer,
    State(daemon): State<Arc<Daemon>>,
) -> Json<Capabilities> {
    Json(Capabilities {
        version: env!("CARGO_PKG_VERSION"),
        features: FEATURES,
        limits: CapabilityLimits {
            attachment_bytes: attachments::MAX_FILE_BYTES,
            session_attachment_bytes: attachments::MAX_SESSION_BYTES,
            queued_prompts: daemon.registry.context().settings.limits.queued_prompts,
        },
        you: Caller {
            name: principal.name,
            role: principal.role,
            own_sessions: principal.own_sessions,
        },
    })
}
