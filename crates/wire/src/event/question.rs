//! Events about questions to a person and their answers: permissions, forms, limits.

use serde::{Deserialize, Serialize};
use serde_json::Number;
use serde_with::skip_serializing_none;
use utoipa::ToSchema;

use crate::string_enum::string_enum;
use crate::{CallId, RawJson};

/// The agent asks whether it may do something.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PermissionRequested<'a> {
    #[schema(value_type = String)]
    pub request_id: CallId,
    /// Whether a person is asked.
    #[serde(default)]
    #[schema(required = true)]
    pub ask: bool,
    /// The limit that this is about; then it is Switchyard that asks, whether to go on.
    #[schema(nullable = false)]
    pub limit: Option<Limit>,
    /// The params of `session/request_permission`.
    #[serde(borrow)]
    #[schema(value_type = Value)]
    pub request: RawJson<'a>,
}

/// A question, whatever the answer looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AskedQuestion<'a> {
    pub id: CallId,
    /// A person is asked; questions that rules and modes decide are in the log, too.
    pub is_for_person: bool,
    /// Set if Switchyard itself asks whether to go on beyond this limit.
    pub limit: Option<Limit>,
    /// The params of the agent's request.
    pub request: RawJson<'a>,
    /// The answer is a form that is filled in, not one of several options.
    pub wants_form: bool,
}

/// The question was answered, or is not asked any more.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PermissionResolved {
    #[schema(value_type = String)]
    pub request_id: CallId,
    #[serde(default)]
    #[schema(required = true)]
    pub by: Decider,
    #[serde(default)]
    #[schema(required = true)]
    pub allowed: bool,
    #[serde(default)]
    #[schema(required = true)]
    pub outcome: RecordedOutcome,
    /// A summary of the question.
    #[serde(default)]
    #[schema(required = true)]
    pub question: QuestionSummary,
    /// How long a person was waited for.
    #[schema(nullable = false)]
    pub waited_ms: Option<u64>,
}

/// The answer that the agent got.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct RecordedOutcome {
    /// `selected` or `cancelled`.
    #[schema(required = true)]
    pub outcome: String,
    #[schema(nullable = false)]
    pub option_id: Option<String>,
    /// The option's kind, such as `allow_once`.
    #[schema(nullable = false)]
    pub kind: Option<String>,
    /// The option's name.
    #[schema(nullable = false)]
    pub name: Option<String>,
}

/// The agent asks the user to fill in a form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ElicitationRequested<'a> {
    #[schema(value_type = String)]
    pub request_id: CallId,
    /// Whether a person is asked.
    #[serde(default)]
    #[schema(required = true)]
    pub ask: bool,
    /// The params of `elicitation/create`.
    #[serde(borrow)]
    #[schema(value_type = Value)]
    pub request: RawJson<'a>,
}

/// The form was filled in, refused or withdrawn.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ElicitationResolved<'a> {
    #[schema(value_type = String)]
    pub request_id: CallId,
    #[serde(default)]
    #[schema(required = true)]
    pub by: Decider,
    /// The answer that the agent got.
    #[serde(borrow)]
    #[schema(value_type = Value)]
    pub response: RawJson<'a>,
    #[serde(default)]
    #[schema(required = true)]
    pub question: QuestionSummary,
    /// How long a person was waited for.
    #[schema(nullable = false)]
    pub waited_ms: Option<u64>,
}

/// The source of a decision.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct Decider {
    #[schema(required = true)]
    pub who: DecidedBy,
    /// The rule's name, the mode, or the client and how it is connected.
    #[schema(nullable = false)]
    pub detail: Option<String>,
    #[schema(nullable = false)]
    pub rule: Option<RulePlace>,
}

impl Decider {
    pub fn new(who: DecidedBy) -> Self {
        Self { who, ..Self::default() }
    }

    pub fn detailed(who: DecidedBy, detail: impl Into<String>) -> Self {
        Self { detail: Some(detail.into()), ..Self::new(who) }
    }

    /// A person at `client`, such as `local stdio` or `token:phone http`.
    pub fn client(client: impl Into<String>) -> Self {
        Self::detailed(DecidedBy::Client, client)
    }
}

string_enum! {
    pub enum DecidedBy else Unknown {
        Rule = "rule",
        /// The session's permission mode.
        Mode = "mode",
        /// A path that is closed to every session, whatever rules say.
        Switchyard = "switchyard",
        /// A person.
        Client = "client",
        /// Nobody answered in time.
        Timeout = "timeout",
        /// The turn was cancelled or ended.
        Cancel = "cancel",
        /// Nobody was there to ask.
        Unattended = "unattended",
        /// Too many questions wait already.
        Overflow = "overflow",
        /// Switchyard ended while the question waited.
        Interrupted = "interrupted",
        /// The session was given other limits.
        Limits = "limits",
        /// A word of a newer version.
        Unknown = "unknown",
    }
}

/// The place of a rule.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RulePlace {
    /// The file of the rule; without one it was given with the session.
    #[schema(nullable = false)]
    pub file: Option<String>,
    /// Its number in that file, or among the session's own rules; the first is 1.
    pub index: usize,
}

/// A summary of a question, short enough to be kept with its answer.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct QuestionSummary {
    #[schema(required = true)]
    pub title: String,
    /// ACP's kind of the tool call.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub kind: String,
    #[schema(nullable = false)]
    pub command: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
    /// Something was too long; the question's own event has all of it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_cut: bool,
}

string_enum! {
    /// A limit of a session.
    pub enum Limit {
        Turns = "turns",
        RunningSeconds = "runningSeconds",
        InactiveSeconds = "inactiveSeconds",
        Tokens = "tokens",
        CostUsd = "costUsd",
    }
}

/// The session pauses: the `permission_requested` with the same `requestId` asks whether it may go
/// on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct LimitReached {
    pub limit: Limit,
    /// In the limit's own unit.
    #[schema(value_type = f64)]
    pub used: Number,
    #[schema(required = true, value_type = f64)]
    pub allowed: Number,
    #[schema(value_type = String)]
    pub request_id: CallId,
    /// Whether the agent is stopped meanwhile.
    #[serde(default)]
    #[schema(required = true)]
    pub frozen: bool,
}

/// The session goes on, up to here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct LimitRaised {
    pub limit: Limit,
    /// `null`: there is no limit any more.
    #[schema(value_type = Option<f64>)]
    pub allowed: Option<Number>,
    #[schema(value_type = String)]
    pub request_id: CallId,
    #[serde(default)]
    #[schema(required = true)]
    pub by: Decider,
}
