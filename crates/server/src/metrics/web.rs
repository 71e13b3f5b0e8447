//! `GET /metrics`, and the layer that measures every request.

use std::time::Instant;

use axum::Router;
use axum::extract::{MatchedPath, Request, State};
use axum::http::header;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use super::{CONTENT_TYPE, Metrics};
use crate::principal::Principal;
use crate::problem::Problem;

/// The label `route` of paths without a route.
const NO_ROUTE: &str = "none";

/// The route of the metrics.
pub fn router(metrics: &Metrics) -> Router {
    Router::new().route("/metrics", get(show)).with_state(metrics.clone())
}

/// Refused to tokens that see their own sessions only: metrics count what everybody does.
async fn show(principal: Principal, State(metrics): State<Metrics>) -> Result<Response, Problem> {
    if principal.own_sessions {
        return Err(Problem::forbidden("this token is for its own sessions only"));
    }
    Ok(([(header::CONTENT_TYPE, CONTENT_TYPE)], metrics.render()).into_response())
}

/// A layer that measures requests, for `axum::middleware::from_fn_with_state`. What the guard
/// refuses has no route yet and is counted there.
pub async fn measure(State(metrics): State<Metrics>, request: Request, next: Next) -> Response {
    let since = Instant::now();
    let route = request.extensions().get::<MatchedPath>().cloned();
    let method = request.method().clone();
    let response = next.run(request).await;
    let route = route.as_ref().map_or(NO_ROUTE, MatchedPath::as_str);
    metrics.request(route, method.as_str(), response.status().as_u16(), since.elapsed());
    response
}

#[cfg(test)]
mod tests;
