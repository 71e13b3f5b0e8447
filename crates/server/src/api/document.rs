//! The skeleton of the `OpenAPI` document, which handlers fill, and the types of streamed frames.
//!
//! Handlers describe their success. The errors that a route may answer are the same for all that
//! are alike, and are added here, so that no handler can forget them. The types of streamed frames
//! are for the document alone: the frames themselves are written without them, the payloads byte
//! for byte as the agent sent them. A test holds real frames against these.

use std::borrow::Cow;

use projection::items::ConversationChanges;
use serde_json::Value;
use utoipa::openapi::path::{Operation, ParameterIn, PathItem};
use utoipa::openapi::response::Response;
use utoipa::openapi::schema::AnyOfBuilder;
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityScheme};
use utoipa::openapi::{ContentBuilder, Object, Ref, RefOr, Schema, Type};
use utoipa::{Modify, OpenApi, PartialSchema, ToSchema};
use wire::OwnEvent;

use crate::events::SessionChange;
use crate::problem::Problem;

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

/// Adds to every route the errors that it may answer.
pub(super) fn complete(document: &mut utoipa::openapi::OpenApi) {
    let components = document.components.get_or_insert_default();
    // No route names the types of events: they are in what streams carry.
    let mut events = vec![(OwnEvent::name().into_owned(), OwnEvent::schema())];
    OwnEvent::schemas(&mut events);
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

/// The daemon's metrics, for Prometheus.
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

/// One frame of a session's events: the fields of a server-sent event, or a message on a WebSocket.
#[derive(Debug, ToSchema)]
#[allow(dead_code, reason = "for the document only")]
pub(crate) struct EventFrame {
    /// The cursor behind this frame. Frames without one are about the stream.
    #[schema(nullable = false)]
    id: Option<String>,
    /// `message` for events of the log, changes of the conversation and envelopes; in the format
    /// `ui` what it is: `start`, `agent`, `stderr`, `error`, `end`. About the stream: `stream`,
    /// `state_resync_required`, `slow_client_warning`, `session_halted`, `client_evicted`,
    /// `session_deleted`, `revoked`, `daemon_stopping`, `stream_end`, `stream_error`, `heartbeat`.
    event: String,
    #[schema(value_type = EventData)]
    data: Value,
}

/// The schema of a frame's data.
#[derive(Debug)]
struct EventData;

impl PartialSchema for EventData {
    fn schema() -> RefOr<Schema> {
        let description = "`LogEvent` in the format `acp`, `ConversationChanges` in `conversation`, \
            `Envelope` in `envelopes`, the `data` of a `UiEvent` in `ui`; or what there is to say about \
            the stream";
        any_of(&["LogEvent", "ConversationChanges", "Envelope"], [Type::Object], description)
    }
}

impl ToSchema for EventData {
    fn name() -> Cow<'static, str> {
        "EventData".into()
    }
}

/// The schema of a transcript item's data.
#[derive(Debug)]
pub(in crate::api) struct TranscriptData;

impl PartialSchema for TranscriptData {
    fn schema() -> RefOr<Schema> {
        let description = "In the format asked for: `LogEvent` for `json`, `UiEvent` for `ui`, \
            `Envelope` for `envelopes`, `ConversationChanges` for `conversation`, the params of \
            `session/update` for `acp`, a string for `text`";
        let named = ["LogEvent", "UiEvent", "Envelope", "ConversationChanges"];
        any_of(&named, [Type::Object, Type::String], description)
    }
}

impl ToSchema for TranscriptData {
    fn name() -> Cow<'static, str> {
        "TranscriptData".into()
    }
}

fn any_of(
    named: &[&str],
    others: impl IntoIterator<Item = Type>,
    description: &str,
) -> RefOr<Schema> {
    let named = named.iter().map(|name| RefOr::<Schema>::Ref(Ref::from_schema_name(*name)));
    let all = named.fold(AnyOfBuilder::new(), AnyOfBuilder::item);
    let all = others.into_iter().map(Object::with_type).fold(all, AnyOfBuilder::item);
    RefOr::T(Schema::AnyOf(all.description(Some(description)).build()))
}

/// One entry of a session's log.
#[derive(Debug, ToSchema)]
#[allow(dead_code, reason = "for the document only")]
pub(crate) struct LogEvent {
    /// Its place in the log, which starts at 1 and has no gaps.
    #[schema(minimum = 1)]
    seq: u64,
    /// Milliseconds since the Unix epoch.
    time: i64,
    /// The turn that it belongs to.
    #[schema(nullable = false)]
    turn: Option<String>,
    /// Its type: a kind of `OwnEvent`, or the name of an agent's `session/update`.
    kind: String,
    /// By its kind, as `OwnEvent` has it. Of an agent's update: the params of `session/update` as
    /// the Agent Client Protocol has them.
    #[schema(value_type = Object)]
    payload: Value,
}

/// An event of a session, for a user interface.
#[derive(Debug, ToSchema)]
#[allow(dead_code, reason = "for the document only")]
pub(crate) struct UiEvent {
    event: UiEventName,
    /// That of `agent` has a `type`: `text_delta`, `tool_use`, `tool_result`, `status` …
    #[schema(value_type = Object)]
    data: Value,
}

#[derive(Debug, ToSchema)]
#[schema(rename_all = "snake_case")]
#[allow(dead_code, reason = "for the document only")]
pub(crate) enum UiEventName {
    Start,
    Agent,
    Stderr,
    Error,
    End,
}

/// An event of a session, as an envelope of the session protocol.
#[derive(Debug, ToSchema)]
#[allow(dead_code, reason = "for the document only")]
pub(crate) struct Envelope {
    id: String,
    /// Milliseconds since the Unix epoch; never less than in the envelope before.
    time: i64,
    role: EnvelopeRole,
    #[schema(nullable = false)]
    turn: Option<String>,
    #[schema(value_type = Option<Object>, nullable = false)]
    usage: Option<Value>,
    /// Who says or does it, where that is a sub-agent.
    #[schema(nullable = false)]
    subagent: Option<String>,
    /// Its `t` says what it is: `text`, `tool-call-start`, `turn-end` …
    #[schema(value_type = Object)]
    ev: Value,
}

#[derive(Debug, ToSchema)]
#[schema(rename_all = "snake_case")]
#[allow(dead_code, reason = "for the document only")]
pub(crate) enum EnvelopeRole {
    User,
    Agent,
}

/// One frame of the changes in the list of sessions.
#[derive(Debug, ToSchema)]
#[allow(dead_code, reason = "for the document only")]
pub(crate) struct SessionFrame {
    /// `session`; others are about the stream, with other data.
    event: String,
    data: SessionChange<'static>,
}
