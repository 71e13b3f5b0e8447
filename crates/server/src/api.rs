//! REST under `/v1`: sessions made, steered and read by programs.

mod session;

use std::sync::Arc;

use axum::{Json, Router};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::daemon::Daemon;
use crate::problem::Problem;
use sessions::desk::DeskError;
use sessions::open::OpenError;
use sessions::session::SessionError;
use sessions::trouble::Trouble;

pub(crate) fn router(daemon: &Arc<Daemon>) -> Router {
    let (router, document) = OpenApiRouter::new()
        .routes(routes!(session::create))
        .routes(routes!(session::get))
        .routes(routes!(session::prompt))
        .routes(routes!(session::cancel))
        .with_state(daemon.clone())
        .split_for_parts();
    router.route("/v1/openapi.json", axum::routing::get(async move || Json(document)))
}

impl From<DeskError> for Problem {
    fn from(error: DeskError) -> Self {
        use axum::http::StatusCode;
        let trouble = Trouble::from(&error);
        let problem = match &error {
            DeskError::NoSuchSession(id) => {
                return Self::not_found(format!("there is no session `{id}`"));
            }
            DeskError::BadOrder(why) => return Self::bad_request(why),
            DeskError::Refused(why) => return Self::forbidden(why),
            DeskError::ShuttingDown => {
                let status = StatusCode::SERVICE_UNAVAILABLE;
                Self::new(status, "shutting-down", "the daemon is shutting down").retry_after(5)
            }
            DeskError::Open(OpenError::Store(store::StoreError::InUse { .. })) => {
                Self::conflict("in-use", "another process has this session")
            }
            DeskError::Session(SessionError::NotQueued(_)) => {
                Self::new(StatusCode::SERVICE_UNAVAILABLE, "queue-full", "too many prompts wait")
                    .retry_after(5)
            }
            _ if trouble.category == "bad_input" => return Self::bad_request(trouble.message),
            _ => {
                let slug = trouble.category.replace('_', "-");
                Self::new(StatusCode::BAD_GATEWAY, &slug, "the agent could not do it")
            }
        };
        let problem = problem.detail(trouble.message);
        match trouble.remedy {
            Some(remedy) => problem.remedy(remedy),
            None => problem,
        }
    }
}
