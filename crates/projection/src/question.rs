//! Permission questions, which a person, a rule or the mode decides, and their decisions.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use wire::CallId;
use wire::event::{DecidedBy, Decider, Limit, PermissionRequested, PermissionResolved};

use crate::calls::CallKey;
use crate::json::{JsonNode, JsonObject};

const ALLOW_ONCE: &str = "allow_once";
const ALLOW_ALWAYS: &str = "allow_always";
/// Kinds of tools that change something or run commands.
pub const ACTING_KINDS: [&str; 4] = ["edit", "delete", "move", "execute"];

/// A permission question.
#[derive(Debug)]
pub struct PermissionQuestion<'e> {
    pub id: CallId,
    /// A person is asked; otherwise a rule or the mode decides.
    pub is_for_person: bool,
    /// The call that it is about.
    pub call: Option<CallKey>,
    pub title: Option<String>,
    pub options: Vec<PermissionChoice>,
    /// Switchyard itself asks, because this limit is reached.
    pub limit: Option<Limit>,
    /// All of it as the agent sent it.
    pub(crate) request: JsonNode<'e>,
    /// The call as the agent sent it.
    pub(crate) tool_call: Option<JsonNode<'e>>,
}

/// One of the options, in the agent's order: a number that a person types names one.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PermissionChoice {
    /// Empty where the agent gives none, so that nobody can choose it.
    pub id: String,
    pub name: Option<String>,
    pub kind: Option<String>,
}

impl PermissionChoice {
    /// Its name, or else its id.
    pub fn label(&self) -> &str {
        self.name.as_ref().unwrap_or(&self.id)
    }
}

impl<'e> PermissionQuestion<'e> {
    pub(crate) fn read(
        asked: &PermissionRequested<'e>,
        request: &JsonObject<'e>,
        call: Option<CallKey>,
    ) -> Self {
        let title = request
            .object("toolCall")
            .non_blank_text("title")
            .or_else(|| request.non_blank_text("title"));
        let option = |node: JsonNode<'_>| {
            let fields = node.object();
            let id = fields.label("optionId").unwrap_or_default().into_owned();
            let words = |key| fields.non_blank_text(key).map(Cow::into_owned);
            PermissionChoice { id, name: words("name"), kind: words("kind") }
        };
        Self {
            id: asked.request_id,
            is_for_person: asked.ask,
            call,
            title: title.map(Cow::into_owned),
            options: request.items("options").into_iter().map(option).collect(),
            limit: asked.limit,
            request: JsonNode::of(asked.request),
            tool_call: request.get("toolCall"),
        }
    }

    /// The agent's own id of the call that it is about.
    pub(crate) fn tool_call_id(&self) -> Option<String> {
        self.tool_call?.object().label("toolCallId").map(Cow::into_owned)
    }
}

/// The decision on a permission question.
#[derive(Debug)]
pub struct PermissionDecision {
    pub resolved: PermissionResolved,
    /// The kind of the chosen option (`allow_once` …), if it is known.
    pub kind: Option<String>,
    /// Other options are of the same kind.
    pub is_one_of_several: bool,
}

/// Who decided, as the end of a sentence: ` by a rule (tests are fine)`.
pub fn decider_phrase(by: &Decider) -> String {
    let detail = by.detail.as_deref().map_or_else(String::new, |detail| format!(" ({detail})"));
    match (by.who, &by.detail) {
        (DecidedBy::Client, Some(name)) => format!(" by {name}"),
        (DecidedBy::Client, None) => " by a client".to_owned(),
        (DecidedBy::Rule, _) => format!(" by a rule{detail}"),
        (DecidedBy::Switchyard, _) => format!(" by switchyard{detail}"),
        (DecidedBy::Mode, _) => format!(" by the permission mode{detail}"),
        (DecidedBy::Timeout, _) => ": nobody answered in time".to_owned(),
        (DecidedBy::Cancel, _) => ": the turn was cancelled".to_owned(),
        (DecidedBy::Unattended, _) => ": nobody was there to ask".to_owned(),
        (DecidedBy::Overflow, _) => ": too many questions wait".to_owned(),
        (DecidedBy::Interrupted, _) => ": the session was interrupted".to_owned(),
        (DecidedBy::Limits, _) => " by the limits".to_owned(),
        (DecidedBy::Unknown, _) => String::new(),
    }
}

/// The options of the open questions, by their request ids.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct OpenQuestions(BTreeMap<CallId, Vec<PermissionChoice>>);

impl OpenQuestions {
    pub(crate) fn ask(&mut self, question: &PermissionQuestion<'_>) {
        self.0.insert(question.id, question.options.clone());
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn decide(&mut self, resolved: PermissionResolved) -> PermissionDecision {
        let options = self.0.remove(&resolved.request_id).unwrap_or_default();
        let outcome = &resolved.outcome;
        let known = options.iter().find(|one| Some(&one.id) == outcome.option_id.as_ref());
        let kind = outcome.kind.clone().or_else(|| known?.kind.clone());
        let same = options.iter().filter(|one| one.kind.is_some() && one.kind == kind);
        PermissionDecision { is_one_of_several: same.count() > 1, kind, resolved }
    }
}

/// The option that a plain yes to this one thing means: the first that allows once. `kind` is the
/// tool's. There is none where several allow once and nothing marks them as grants: the model asks
/// the user something then, and each option is an answer.
pub fn plain_yes<'a>(
    kind: &str,
    options: impl IntoIterator<Item = &'a str, IntoIter: Clone>,
) -> Option<usize> {
    let mut options = options.into_iter();
    // No answer to a question lasts.
    let is_grant = ACTING_KINDS.contains(&kind) || options.clone().any(|kind| kind == ALLOW_ALWAYS);
    let is_alone = options.clone().filter(|kind| *kind == ALLOW_ONCE).count() == 1;
    options.position(|kind| kind == ALLOW_ONCE).filter(|_| is_grant || is_alone)
}
