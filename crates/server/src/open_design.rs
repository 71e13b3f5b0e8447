//! Open Design's shape: agents, runs and chat under `/api`.

use std::sync::Arc;

use axum::Router;

use crate::daemon::Daemon;

pub(crate) fn router(_daemon: &Arc<Daemon>) -> Router {
    Router::new()
}
