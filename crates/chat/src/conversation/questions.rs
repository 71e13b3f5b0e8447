//! Questions that wait for a person: permissions with their options, forms with their fields.

use projection::{Conversation, plain_yes, without_cwd};
use serde_json::Value;
use wire::event::{Decider, ElicitationResolved, PermissionResolved, QuestionSummary};
use wire::{CallId, TurnId};

use super::safe_text::line;
use super::{ChatConversation, NoteTone, ToolCard};

/// Options of a question; as many as there are digits.
const MAX_CHOICES: usize = 9;
const MAX_FIELDS: usize = 50;

#[derive(Debug, Clone)]
pub(crate) struct ChatQuestion {
    pub(crate) id: CallId,
    pub(crate) turn: Option<TurnId>,
    pub(crate) title: String,
    /// The tool call that it is about, as far as it was known when it was asked.
    pub(crate) call: ToolCard,
    pub(crate) answer_kind: AnswerKind,
    /// The kind of that tool, as the agent reports it.
    pub(super) tool_kind: String,
}

#[derive(Debug, Clone)]
pub(crate) enum AnswerKind {
    Choice(Vec<QuestionChoice>),
    /// A form; a page to visit has no fields.
    Form {
        fields: Vec<FormField>,
        url: Option<String>,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct QuestionChoice {
    /// Sent back as it is, and never shown.
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) kind: String,
}

impl QuestionChoice {
    /// The effect of choosing it, where its name does not say that already.
    pub(crate) fn unsaid_effect(&self) -> Option<&'static str> {
        let (effect, names): (_, &[&str]) = match self.kind.as_str() {
            "allow_once" => ("allow once", &["allow", "allow once"]),
            "allow_always" => ("allow always", &["allow always", "always allow"]),
            "reject_once" => ("reject once", &["reject", "reject once", "deny", "deny once"]),
            "reject_always" => ("reject always", &["reject always", "always reject"]),
            _ => ("unknown effect", &[]),
        };
        (!names.contains(&self.name.to_lowercase().as_str())).then_some(effect)
    }
}

#[derive(Debug, Clone)]
pub(crate) struct FormField {
    /// Sent back as it is, and never shown.
    pub(crate) name: String,
    pub(crate) title: String,
    pub(crate) kind: FieldKind,
    pub(crate) is_required: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FieldKind {
    Text,
    Switch,
    Integer,
    Number,
    /// Values as they are sent, with the words to show.
    OneOf(Vec<(String, String)>),
}

impl ChatQuestion {
    /// The option that a plain yes means.
    pub(crate) fn plain_yes(&self) -> Option<usize> {
        let AnswerKind::Choice(choices) = &self.answer_kind else { return None };
        plain_yes(&self.tool_kind, choices.iter().map(|choice| choice.kind.as_str()))
    }

    /// `call` is the call that the question is about, as far as it is known.
    pub(super) fn permission(
        asked: &projection::PermissionQuestion<'_>,
        call: ToolCard,
        cwd: Option<&str>,
    ) -> Self {
        let option = |one: &projection::PermissionChoice| QuestionChoice {
            id: one.id.clone(),
            name: line(one.name.as_deref().unwrap_or_default(), 100),
            kind: one.kind.clone().unwrap_or_default(),
        };
        let options = asked.options.iter().filter(|one| !one.id.is_empty());
        let choices = options.map(option).take(MAX_CHOICES).collect();
        let title = asked.title.as_deref().unwrap_or("the agent asks");
        let title = line(&without_cwd(title, cwd), 400);
        let tool_kind = call.shown(cwd).kind.clone();
        Self {
            id: asked.id,
            turn: None,
            title,
            call,
            answer_kind: AnswerKind::Choice(choices),
            tool_kind,
        }
    }

    pub(super) fn form(id: CallId, request: &Value) -> Self {
        let schema = &request["requestedSchema"];
        let required: Vec<&str> =
            schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let properties = schema["properties"].as_object().into_iter().flatten();
        let field = |(name, property): (&String, &Value)| FormField {
            name: name.clone(),
            title: line(property["title"].as_str().unwrap_or(name), 100),
            kind: field_kind(property),
            is_required: required.contains(&name.as_str()),
        };
        let fields = properties.map(field).take(MAX_FIELDS).collect();
        let title = line(request["message"].as_str().unwrap_or("the agent has a question"), 400);
        let url = request["url"].as_str().map(|url| line(url, 1000));
        let answer_kind = AnswerKind::Form { fields, url };
        let (call, tool_kind) = (ToolCard::default(), String::new());
        Self { id, turn: None, title, call, answer_kind, tool_kind }
    }
}

fn field_kind(property: &Value) -> FieldKind {
    let plain = property["enum"].as_array().into_iter().flatten();
    let plain = plain.filter_map(|one| one.as_str().map(|one| (one.to_owned(), line(one, 80))));
    let titled = property["oneOf"].as_array().into_iter().flatten().filter_map(|one| {
        let value = one["const"].as_str()?;
        Some((value.to_owned(), line(one["title"].as_str().unwrap_or(value), 80)))
    });
    let values: Vec<(String, String)> = plain.chain(titled).take(MAX_CHOICES).collect();
    match property["type"].as_str() {
        _ if !values.is_empty() => FieldKind::OneOf(values),
        Some("boolean") => FieldKind::Switch,
        Some("integer") => FieldKind::Integer,
        Some("number") => FieldKind::Number,
        _ => FieldKind::Text,
    }
}

impl ChatConversation {
    pub(super) fn decided(&mut self, resolved: &PermissionResolved, now: &Conversation) {
        let (tone, decision) = match (resolved.outcome.outcome.as_str(), resolved.allowed) {
            ("cancelled", _) => (NoteTone::Dim, "not answered"),
            (_, true) => (NoteTone::Good, "allowed"),
            (_, false) => (NoteTone::Bad, "rejected"),
        };
        let PermissionResolved { request_id, by, question, .. } = resolved;
        self.resolved(*request_id, by, question, (tone, decision), now);
    }

    pub(super) fn form_resolved(&mut self, resolved: &ElicitationResolved<'_>, now: &Conversation) {
        let response: Value = resolved.response.read().unwrap_or_default();
        let decision = match response["action"].as_str() {
            Some("accept") => (NoteTone::Good, "answered"),
            Some("decline") => (NoteTone::Dim, "declined"),
            _ => (NoteTone::Dim, "not answered"),
        };
        let ElicitationResolved { request_id, by, question, .. } = resolved;
        self.resolved(*request_id, by, question, decision, now);
    }

    fn resolved(
        &mut self,
        id: CallId,
        by: &Decider,
        question: &QuestionSummary,
        (tone, decision): (NoteTone, &str),
        now: &Conversation,
    ) {
        self.questions.retain(|question| question.id != id);
        let title = match question.title.as_str() {
            "" => String::new(),
            title => format!(": {}", line(&without_cwd(title, now.cwd()), 100)),
        };
        let by = self.own.decider(by, id, now.seq().0);
        self.note(now.event_turn(), tone, format!("{decision}{by}{title}"));
    }
}
