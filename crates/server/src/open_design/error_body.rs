//! Problems in Open Design's shape: `{error: {code, message, details?}}`.

use axum::Json;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use serde_json::json;

use crate::problem::Problem;

/// Rewrites an answer in this shape, where it is a problem.
pub(super) async fn rewrite_problem(mut response: Response) -> Response {
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
