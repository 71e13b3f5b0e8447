//! The frame of the `OpenAPI` document; handlers fill it.
//!
//! Handlers name what they do. What any route may answer instead is the same for all that are
//! alike, and is added here, so that no handler can forget it.

pub(super) mod frames;

use projection::items::ConversationChanges;
use utoipa::openapi::path::{Operation, ParameterIn, PathItem};
use utoipa::openapi::response::Response;
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityScheme};
use utoipa::openapi::{ContentBuilder, Ref, RefOr};
use utoipa::{Modify, OpenApi, PartialSchema as _, ToSchema as _};
use wire::Own;

use crate::events::SessionChange;
use crate::problem::Problem;
use frames::{Envelope, EventFrame, LogEvent, SessionFrame, UiEvent};

#[derive(Debug, OpenApi)]
#[openapi(
    info(
        title = "Switchyard",
        description = "Sessions with coding agents: made, prompted, followed and approved. \
                       Errors are `application/problem+json` with a stable `type`.",
        version = env!("CARGO_PKG_VERSION"),
    ),
    servers((url = "/", description = "The daemon that serves this document")),
    paths(events, lists, metrics, document),
    components(schemas(Problem, EventFrame, LogEvent, UiEvent, Envelope, SessionFrame, SessionChange)),
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

/// Refusals that routes have in common: status, name in the document, description.
const REFUSALS: [(&str, &str, &str); 5] = [
    ("400", "BadInput", "The request cannot be understood, or asks for what cannot be"),
    ("401", "Unauthorized", "A valid token is needed"),
    ("403", "Forbidden", "The token, the page or the daemon's settings do not allow it"),
    ("404", "NotFound", "There is no such thing, or the token may not see it"),
    ("default", "Refused", "Not done, for the reason that the problem tells"),
];

/// Adds to every route what it may answer instead of what it was asked for.
pub(super) fn complete(document: &mut utoipa::openapi::OpenApi) {
    let components = document.components.get_or_insert_default();
    // No route names the types of events: they are in what streams carry.
    let mut events = vec![(Own::name().into_owned(), Own::schema())];
    Own::schemas(&mut events);
    events.push((ConversationChanges::name().into_owned(), ConversationChanges::schema()));
    ConversationChanges::schemas(&mut events);
    for (name, schema) in events {
        let before = components.schemas.insert(name.clone(), schema.clone());
        debug_assert!(before.is_none_or(|before| before == schema), "`{name}` is two things");
    }
    for (_, name, description) in REFUSALS {
        let body = RefOr::Ref(Ref::from_schema_name("Problem"));
        let content = ContentBuilder::new().schema(Some(body)).build();
        let mut response = Response::new(description);
        response.content.insert("application/problem+json".to_owned(), content.into());
        components.responses.insert(name.to_owned(), response.into());
    }
    for (path, item) in &mut document.paths.paths {
        for operation in operations(item) {
            for (status, name, _) in REFUSALS {
                if may_answer(operation, path, status) {
                    let refusal = RefOr::Ref(Ref::from_response_name(name));
                    let responses = &mut operation.responses.responses;
                    responses.entry(status.to_owned()).or_insert(refusal);
                }
            }
        }
    }
}

fn operations(item: &mut PathItem) -> impl Iterator<Item = &mut Operation> {
    let PathItem { get, put, post, delete, patch, .. } = item;
    [get, put, post, delete, patch].into_iter().flatten()
}

fn may_answer(operation: &Operation, path: &str, status: &str) -> bool {
    // All others need a token, as the document says for all.
    let is_open = operation.security.is_some();
    let has_query = operation.parameters.iter().flatten().any(|parameter| match parameter {
        RefOr::T(parameter) => parameter.parameter_in == ParameterIn::Query,
        RefOr::Ref(_) => false,
    });
    match status {
        "400" => has_query || operation.request_body.is_some(),
        "401" => !is_open,
        "404" => path.contains('{'),
        _ => true,
    }
}

/// A session's events as they happen.
///
/// Server-sent events with `id: SEQ-EPOCH`; with `Upgrade: websocket` the same over WebSocket. The
/// schema is that of one frame, of which there are as many as there are events.
#[utoipa::path(get, path = "/v1/sessions/{id}/events", operation_id = "followEvents", tag = "events",
    params(
        ("id" = String, Path, description = "The session"),
        ("after" = Option<String>, Query, description = "Only what comes after this event: its number, or its `id`"),
        ("format" = Option<String>, Query, description = "`acp` (default), `conversation`, `ui` or `envelopes`"),
        ("until" = Option<String>, Query, description = "`idle`: ends when nothing runs and everything was told"),
        ("turn" = Option<String>, Query, description = "Ends when this turn has ended"),
        ("Last-Event-ID" = Option<String>, Header, description = "Where to go on, as in the last `id:`"),
    ),
    responses((status = 200, description = "The stream", body = EventFrame, content_type = "text/event-stream")))]
#[allow(dead_code, reason = "served in another file, described here")]
fn events() {}

/// Changes in the list of sessions as they happen.
///
/// Server-sent events, or the same over WebSocket; the schema is that of one frame.
#[utoipa::path(get, path = "/v1/events", operation_id = "followSessions", tag = "events",
    responses((status = 200, description = "The stream", body = SessionFrame, content_type = "text/event-stream")))]
#[allow(dead_code, reason = "served in another file, described here")]
fn lists() {}

/// What the daemon counts, for Prometheus.
#[utoipa::path(get, path = "/metrics", operation_id = "getMetrics", tag = "daemon",
    responses((status = 200, description = "In the text format of `OpenMetrics`",
        body = String, content_type = "application/openmetrics-text")))]
#[allow(dead_code, reason = "served in another file, described here")]
fn metrics() {}

/// This document.
#[utoipa::path(get, path = "/v1/openapi.json", operation_id = "getDocument", tag = "daemon",
    responses((status = 200, description = "An OpenAPI 3.1 document", body = serde_json::Value, content_type = "application/json")))]
#[allow(dead_code, reason = "served beside the router that makes it")]
fn document() {}
