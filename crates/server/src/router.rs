//! Every route of the daemon but `/metrics`, which may stand alone, and what the guard has to know
//! of them.
//!
//! The one place that knows all handlers.

use std::sync::Arc;

use axum::Router;

use crate::attachments::MAX_FILE_BYTES;
use crate::daemon::Daemon;
use crate::guard::{BodyKind, BodyRule, Guard, Routes};
use crate::input::{no_such_method, no_such_route};
use crate::login::Login;
use crate::open_design::MAX_FORM_BYTES;
use crate::{access, acp, api, events, login, open_design, page};

/// Every route. Requests are authenticated before they come here: a [`crate::principal::Principal`]
/// is in the request's extensions.
pub fn router(daemon: &Arc<Daemon>, guard: &Arc<Guard>, login: &Login) -> Router {
    let router = Router::new()
        .merge(access::router(guard, login, daemon))
        .merge(api::router(daemon))
        .merge(events::router(daemon))
        .merge(acp::router(daemon))
        .merge(open_design::router(daemon))
        .merge(login::routes().with_state(login.clone()))
        .merge(page::router());
    with_fallbacks(router)
}

/// The routes that commands use, of a daemon to which nobody else comes.
pub fn sessions_router(daemon: &Arc<Daemon>) -> Router {
    with_fallbacks(api::router(daemon).merge(events::router(daemon)))
}

/// Adds the answers to requests for unknown paths and methods.
fn with_fallbacks(router: Router) -> Router {
    router.fallback(no_such_route).method_not_allowed_fallback(no_such_method)
}

/// The guard's rules for these routes.
pub fn guarded_routes() -> Routes {
    let upload = BodyRule { kind: BodyKind::Upload, max_bytes: Some(MAX_FILE_BYTES) };
    let max_bytes = Some(MAX_FORM_BYTES);
    let form = BodyRule { kind: BodyKind::Form, max_bytes };
    page::with_page_routes(Routes::default())
        .body("/v1/sessions/{id}/attachments", upload)
        .body("/api/upload", form)
        .body("/api/projects/{id}/upload", form)
}
