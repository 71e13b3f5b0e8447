//! Questions to the user, and who answered them how.
//!
//! In: permission and elicitation events. Out: the question with its options numbered in
//! the agent's order, so that a number typed by the user names one, and later one line
//! that says what was decided and by whom.

use std::borrow::Cow;

use wire::TurnId;

use super::{TextRenderer, page, whole_line};
use crate::projection::json::{Node, Object};
use crate::projection::view::by;

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
        payload: &Object<'_>,
        out: &mut String,
    ) {
        let request = payload.object("request");
        let call = request.object("toolCall");
        let is_asked = payload.get("ask").and_then(Node::flag) != Some(false);
        match (payload.get("limit"), call.words("title")) {
            // A question of our own is about no tool.
            (Some(_), Some(title)) => {
                self.announce_all(out);
                self.page.marked(page::ASKING, "?", &whole_line(&title), out);
            }
            _ => self.tool_in_question(turn, &call, is_asked, out),
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
            if is_asked {
                self.page.line(page::PLAIN, &line, out);
            }
            question.options.push((id, kind));
        }
        let id = payload.label("requestId").unwrap_or_default().into_owned();
        self.questions.insert(id, question);
    }

    pub(super) fn permission_resolved(&mut self, payload: &Object<'_>, out: &mut String) {
        let id = payload.label("requestId").unwrap_or_default();
        let question = self.questions.remove(id.as_ref()).unwrap_or_default();
        let outcome = payload.object("outcome");
        let option = outcome.label("optionId").map(Cow::into_owned);
        let known = question.options.iter().find(|(id, _)| Some(id) == option.as_ref());
        let known = known.and_then(|(_, kind)| kind.clone());
        let kind = outcome.words("kind").map(Cow::into_owned).or(known);
        let is_one_of_several = kind.as_deref().is_some_and(|kind| question.has_several(kind));
        let which = outcome.words("name").filter(|_| is_one_of_several);
        let which = which.map_or_else(String::new, |name| format!(" (“{}”)", whole_line(&name)));
        let (style, decision) = match (outcome.text("outcome").as_deref(), kind.as_deref()) {
            (Some("cancelled"), _) => (page::DIM, "cancelled".to_owned()),
            (_, Some("allow_once")) => (page::GOOD, "allowed once".to_owned()),
            (_, Some("allow_always")) => (page::GOOD, "allowed always".to_owned()),
            (_, Some("reject_once")) => (page::BAD, "rejected".to_owned()),
            (_, Some("reject_always")) => (page::BAD, "rejected always".to_owned()),
            _ => {
                let option = whole_line(&option.unwrap_or_default());
                (page::PLAIN, format!("answered \"{option}\""))
            }
        };
        let line = format!("  {decision}{which}{}", by_whom(payload));
        self.page.line(style, &line, out);
    }

    pub(super) fn elicitation_requested(&mut self, payload: &Object<'_>, out: &mut String) {
        let request = payload.object("request");
        self.announce_all(out);
        let message = request.words("message").unwrap_or(Cow::Borrowed("the agent has a question"));
        let message = whole_line(&message);
        self.page.marked(page::ASKING, "?", &message, out);
        if let Some(url) = request.words("url") {
            let line = format!("  {}", whole_line(&url));
            self.page.line(page::PLAIN, &line, out);
        }
    }

    pub(super) fn elicitation_resolved(&mut self, payload: &Object<'_>, out: &mut String) {
        let response = payload.object("response");
        let action = match response.text("action").as_deref() {
            Some("accept") => "answered",
            Some("decline") => "declined",
            Some("cancel") => "cancelled",
            _ => "settled",
        };
        let line = format!("  {action}{}", by_whom(payload));
        self.page.line(page::DIM, &line, out);
    }
}

/// ` by rule "…"`, or nothing when nobody is named.
pub(super) fn by_whom(payload: &Object<'_>) -> String {
    let (Some(who), detail) = by(payload) else { return String::new() };
    let who = whole_line(&who);
    if who == "unattended" {
        return ": nobody was there to ask".to_owned();
    }
    match detail {
        Some(detail) => format!(" by {who} \"{}\"", whole_line(&detail)),
        None => format!(" by {who}"),
    }
}
