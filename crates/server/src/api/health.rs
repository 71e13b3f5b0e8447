//! The health and the capabilities of the daemon.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use bus::MissingLimit;
use serde::Serialize;
use store::{LogHealth, LogTrouble, LogUsage, StoreError};
use utoipa::ToSchema;
use wire::SessionId;

use crate::attachments;
use crate::daemon::Daemon;
use crate::daemon::backup_status::LastBackup;
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
    /// `ok`, `degraded` if the log cannot be read or written, or `stopping`.
    status: &'static str,
    version: &'static str,
    uptime_seconds: u64,
    /// Not for tokens that are limited to their own sessions.
    #[serde(skip_serializing_if = "Option::is_none")]
    sessions: Option<SessionCount>,
    store: StoreHealth,
    /// Limits of workers that are wanted and not in force. Not for tokens that are limited to their
    /// own sessions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    missing_limits: Vec<MissingWorkerLimit>,
}

/// A limit of workers that is not in force.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct MissingWorkerLimit {
    /// By its name in `[workers]` of the configuration: `pids`, `memory_bytes` or `cpu_weight`.
    limit: &'static str,
    /// Why it is not.
    reason: String,
}

impl From<&MissingLimit> for MissingWorkerLimit {
    fn from(missing: &MissingLimit) -> Self {
        Self { limit: missing.limit, reason: missing.why.clone() }
    }
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
    /// Nothing fails just now.
    ok: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes_on_disk: Option<u64>,
    /// The first of the troubles.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    /// What fails just now.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    troubles: Vec<StoreTrouble>,
    /// Sessions that were found missing from the database, until they are deleted. Not for tokens
    /// that are limited to their own sessions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<String>)]
    lost_sessions: Vec<SessionId>,
    /// Sessions that could not go on, and were not put right yet. Not for tokens that are limited
    /// to their own sessions.
    #[serde(skip_serializing_if = "Option::is_none")]
    halted_sessions: Option<usize>,
    /// The last backup by the schedule, since the daemon was started.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_backup: Option<BackupHealth>,
}

/// How a scheduled backup of the log went.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct BackupHealth {
    /// Milliseconds since 1970.
    at: i64,
    /// Why there is none, or why it is not sound.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

impl From<LastBackup> for BackupHealth {
    fn from(last: LastBackup) -> Self {
        Self { at: last.at.0, error: last.error }
    }
}

/// Something about the log that fails.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct StoreTrouble {
    /// `disk_full`, `files_gone`, `write_failed`, `sync_failed` or `read_failed`.
    kind: &'static str,
    /// Milliseconds since 1970.
    since: i64,
    /// The last error, and what to do.
    detail: String,
}

impl From<LogTrouble> for StoreTrouble {
    fn from(trouble: LogTrouble) -> Self {
        let detail = trouble.error.to_string();
        Self { kind: trouble.name(), since: trouble.since.0, detail }
    }
}

impl StoreHealth {
    /// The health of a log, and its size if that could be found out and is to be told.
    fn of(daemon: &Daemon, usage: &Result<LogUsage, StoreError>, sees_all: bool) -> Self {
        let LogHealth { troubles, lost } = daemon.registry.log().health();
        let unreadable = usage.as_ref().err().map(ToString::to_string);
        let first = troubles.first().map(|trouble| trouble.error.to_string());
        let lost_sessions = lost.into_iter().filter(|_| sees_all).map(|lost| lost.id).collect();
        Self {
            ok: usage.is_ok() && troubles.is_empty(),
            bytes_on_disk: usage.as_ref().ok().filter(|_| sees_all).map(|now| now.bytes_on_disk),
            error: first.or(unreadable),
            troubles: troubles.into_iter().map(StoreTrouble::from).collect(),
            lost_sessions,
            halted_sessions: sees_all.then(|| daemon.registry.context().halted.n_halted()),
            last_backup: daemon.backups.last().filter(|_| sees_all).map(BackupHealth::from),
        }
    }
}

/// The health of the daemon and its log.
#[utoipa::path(get, path = "/v1/health", operation_id = "getHealth", tag = "daemon",
    responses((status = 200, description = "All is well", body = Health),
        (status = 503, description = "The log cannot be read or written, or the daemon is stopping", body = Health)))]
pub(crate) async fn health(
    Observer(principal): Observer,
    State(daemon): State<Arc<Daemon>>,
) -> (StatusCode, Json<Health>) {
    let usage = daemon.registry.log().usage().await;
    let sees_all = !principal.own_sessions;
    let store = StoreHealth::of(&daemon, &usage, sees_all);
    let status = match store.ok {
        _ if daemon.stopping.is_cancelled() => "stopping",
        true => "ok",
        false => "degraded",
    };
    let missing = daemon.registry.context().setup.limits.missing();
    let health = Health {
        status,
        version: env!("CARGO_PKG_VERSION"),
        uptime_seconds: daemon.started.elapsed().as_secs(),
        sessions: sees_all.then(|| SessionCount {
            live: daemon.registry.n_live(),
            total: usage.ok().map(|usage| usage.n_sessions),
        }),
        store,
        missing_limits: missing.iter().filter(|_| sees_all).map(Into::into).collect(),
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
