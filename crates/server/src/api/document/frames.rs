//! What streams of events carry, as the document describes it.
//!
//! Types for the document alone: the frames themselves are written without them, the payloads byte
//! for byte as the agent sent them. A test holds real frames against these.

use std::borrow::Cow;

use serde_json::Value;
use utoipa::openapi::schema::AnyOfBuilder;
use utoipa::openapi::{Object, Ref, RefOr, Schema, Type};
use utoipa::{PartialSchema, ToSchema};

use crate::events::SessionChange;

/// One frame of a session's events: the fields of a server-sent event, or a message on a WebSocket.
#[derive(Debug, ToSchema)]
#[allow(dead_code, reason = "for the document only")]
pub(crate) struct EventFrame {
    /// Where to go on after it. Frames without one are about the stream.
    #[schema(nullable = false)]
    id: Option<String>,
    /// `message` for events of the log, changes of the conversation and envelopes; in the format `ui` what it is: `start`,
    /// `agent`, `stderr`, `error`, `end`. About the stream: `stream`, `state_resync_required`,
    /// `slow_client_warning`, `session_halted`, `client_evicted`, `session_deleted`, `revoked`, `daemon_stopping`,
    /// `stream_end`, `stream_error`, `heartbeat`.
    event: String,
    #[schema(value_type = EventData)]
    data: Value,
}

/// What a frame can hold.
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

/// What an item of a transcript can be.
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
    /// Its place in the log, which starts at 1 and has no holes.
    #[schema(minimum = 1)]
    seq: u64,
    /// Milliseconds since the Unix epoch.
    time: i64,
    /// The turn that it belongs to.
    #[schema(nullable = false)]
    turn: Option<String>,
    /// What it is about: a kind of `OwnEvent`, or the name of an agent's `session/update`.
    kind: String,
    /// By its kind, as `OwnEvent` has it. Of an agent's update: the params of `session/update` as
    /// the Agent Client Protocol has them.
    #[schema(value_type = Object)]
    payload: Value,
}

/// What happened, for a user interface.
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

/// What happened, as an envelope of the session protocol.
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
