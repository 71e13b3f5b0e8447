//! The terminals that Switchyard serves, as text for ACP clients, which cannot read them.
//!
//! In: every event. Out: the agent's updates with such terminals replaced by the newest of their
//! output, as a block of Markdown; and an update of the tool call that shows a terminal when there
//! is more output. Everything else about an update stays byte for byte.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use wire::{Event, Json, Kind};

use crate::terminals::Terminals;
use wire::text::sanitize;

/// Bytes of an output that are sent at once; each update replaces the one before.
const SHOWN_BYTES: usize = 8 << 10;
/// Tool calls that show a terminal and may be updated again.
const MAX_CALLS: usize = 64;

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct TerminalsAsText {
    session: String,
    terminals: Terminals,
    calls: Vec<TerminalCall>,
    /// The client has no terminals of its own in this session.
    all_are_ours: bool,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct TerminalCall {
    id: String,
    /// As the agent gave it.
    content: Vec<Value>,
}

/// When clients get more of a terminal's output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputPace {
    AsItComes,
    /// Once, when the command has ended.
    AtTheEnd,
}

impl TerminalsAsText {
    /// `session` is the id that updates name.
    pub fn new(session: impl Into<String>, all_are_ours: bool) -> Self {
        Self { session: session.into(), all_are_ours, ..Self::default() }
    }

    /// `params` of the `session/update` to send for this event, if it is not the event's own.
    pub fn project(&mut self, event: &Event, pace: OutputPace) -> Option<Json> {
        match event.kind.update_name() {
            Some("tool_call" | "tool_call_update") => self.replaced(&event.payload),
            Some(_) => None,
            None => {
                let printed = self.terminals.apply(&event.own()?)?.id.clone();
                let is_due = (event.kind == Kind::TerminalExited) == (pace == OutputPace::AtTheEnd);
                is_due.then(|| self.more_in(&printed)).flatten()
            }
        }
    }

    fn replaced(&mut self, params: &Json) -> Option<Json> {
        // Most tool calls show none, and are not read.
        if self.calls.is_empty() && !params.as_str().contains(r#""terminal""#) {
            return None;
        }
        let mut value: Value = params.read().ok()?;
        let update = value.get_mut("update")?;
        let id = update["toolCallId"].as_str()?.to_owned();
        let Value::Array(content) = update["content"].take() else { return None };
        self.calls.retain(|call| call.id != id);
        if !content.iter().any(|item| item["type"] == "terminal") {
            return None;
        }
        let has_ours = content.iter().any(|item| self.is_ours(item));
        let shown = has_ours.then(|| self.shown(&content));
        if self.calls.len() >= MAX_CALLS {
            self.calls.remove(0);
        }
        // Kept in any case: that a terminal is ours may only be seen from its later output.
        self.calls.push(TerminalCall { id, content });
        wire::set_member(params, &["update", "content"], &shown?).ok()
    }

    fn more_in(&self, terminal: &str) -> Option<Json> {
        let shows =
            |call: &&TerminalCall| call.content.iter().any(|item| item["terminalId"] == terminal);
        let call = self.calls.iter().rev().find(shows)?;
        let content: Value = self.shown(&call.content).read().ok()?;
        Some(Json::of(&json!({
            "sessionId": self.session,
            "update": {
                "sessionUpdate": "tool_call_update", "toolCallId": call.id, "content": content,
            },
        })))
    }

    fn is_ours(&self, item: &Value) -> bool {
        let id = (item["type"] == "terminal").then(|| item["terminalId"].as_str()).flatten();
        id.is_some_and(|id| self.all_are_ours || self.terminals.get(id).is_some())
    }

    fn shown(&self, content: &[Value]) -> Json {
        let shown = content.iter().map(|item| match self.is_ours(item) {
            true => self.as_text(item["terminalId"].as_str().unwrap_or_default()),
            false => item.clone(),
        });
        Json::of(&shown.collect::<Vec<_>>())
    }

    fn as_text(&self, id: &str) -> Value {
        let text = self.terminals.get(id).map_or("", |terminal| &*terminal.text);
        let text = wire::text::last_screen(text);
        let text = sanitize(newest(&text));
        let text = wire::text::fenced("", &text);
        json!({ "type": "content", "content": { "type": "text", "text": text } })
    }
}

/// The end of a text, in whole lines.
fn newest(text: &str) -> &str {
    let from = text.ceil_char_boundary(text.len().saturating_sub(SHOWN_BYTES));
    let tail = text.get(from..).unwrap_or_default();
    match (from, tail.split_once('\n')) {
        (1.., Some((_, whole))) if !whole.is_empty() => whole,
        _ => tail,
    }
}

#[cfg(test)]
mod tests;
