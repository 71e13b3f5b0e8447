//! The kinds of events, and the type of each of Switchyard's own.

use std::borrow::Cow;
use std::fmt;

use utoipa::openapi::schema::{ObjectBuilder, OneOfBuilder, Type};
use utoipa::openapi::{Ref, RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use super::{
    AgentNotification, AgentQuiet, AgentStderr, AskedQuestion, CancelRequested, CancelStep,
    ElicitationRequested, ElicitationResolved, LimitRaised, LimitReached, LogRecovered, OptionSet,
    PermissionRequested, PermissionResolved, PromptDropped, PromptReceived, SessionClosed,
    SessionCreated, SessionResumed, TerminalExited, TerminalOutput, TurnEnded, TurnStarted,
    WorkerExited, WorkerStarted,
};
use crate::{CallId, Fault, Json};

/// Longest update name that is kept in the kind; the payload has it in full anyway.
const LONGEST_UPDATE_NAME: usize = 64;
const AGENT_PREFIX: &str = "agent:";

macro_rules! own_events {
    ($($name:literal $variant:ident($payload:ty),)*) => {
        /// The kind of an event.
        #[derive(Debug, Clone, PartialEq, Eq, Hash)]
        pub enum Kind {
            /// A `session/update`, by its `sessionUpdate` name; payload: its `params`.
            Update(UpdateName),
            $($variant,)*
        }

        impl Kind {
            /// Every kind that Switchyard itself writes.
            pub const OWN: &[Kind] = &[$(Kind::$variant,)*];

            fn own(name: &str) -> Option<Self> {
                match name { $($name => Some(Self::$variant),)* _ => None }
            }

            pub fn as_str(&self) -> &str {
                match self {
                    Self::Update(name) => &name.0,
                    $(Self::$variant => $name,)*
                }
            }
        }

        /// An event of Switchyard's own.
        #[derive(Debug, Clone, PartialEq)]
        pub enum OwnEvent<'a> {
            $($variant($payload),)*
        }

        impl<'a> OwnEvent<'a> {
            pub fn kind(&self) -> Kind {
                match self { $(Self::$variant(_) => Kind::$variant,)* }
            }

            pub fn to_payload(&self) -> Json {
                match self { $(Self::$variant(payload) => Json::of(payload),)* }
            }

            pub(super) fn read(kind: &Kind, payload: &'a Json) -> Option<Self> {
                match kind {
                    Kind::Update(_) => None,
                    $(Kind::$variant => payload.read().ok().map(Self::$variant),)*
                }
            }
        }

        $(impl<'a> From<$payload> for OwnEvent<'a> {
            fn from(payload: $payload) -> Self {
                Self::$variant(payload)
            }
        })*

        impl<'a> PartialSchema for OwnEvent<'a> {
            fn schema() -> RefOr<Schema> {
                let all = OneOfBuilder::new()
                    .description(Some("An event of Switchyard's own, by its kind"))
                    $(.item(tagged($name, <$payload as ToSchema>::name())))*;
                RefOr::T(Schema::OneOf(all.build()))
            }
        }

        impl<'a> ToSchema for OwnEvent<'a> {
            fn name() -> Cow<'static, str> {
                "OwnEvent".into()
            }

            fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
                $({
                    schemas.push((<$payload>::name().into(), <$payload>::schema()));
                    <$payload>::schemas(schemas);
                })*
            }
        }
    };
}

