//! Questions to the user, and who answered them how.
//!
//! In: questions and decisions. Out: the question with its options numbered in
//! the agent's order, so that a number typed by the user names one, and later one line
//! that says what was decided and by whom.

use std::borrow::Cow;

use wire::event::{ElicitationRequested, ElicitationResolved, RecordedOutcome};

use super::{TextProjection, output, whole_line};
use crate::conversation::Conversation;
use crate::json::JsonNode;
use crate::question::{PermissionDecision, PermissionQuestion, decider_phrase};

impl TextProjection {
    pub(super) fn asked(
        &mut self,
        question: &PermissionQuestion<'_>,
        now: &Conversation,
        out: &mut String,
    ) {
        match question.call {
            Some(key) => self.call_in_question(key, question.is_for_person, now, out),
            None => {
                let title = question.title.as_deref().unwrap_or("the agent asks");
                self.output.marked(output::ASKING, "?", &whole_line(title), out);
            }
        }
        // Options are listed only where a person can choose.
        let options = question.options.iter().filter(|_| question.is_for_person);
        for (number, choice) in (1..).zip(options) {
            let name = whole_line(choice.label());
            let means = choice.kind.as_deref().map(|kind| whole_line(&kind.replace('_', " ")));
            let line = match means.filter(|means| !means.eq_ignore_ascii_case(&name)) {
                Some(means) => format!("  {number}. {name} ({means})"),
                None => format!("  {number}. {name}"),
            };
            self.output.line(output::PLAIN, &line, out);
        }
    }

    pub(super) fn decided(&mut self, decision: &PermissionDecision, out: &mut String) {
        let PermissionDecision { resolved, kind, is_one_of_several } = decision;
        let RecordedOutcome { outcome, option_id, name, .. } = &resolved.outcome;
        let which = name.as_ref().filter(|_| *is_one_of_several);
        let which = which.map_or_else(String::new, |name| format!(" (“{}”)", whole_line(name)));
        let (style, decision) = match (outcome.as_str(), kind.as_deref()) {
            ("cancelled", _) => (output::DIM, "cancelled".to_owned()),
            (_, Some("allow_once")) => (output::GOOD, "allowed once".to_owned()),
            (_, Some("allow_always")) => (output::GOOD, "allowed always".to_owned()),
            (_, Some("reject_once")) => (output::BAD, "rejected".to_owned()),
            (_, Some("reject_always")) => (output::BAD, "rejected always".to_owned()),
            _ => {
                let option = whole_line(option_id.as_deref().unwrap_or_default());
                (output::PLAIN, format!("answered \"{option}\""))
            }
        };
        let line = format!("  {decision}{which}{}", whole_line(&decider_phrase(&resolved.by)));
        self.output.line(style, &line, out);
    }

    pub(super) fn elicitation_requested(
        &mut self,
        asked: &ElicitationRequested<'_>,
        out: &mut String,
    ) {
        let request = JsonNode::of(asked.request).object();
        let message =
            request.non_blank_text("message").unwrap_or(Cow::Borrowed("the agent has a question"));
        let message = whole_line(&message);
        self.output.marked(output::ASKING, "?", &message, out);
        if let Some(url) = request.non_blank_text("url") {
            let line = format!("  {}", whole_line(&url));
            self.output.line(output::PLAIN, &line, out);
        }
    }

    pub(super) fn elicitation_resolved(
        &mut self,
        resolved: &ElicitationResolved<'_>,
        out: &mut String,
    ) {
        let response = JsonNode::of(resolved.response).object();
        let action = match response.text("action").as_deref() {
            Some("accept") => "answered",
            Some("decline") => "declined",
            Some("cancel") => "cancelled",
            _ => "settled",
        };
        let line = format!("  {action}{}", whole_line(&decider_phrase(&resolved.by)));
        self.output.line(output::DIM, &line, out);
    }
}
