//! Open Design's API: agents, runs and chat under `/api`.
//!
//! In: the requests that its front end sends, with whatever members it has today. Out: its
//! answers, its errors and its stream of events. A run is a turn, a conversation is a
//! session (one more for each further agent that is used in it), a project is a directory.
//!
//! Always true: nothing is kept here that the log does not have. Which session a conversation is,
//! and which session a run belongs to, follows from their ids alone, so both are found after a
//! restart. A project's files are reached through a directory handle that cannot be left.

mod agents;
mod conversation;
mod files;
mod list;
mod multipart;
mod project;
mod repeated_requests;
mod resources;
mod run;
mod run_index;
mod run_options;
mod run_request;
mod run_start;
pub(crate) mod run_vocabulary;
pub(crate) mod settings;
mod uploads;

use std::sync::Arc;

use axum::http::header;
use axum::middleware::map_response;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde_json::json;

use crate::daemon::Daemon;
use crate::problem::Problem;
use project::Projects;
use repeated_requests::{ConversationLocks, RequestDigests};
use run_index::RunIndexes;

pub use settings::OpenDesignSettings;
pub(crate) use uploads::MAX_FORM_BYTES;

/// The state that the handlers here share.
#[derive(Debug)]
struct Runs {
    daemon: Arc<Daemon>,
    projects: Projects,
    run_indexes: RunIndexes,
    request_digests: RequestDigests,
    conversation_locks: ConversationLocks,
    sides: conversation::SideSessions,
}

pub(crate) fn router(daemon: &Arc<Daemon>) -> Router {
    let runs = Arc::new(Runs {
        daemon: daemon.clone(),
        projects: Projects::below(daemon.settings.projects_dir.clone()),
        run_indexes: RunIndexes::default(),
        request_digests: RequestDigests::default(),
        conversation_locks: ConversationLocks::default(),
        sides: conversation::SideSessions::default(),
    });
    uploads::sweep(&runs.projects.root);
    Router::new()
        .route("/api/agents", get(agents::list))
        .route("/api/runs", get(list::list).post(run::create))
        .route("/api/runs/{id}", get(run::get))
        .route("/api/runs/{id}/events", get(run::events))
        .route("/api/runs/{id}/cancel", post(run::cancel))
        .route("/api/chat", post(run::chat))
        .route("/api/upload", post(uploads::upload_images))
        .route("/api/projects/{id}/upload", post(uploads::upload_files))
        .layer(map_response(rewrite_problem))
        .with_state(runs)
}

/// Rewrites an answer that is a problem in Open Design's shape: `{error: {code, message, details?}}`.
async fn rewrite_problem(mut response: Response) -> Response {
    let Some(problem) = response.extensions_mut().remove::<Problem>() else { return response };
    let said = problem.detail.unwrap_or_else(|| problem.title.to_owned());
    let message = match problem.remedy {
        Some(remedy) => format!("{said}: {remedy}"),
        None => said,
    };
    let mut error = json!({ "code": problem.open_design, "message": message });
    if let Some(details) = problem.details {
        error["details"] = *details;
    }
    let mut shaped = (response.status(), Json(json!({ "error": error }))).into_response();
    if let Some(after) = response.headers_mut().remove(header::RETRY_AFTER) {
        shaped.headers_mut().insert(header::RETRY_AFTER, after);
    }
    shaped
}
