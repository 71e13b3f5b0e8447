//! Questions to the user, for the user interface.
//!
//! In: permission events. Out: `permission_request` with the agent's options, right after
//! the `tool_use` it is about, and `permission_resolved` with who decided.

use std::borrow::Cow;

use wire::Event;
use wire::event::{PermissionRequested, PermissionResolved, RecordedOutcome};

use super::{AgentUpdate, Ui, UiEvent, UiOption};
use crate::projection::json::Node;

impl Ui {
    pub(super) fn permission_requested(
        &mut self,
        event: &Event,
        asked: &PermissionRequested<'_>,
        out: &mut Vec<UiEvent>,
    ) {
        self.end_thinking(out);
        let request = Node::of(asked.request).object();
        let call = request.object("toolCall");
        // A question of our own is about no tool.
        if !call.is_empty() && asked.limit.is_none() {
            self.tool_in_question(event, &call, out);
        }
        let option = |node: Node<'_>| {
            let fields = node.object();
            let option_id = fields.label("optionId")?.into_owned();
            let name = fields.words("name").map_or_else(|| option_id.clone(), Cow::into_owned);
            Some(UiOption { option_id, name, kind: fields.words("kind").map(Cow::into_owned) })
        };
        out.push(UiEvent::Agent(AgentUpdate::PermissionRequest {
            request_id: asked.request_id.to_string(),
            tool_use_id: call.label("toolCallId").map(Cow::into_owned),
            title: call.words("title").or_else(|| request.words("title")).map(Cow::into_owned),
            options: request.items("options").into_iter().filter_map(option).collect(),
            tool_call: request.get("toolCall").map(Node::to_json),
        }));
    }
}

pub(super) fn permission_resolved(resolved: PermissionResolved, out: &mut Vec<UiEvent>) {
    let RecordedOutcome { outcome, option_id, kind, .. } = resolved.outcome;
    out.push(UiEvent::Agent(AgentUpdate::PermissionResolved {
        request_id: resolved.request_id.to_string(),
        outcome,
        option_id,
        kind,
        by: Some(resolved.by.who.as_str().to_owned()),
        detail: resolved.by.detail,
    }));
}
