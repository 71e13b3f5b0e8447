//! Questions to the user, and who answered them how.
//!
//! In: permission and elicitation events. Out: the question with its options numbered in
//! the agent's order, so that a number typed by the user names one, and later one line
//! that says what was decided and by whom.

use std::borrow::Cow;

use wire::TurnId;
use wire::event::{
    DecidedBy, Decider, ElicitationRequested, ElicitationResolved, PermissionRequested,
    PermissionResolved, RecordedOutcome,
};

use super::{TextRenderer, page, whole_line};
use crate::projection::json::Node;

/// What an open question offers: option ids with their kinds.
#[derive(Debug, Default)]
pub(super) struct Question {
    options: Vec<(String, Option<String>)>,
}

impl Question {
    /// Whether there are other options that allow or reject as this kind does.
    fn has_several(&self, kind: &str) -> bool {
        self.options.iter().filter(|(_, one)| one.as_deref() == Some(kind)).count() > 1
    }
}

impl TextRenderer {
    pub(super) fn permission_requested(
        &mut self,
        turn: Option<TurnId>,
        asked: &PermissionRequested<'_>,
        out: &mut String,
    ) {
        let request = Node::of(asked.request).object();
        let call = request.object("toolCall");
        match (asked.limit, call.words("title")) {
            // A question of our own is about no tool.
            (Some(_), Some(title)) => {
                self.announce_all(out);
                self.page.marked(page::ASKING, "?", &whole_line(&title), out);
            }
            _ => self.tool_in_question(turn, &call, asked.ask, out),
        }
        let mut question = Question::default();
        for (index, option) in request.items("options").into_iter().map(Node::object).enumerate() {
            let id = option.label("optionId").unwrap_or_default().into_owned();
            let name = option.words("name").unwrap_or_else(|| Cow::Owned(id.clone()));
            let kind = option.words("kind").map(Cow::into_owned);
            let name = whole_line(&name);
            let means = kind.as_deref().map(|kind| whole_line(&kind.replace('_', " ")));
            let line = match means.filter(|means| !means.eq_ignore_ascii_case(&name)) {
                Some(means) => format!("  {}. {name} ({means})", index + 1),
                None => format!("  {}. {name}", index + 1),
            };
            // What nobody can choose from is no choice.
            if asked.ask {
                self.page.line(page::PLAIN, &line, out);
            }
            question.options.push((id, kind));
        }
        self.questions.insert(asked.request_id, question);
    }

    pub(super) fn permission_resolved(&mut self, resolved: &PermissionResolved, out: &mut String) {
        let question = self.questions.remove(&resolved.request_id).unwrap_or_default();
        let RecordedOutcome { outcome, option_id, kind, name } = &resolved.outcome;
        let known = question.options.iter().find(|(id, _)| Some(id) == option_id.as_ref());
        let kind = kind.clone().or_else(|| known?.1.clone());
        let is_one_of_several = kind.as_deref().is_some_and(|kind| question.has_several(kind));
        let which = name.as_ref().filter(|_| is_one_of_several);
        let which = which.map_or_else(String::new, |name| format!(" (“{}”)", whole_line(name)));
        let (style, decision) = match (outcome.as_str(), kind.as_deref()) {
            ("cancelled", _) => (page::DIM, "cancelled".to_owned()),
            (_, Some("allow_once")) => (page::GOOD, "allowed once".to_owned()),
            (_, Some("allow_always")) => (page::GOOD, "allowed always".to_owned()),
            (_, Some("reject_once")) => (page::BAD, "rejected".to_owned()),
            (_, Some("reject_always")) => (page::BAD, "rejected always".to_owned()),
            _ => {
                let option = whole_line(option_id.as_deref().unwrap_or_default());
                (page::PLAIN, format!("answered \"{option}\""))
            }
        };
        let line = format!("  {decision}{which}{}", by_whom(&resolved.by));
        self.page.line(style, &line, out);
    }

    pub(super) fn elicitation_requested(
        &mut self,
        asked: &ElicitationRequested<'_>,
        out: &mut String,
    ) {
        let request = Node::of(asked.request).object();
        self.announce_all(out);
        let message = request.words("message").unwrap_or(Cow::Borrowed("the agent has a question"));
        let message = whole_line(&message);
        self.page.marked(page::ASKING, "?", &message, out);
        if let Some(url) = request.words("url") {
            let line = format!("  {}", whole_line(&url));
            self.page.line(page::PLAIN, &line, out);
        }
    }

    pub(super) fn elicitation_resolved(
        &mut self,
        resolved: &ElicitationResolved<'_>,
        out: &mut String,
    ) {
        let response = Node::of(resolved.response).object();
        let action = match response.text("action").as_deref() {
            Some("accept") => "answered",
            Some("decline") => "declined",
            Some("cancel") => "cancelled",
            _ => "settled",
        };
        let line = format!("  {action}{}", by_whom(&resolved.by));
        self.page.line(page::DIM, &line, out);
    }
}

/// ` by rule "…"`, or nothing when nobody is named.
fn by_whom(by: &Decider) -> String {
    let who = by.who.as_str();
    match (by.who, &by.detail) {
        (DecidedBy::Unknown, _) => String::new(),
        (DecidedBy::Unattended, _) => ": nobody was there to ask".to_owned(),
        (_, Some(detail)) => format!(" by {who} \"{}\"", whole_line(detail)),
        (_, None) => format!(" by {who}"),
    }
}
