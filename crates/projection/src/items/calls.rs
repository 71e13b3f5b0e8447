//! Tool calls as items: the members of a call that an event changes, with the agent's own bytes.

use serde::{Deserialize, Serialize};
use wire::Json;

use super::{CommandExit, ConversationChange, ConversationPart, ItemsProjection, ToolItem};
use crate::calls::{self, CallKey, CallStatus, MAX_OVER};
use crate::command_output::CommandOutput;
use crate::content::parent_call;
use crate::conversation::Conversation;
use crate::json::{JsonNode, JsonObject};
use crate::terminals::CommandEnd;

/// Calls whose items are known: as many as are known themselves, and some that are open.
const MAX_CALL_ITEMS: usize = MAX_OVER + 256;

/// The item of a call.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct CallItem {
    pub(super) key: String,
    /// The event that made the item.
    pub(super) seq: u64,
    pub(super) waited_ms: u64,
}

impl ItemsProjection {
    pub(super) fn call_seen(&mut self, key: CallKey, fields: &JsonObject<'_>, now: &Conversation) {
        let call = now.call(key);
        let told = changes(call, fields);
        let item_key = match self.call_items.get(&key) {
            Some(item_of_call) => {
                let key = item_of_call.key.clone();
                if told != ToolItem::default() {
                    self.out
                        .push(ConversationChange::Tool { key: key.clone(), tool: Box::new(told) });
                }
                key
            }
            None => {
                let tool = ToolItem { id: Some(call.id.clone()), ..told };
                let item = self.push(ConversationPart::Tool(Box::new(tool)), now);
                let item_of_call = CallItem { key: item.key.clone(), seq: item.seq, waited_ms: 0 };
                self.call_items.insert(key, item_of_call);
                if self.call_items.len() > MAX_CALL_ITEMS {
                    self.call_items.pop_first();
                }
                item.key
            }
        };
        if let Some(text) = fields.object("_meta").object("terminal_output").text("data") {
            self.out.push(ConversationChange::Append { key: item_key, text: text.into_owned() });
        }
    }

    pub(super) fn call_ended(&mut self, key: CallKey, now: &Conversation) {
        let call = now.call(key);
        let end = CommandOutput::of(call, &now.terminals).and_then(|printed| printed.end);
        let failure = end.as_ref().and_then(CommandEnd::failure);
        let failure = failure.filter(|_| call.status != Some(CallStatus::Cancelled));
        let until = Some(now.at().0);
        self.change_call(key, ToolItem { failure, until, ..ToolItem::default() });
    }

    pub(super) fn call_left_open(&mut self, key: CallKey, now: &Conversation) {
        let (status, until) = (Some(CallStatus::Abandoned), Some(now.at().0));
        self.change_call(key, ToolItem { status, until, ..ToolItem::default() });
    }

    pub(super) fn change_call(&mut self, key: CallKey, tool: ToolItem) {
        if let Some(item_of_call) = self.call_items.get(&key) {
            let (key, tool) = (item_of_call.key.clone(), Box::new(tool));
            self.out.push(ConversationChange::Tool { key, tool });
        }
    }
}

/// The members that these fields change in their call.
fn changes(call: &calls::ToolCall, fields: &JsonObject<'_>) -> ToolItem {
    let text = |key: &str| fields.text(key).map(std::borrow::Cow::into_owned);
    let raw = |key: &str| fields.get(key).map(JsonNode::to_json);
    let exit = fields.object("_meta").object("terminal_exit");
    ToolItem {
        title: text("title"),
        kind: text("kind"),
        status: fields.get("status").and(call.status),
        input: raw("rawInput"),
        output: raw("rawOutput"),
        content: fields.get("content").filter(|content| content.is_list()).map(JsonNode::to_json),
        locations: fields.get("locations").map(|_| call.locations.clone()),
        parent: parent_call(fields),
        exit: (!exit.is_empty()).then(|| CommandExit {
            code: exit.label("exit_code").and_then(|code| code.parse().ok()),
            signal: exit.label("signal").map(std::borrow::Cow::into_owned),
        }),
        ..ToolItem::default()
    }
}

impl JsonObject<'_> {
    /// All members, one a line.
    pub(super) fn pretty(&self) -> String {
        let members = self.members().map(|(name, value)| {
            let value = value.get();
            (name, serde_json::from_str(value).unwrap_or_else(|_| value.into()))
        });
        let all: serde_json::Map<String, serde_json::Value> = members.collect();
        super::pretty(Json::of(&all).as_str())
    }
}
