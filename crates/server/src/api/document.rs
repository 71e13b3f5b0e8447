//! The frame of the `OpenAPI` document; handlers fill it.

use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityScheme};
use utoipa::{Modify, OpenApi};

use crate::problem::Problem;

#[derive(Debug, OpenApi)]
#[openapi(
    info(
        title = "Switchyard",
        description = "Sessions with coding agents: made, prompted, followed and approved. \
                       Errors are `application/problem+json` with a stable `type`.",
        version = env!("CARGO_PKG_VERSION"),
    ),
    paths(events, lists, metrics, document),
    components(schemas(Problem)),
    modifiers(&Token),
    security(("token" = [])),
)]
pub(crate) struct Document;

#[derive(Debug)]
struct Token;

impl Modify for Token {
    fn modify(&self, openapi: &mut utoipa::openapi::OpenApi) {
        // Nobody's name and address belong in here.
        openapi.info.contact = None;
        let scheme = SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer));
        openapi.components.get_or_insert_default().add_security_scheme("token", scheme);
    }
}

/// What every route may answer instead.
#[derive(Debug, utoipa::IntoResponses)]
#[response(status = "default", description = "Not done", content_type = "application/problem+json")]
pub(crate) struct Refused(#[allow(dead_code, reason = "for the document only")] Problem);

/// A session's events as they happen.
///
/// Server-sent events with `id: SEQ-EPOCH`; with `Upgrade: websocket` the same over WebSocket.
#[utoipa::path(get, path = "/v1/sessions/{id}/events", operation_id = "followEvents", tag = "events",
    params(
        ("id" = String, Path, description = "The session"),
        ("after" = Option<String>, Query, description = "Only what comes after this event: its number, or its `id`"),
        ("format" = Option<String>, Query, description = "`acp` (default), `ui` or `envelopes`"),
        ("until" = Option<String>, Query, description = "`idle`: ends when nothing runs and everything was told"),
        ("turn" = Option<String>, Query, description = "Ends when this turn has ended"),
        ("Last-Event-ID" = Option<String>, Header, description = "Where to go on, as in the last `id:`"),
    ),
    responses((status = 200, description = "The stream", content_type = "text/event-stream"), Refused))]
#[allow(dead_code, reason = "served in another file, described here")]
fn events() {}

/// Changes in the list of sessions as they happen.
#[utoipa::path(get, path = "/v1/events", operation_id = "followSessions", tag = "events",
    responses((status = 200, description = "The stream", content_type = "text/event-stream"), Refused))]
#[allow(dead_code, reason = "served in another file, described here")]
fn lists() {}

/// What the daemon counts, for Prometheus.
#[utoipa::path(get, path = "/metrics", operation_id = "getMetrics", tag = "daemon",
    responses((status = 200, description = "In the text format of `OpenMetrics`",
        content_type = "application/openmetrics-text"), Refused))]
#[allow(dead_code, reason = "served in another file, described here")]
fn metrics() {}

/// This document.
#[utoipa::path(get, path = "/v1/openapi.json", operation_id = "getDocument", tag = "daemon",
    responses((status = 200, description = "An OpenAPI 3.1 document", content_type = "application/json")))]
#[allow(dead_code, reason = "served beside the router that makes it")]
fn document() {}
