//! Questions as items, and how they were answered.

use serde::{Deserialize, Serialize};
use wire::event::{Decider, ElicitationRequested, ElicitationResolved, RecordedOutcome};
use wire::{CallId, Json};

use super::{
    ConversationChange, ConversationPart, ItemHead, ItemsProjection, QuestionForm, QuestionItem,
    QuestionOption, Resolution, ToolItem,
};
use crate::calls::CallKey;
use crate::conversation::Conversation;
use crate::json::JsonNode;
use crate::question::{self, PermissionDecision};

/// A question that was not answered.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct UnansweredQuestion {
    head: ItemHead,
    question: Box<QuestionItem>,
    /// The call that it is about.
    call: Option<CallKey>,
}

impl ItemsProjection {
    pub(super) fn asked(&mut self, asked: &question::PermissionQuestion<'_>, now: &Conversation) {
        let known = asked.call.and_then(|call| now.call(call).title.clone());
        let title = asked.title.clone().or(known);
        let option = |choice: &question::PermissionChoice| QuestionOption {
            option_id: choice.id.clone(),
            name: choice.label().to_owned(),
            kind: choice.kind.clone().unwrap_or_default(),
        };
        let options = asked.options.iter().filter(|choice| !choice.id.is_empty());
        let question = QuestionItem {
            request_id: asked.id.to_string(),
            form: QuestionForm::Permission,
            is_for_person: asked.is_for_person,
            limit: asked.limit,
            title: title.unwrap_or_else(|| "The agent asks for permission".to_owned()),
            request: asked.request.to_json(),
            options: options.map(option).collect(),
            tool_call_id: asked.tool_call_id(),
            resolution: None,
        };
        self.ask(asked.id, asked.call, question, now);
    }

    pub(super) fn asked_form(&mut self, asked: &ElicitationRequested<'_>, now: &Conversation) {
        let request = JsonNode::of(asked.request);
        let title = request.object().text("message").map(std::borrow::Cow::into_owned);
        let question = QuestionItem {
            request_id: asked.request_id.to_string(),
            form: QuestionForm::Elicitation,
            is_for_person: asked.ask,
            limit: None,
            title: title.unwrap_or_else(|| "The agent has a question".to_owned()),
            request: request.to_json(),
            options: Vec::new(),
            tool_call_id: None,
            resolution: None,
        };
        self.ask(asked.request_id, None, question, now);
    }

    fn ask(
        &mut self,
        id: CallId,
        call: Option<CallKey>,
        question: QuestionItem,
        now: &Conversation,
    ) {
        if let Some(call) = call.filter(|_| question.is_for_person) {
            self.change_call(call, ToolItem { is_asked: Some(true), ..ToolItem::default() });
        }
        let question = Box::new(question);
        let head = self.push(ConversationPart::Question(question.clone()), now);
        self.questions.insert(id, UnansweredQuestion { head, question, call });
    }

    pub(super) fn decided(&mut self, decision: &PermissionDecision, now: &Conversation) {
        let resolved = &decision.resolved;
        let RecordedOutcome { outcome, option_id, name, .. } = resolved.outcome.clone();
        let resolution = Resolution {
            allowed: Some(resolved.allowed),
            choice: name.or(option_id).or(Some(outcome)),
            ..of_decider(&resolved.by, resolved.waited_ms)
        };
        self.resolve(resolved.request_id, resolution, now);
    }

    pub(super) fn answered_form(&mut self, resolved: &ElicitationResolved<'_>, now: &Conversation) {
        let response = Some(Json::trusted(resolved.response.as_str()));
        let decider = of_decider(&resolved.by, resolved.waited_ms);
        self.resolve(resolved.request_id, Resolution { response, ..decider }, now);
    }

    fn resolve(&mut self, id: CallId, how: Resolution, now: &Conversation) {
        let Some(UnansweredQuestion { head, mut question, call }) = self.questions.remove(&id)
        else {
            return;
        };
        if let Some(call) = call
            && let Some(item_of_call) = self.call_items.get_mut(&call)
        {
            // A question from before the call was known is no waiting time of the call.
            if head.seq > item_of_call.seq {
                let waited = u64::try_from(now.at().0.saturating_sub(head.time));
                item_of_call.waited_ms += waited.unwrap_or_default();
            }
            let (is_asked, waited_ms) = (Some(false), Some(item_of_call.waited_ms));
            self.change_call(call, ToolItem { is_asked, waited_ms, ..ToolItem::default() });
        }
        question.resolution = Some(how);
        let item = head.with(ConversationPart::Question(question));
        self.out.push(ConversationChange::Replace { item });
    }
}

fn of_decider(by: &Decider, waited_ms: Option<u64>) -> Resolution {
    Resolution {
        who: by.who,
        detail: by.detail.clone(),
        rule: by.rule.clone(),
        waited_ms,
        ..Resolution::default()
    }
}
