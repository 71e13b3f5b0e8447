//! The audit trail over all sessions, who allowed what: by page, or all of it as a CSV file.

use std::sync::Arc;

use axum::Json;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use serde::{Deserialize, Serialize};
use sessions::audit::{self, AuditRow};
use store::{DecisionFilter, DecisionPlace, EventLog, SessionFilter, StoreError};
use utoipa::{IntoParams, ToSchema};
use wire::Millis;

use crate::daemon::Daemon;
use crate::input::{self, Admin, QueryParams};
use crate::problem::Problem;

const DEFAULT_LIMIT: usize = 100;

#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct AuditQuery {
    /// Only decisions at or after this time; milliseconds since 1970.
    since: Option<i64>,
    /// Only decisions before this time.
    until: Option<i64>,
    /// Of this session only.
    session: Option<String>,
    /// 1 to 1000; 100 if it is left out.
    limit: Option<usize>,
    /// `nextCursor` of the page before.
    cursor: Option<String>,
    /// `csv`: all of it as a file, without pages.
    #[param(inline)]
    format: Option<AuditFormat>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum AuditFormat {
    Json,
    Csv,
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AuditPage {
    /// In the order of time: who decided what about which call, and by which rule.
    #[schema(value_type = Vec<Object>)]
    rows: Vec<AuditRow>,
    /// Cursor of the next page; missing on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

/// The audit log: who allowed what, when and by which rule.
#[utoipa::path(get, path = "/v1/audit", operation_id = "getAudit", tag = "permissions", params(AuditQuery),
    responses((status = 200, description = "A page of it", body = AuditPage)))]
pub(crate) async fn audit(
    State(daemon): State<Arc<Daemon>>,
    Admin(principal): Admin,
    QueryParams(wanted): QueryParams<AuditQuery>,
) -> Result<Response, Problem> {
    let session = match &wanted.session {
        Some(id) => Some(daemon.visible(id, &principal).await?.id),
        None if principal.own_sessions => {
            return Err(Problem::forbidden("name one of your sessions with `session`"));
        }
        None => None,
    };
    let bad_cursor = || Problem::bad_request("`cursor` is not a `nextCursor`");
    let after = wanted.cursor.as_deref().map(|at| DecisionPlace::parse(at).ok_or_else(bad_cursor));
    let mut filter = DecisionFilter {
        since: wanted.since.map(Millis),
        until: wanted.until.map(Millis),
        session,
        after: after.transpose()?,
        limit: input::limit(wanted.limit, DEFAULT_LIMIT, SessionFilter::MAX_LIMIT)?,
    };
    let log = daemon.registry.log().clone();
    if wanted.format == Some(AuditFormat::Csv) {
        filter.limit = SessionFilter::MAX_LIMIT;
        return Ok(file(log, filter));
    }
    let page = audit::rows(&*log, &filter).await?;
    // A page may be short because its rows are large; only an empty one is the last.
    let next_cursor = page.next.map(|next| next.to_string());
    Ok(Json(AuditPage { rows: page.rows, next_cursor }).into_response())
}

fn file(log: Arc<dyn EventLog>, filter: DecisionFilter) -> Response {
    let rows = stream::try_unfold((log, filter), async |(log, mut filter)| {
        let page = audit::rows(&*log, &filter).await?;
        let Some(next) = page.next else { return Ok::<_, StoreError>(None) };
        filter.after = Some(next);
        let text: String = page.rows.iter().map(AuditRow::to_csv).collect();
        Ok(Some((Bytes::from(text), (log, filter))))
    });
    let header = stream::once(async { Ok::<_, StoreError>(Bytes::from(audit::csv_header())) });
    let headers = [
        (header::CONTENT_TYPE, "text/csv; charset=utf-8"),
        (header::CONTENT_DISPOSITION, "attachment; filename=\"switchyard-audit.csv\""),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    use futures_util::StreamExt as _;
    (headers, Body::from_stream(header.chain(rows))).into_response()
}
