//! ACP for many: `/acp` over HTTP and WebSocket, and lines over TCP and unix sockets.

use std::sync::Arc;

use axum::Router;

use crate::daemon::Daemon;

pub(crate) fn router(_daemon: &Arc<Daemon>) -> Router {
    Router::new()
}
