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
mod error_body;
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

use axum::Router;
use axum::middleware::map_response;
use axum::routing::{get, post};

use crate::daemon::Daemon;
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
    uploads::sweep(runs.projects.root());
    Router::new()
        .route("/api/agents", get(agents::list))
        .route("/api/runs", get(list::list).post(run::create))
        .route("/api/runs/{id}", get(run::get))
        .route("/api/runs/{id}/events", get(run::events))
        .route("/api/runs/{id}/cancel", post(run::cancel))
        .route("/api/chat", post(run::chat))
        .route("/api/upload", post(uploads::upload_images))
        .route("/api/projects/{id}/upload", post(uploads::upload_files))
        .layer(map_response(error_body::rewrite_problem))
        .with_state(runs)
}
