//! A session's agent, started before anybody prompts it.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use utoipa::ToSchema;

use super::session::SessionView;
use crate::daemon::Daemon;
use crate::input::{Operator, OptionalJsonBody, PathParams};
use crate::problem::Problem;

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
    State(daemon): State<Arc<Daemon>>,
    Operator(principal): Operator,
    PathParams(id): PathParams<String>,
    OptionalJsonBody(start): OptionalJsonBody<StartBody>,
) -> Result<Json<SessionView>, Problem> {
    let record = daemon.visible(&id, &principal).await?;
    if start.auth.is_some() && principal.is_worker {
        return Err(Problem::forbidden("an agent cannot log a user in"));
    }
    daemon.registry.start(record.id, start.auth.as_deref()).await?;
    let record = daemon.registry.record(record.id).await?;
    Ok(Json(SessionView::with_options(&daemon, &principal, record).await))
}