own_events! {
    "session_created" SessionCreated(SessionCreated),
    "session_resumed" SessionResumed(SessionResumed),
    "session_closed" SessionClosed(SessionClosed),
    "option_set" OptionSet(OptionSet<'a>),
    "prompt_received" PromptReceived(PromptReceived<'a>),
    "prompt_dropped" PromptDropped(PromptDropped),
    "turn_started" TurnStarted(TurnStarted),
    "turn_ended" TurnEnded(TurnEnded<'a>),
    "cancel_requested" CancelRequested(CancelRequested),
    "cancel_step" CancelStep(CancelStep),
    "permission_requested" PermissionRequested(PermissionRequested<'a>),
    "permission_resolved" PermissionResolved(PermissionResolved),
    "elicitation_requested" ElicitationRequested(ElicitationRequested<'a>),
    "elicitation_resolved" ElicitationResolved(ElicitationResolved<'a>),
    "limit_reached" LimitReached(LimitReached),
    "limit_raised" LimitRaised(LimitRaised),
    "worker_started" WorkerStarted(WorkerStarted),
    "worker_exited" WorkerExited(WorkerExited),
    "terminal_output" TerminalOutput(TerminalOutput),
    "terminal_exited" TerminalExited(TerminalExited),
    "agent_stderr" AgentStderr(AgentStderr),
    "agent_notification" AgentNotification(AgentNotification<'a>),
    "agent_quiet" AgentQuiet(AgentQuiet),
    "error" Error(Fault),
    "log_recovered" LogRecovered(LogRecovered),
}

impl<'a> OwnEvent<'a> {
    /// The question that it asks.
    pub fn question(&self) -> Option<AskedQuestion<'a>> {
        match self {
            Self::PermissionRequested(asked) => Some(AskedQuestion {
                id: asked.request_id,
                is_for_person: asked.ask,
                limit: asked.limit,
                request: asked.request,
                wants_form: false,
            }),
            Self::ElicitationRequested(asked) => Some(AskedQuestion {
                id: asked.request_id,
                is_for_person: asked.ask,
                limit: None,
                request: asked.request,
                wants_form: true,
            }),
            _ => None,
        }
    }

    /// The question that it ends.
    pub fn answered_question(&self) -> Option<CallId> {
        match self {
            Self::PermissionResolved(resolved) => Some(resolved.request_id),
            Self::ElicitationResolved(resolved) => Some(resolved.request_id),
            _ => None,
        }
    }
}

/// `{kind: name, payload: …}`.
fn tagged(name: &str, payload: Cow<'static, str>) -> RefOr<Schema> {
    let kind = ObjectBuilder::new().schema_type(Type::String).enum_values(Some([name])).build();
    let object = ObjectBuilder::new()
        .property("kind", kind)
        .required("kind")
        .property("payload", Ref::from_schema_name(payload))
        .required("payload");
    RefOr::T(Schema::Object(object.build()))
}

/// The name of an update, safe to print and to compare with the names of our own kinds.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct UpdateName(Cow<'static, str>);

/// Names that come by the thousand and need no allocation.
const COMMON_UPDATES: [&str; 14] = [
    "agent_message_chunk",
    "agent_thought_chunk",
    "user_message_chunk",
    "tool_call",
    "tool_call_update",
    "plan",
    "usage_update",
    "available_commands_update",
    "current_mode_update",
    "config_option_update",
    "session_info_update",
    "notice",
    "compaction_update",
    "compaction_summary_chunk",
];

impl Kind {
    /// The kind of a `session/update` that names itself `name`.
    pub fn update(name: &str) -> Self {
        if let Some(common) = COMMON_UPDATES.iter().find(|common| **common == name) {
            return Self::Update(UpdateName((*common).into()));
        }
        let is_plain = !name.is_empty()
            && name.len() <= LONGEST_UPDATE_NAME
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
        let name = if !is_plain {
            format!("{AGENT_PREFIX}other")
        } else if Self::own(name).is_some() {
            format!("{AGENT_PREFIX}{name}")
        } else {
            name.to_owned()
        };
        Self::Update(UpdateName(name.into()))
    }

    /// Reads a kind back from the log.
    pub fn from_log(name: &str) -> Self {
        if let Some(own) = Self::own(name) {
            return own;
        }
        if name.starts_with(AGENT_PREFIX) {
            return Self::Update(UpdateName(name.to_owned().into()));
        }
        Self::update(name)
    }

    /// The name of the update, when this is one.
    pub fn update_name(&self) -> Option<&str> {
        match self {
            Self::Update(name) => Some(&name.0),
            _ => None,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
