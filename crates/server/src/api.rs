//! REST under `/v1`: sessions made, steered and read by programs.
//!
//! In: requests of principals that the guard let in. Out: JSON, and problems with a stable
//! type. Every handler is in the document at `/v1/openapi.json`, because both the routes and
//! the document are made from the same list.

mod agents;
mod attachments;
mod audit;
mod directories;
mod document;
mod files;
mod health;
mod list;
mod options;
mod permissions;
mod prompt;
mod prompt_attachments;
mod session;
mod transcript;

use std::sync::Arc;

use axum::{Json, Router};
use utoipa::OpenApi as _;

use crate::daemon::Daemon;
use crate::endpoints::endpoints;
use crate::problem::Problem;

pub(crate) use agents::stream_agents;

pub(crate) fn router(daemon: &Arc<Daemon>) -> Router {
    routes().route("/v1/openapi.json", axum::routing::get(describe)).with_state(daemon.clone())
}

endpoints! { pub(crate) SessionPaths, Arc<Daemon>:
    health::alive,
    health::health,
    health::capabilities,
    agents::list,
    list::list,
    session::create,
    session::get,
    session::patch,
    session::delete,
    session::fork,
    session::close,
    session::start,
    prompt::prompt,
    prompt::cancel,
    prompt::queue,
    prompt::drop_queued,
    permissions::list,
    permissions::answer,
    permissions::list_all,
    audit::audit,
    transcript::transcript,
    transcript::export,
    files::find,
    directories::list,
    attachments::list,
    attachments::upload,
    attachments::get,
    attachments::delete,
}

/// The `OpenAPI` document of all routes. Made for each request, of which there are few: it takes
/// much memory.
async fn describe() -> Json<utoipa::openapi::OpenApi> {
    let mut document = document::Document::openapi();
    document.merge(SessionPaths::openapi());
    document.merge(crate::access::AccessPaths::openapi());
    document.merge(crate::login::LoginPaths::openapi());
    document::complete(&mut document);
    Json(document)
}

/// Checks the id that a client gives to a request, by which a repeated request is done once.
fn check_request_id(id: &str) -> Result<(), Problem> {
    const MAX_BYTES: usize = 200;
    let is_fine = !id.is_empty() && id.len() <= MAX_BYTES && !id.chars().any(char::is_control);
    match is_fine {
        true => Ok(()),
        false => Err(Problem::bad_request(format!(
            "`clientRequestId` has 1 to {MAX_BYTES} bytes and no control characters"
        ))),
    }
}

#[cfg(test)]
mod tests;
