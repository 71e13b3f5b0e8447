//! Writes logs by hand, for tests.

use serde_json::{Value, json};
use wire::{CallId, Event, Json, Kind, Millis, Seq, TurnId};

/// A log under construction; events are 10 ms apart.
#[derive(Debug, Default)]
pub(crate) struct Log {
    pub(crate) events: Vec<Event>,
    turn: Option<TurnId>,
}

pub(crate) fn turn(n: u64) -> TurnId {
    TurnId::derived(&[b"turn", &n.to_be_bytes()])
}

/// The id of the question that a test calls `name`.
pub(crate) fn request(name: &str) -> CallId {
    CallId::derived(&[name.as_bytes()])
}

impl Log {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// A log in which turn 1 has started.
    pub(crate) fn started() -> Self {
        Self::new().in_turn(1).start()
    }

    /// What follows belongs to turn `n`.
    pub(crate) fn in_turn(mut self, n: u64) -> Self {
        self.turn = Some(turn(n));
        self
    }

    pub(crate) fn outside(mut self) -> Self {
        self.turn = None;
        self
    }

    /// An event of our own. A log never has one that cannot be read, so no test does.
    pub(crate) fn own(self, kind: Kind, mut payload: Value) -> Self {
        if let Some(name) = payload["requestId"].as_str() {
            payload["requestId"] = json!(request(name));
        }
        let log = self.raw(kind, &payload);
        assert!(log.events.last().unwrap().own().is_some(), "{payload}");
        log
    }

    pub(crate) fn raw(mut self, kind: Kind, payload: &Value) -> Self {
        let seq = self.events.len() as u64 + 1;
        self.events.push(Event {
            seq: Seq(seq),
            at: Millis(1_000 + i64::try_from(seq).unwrap() * 10),
            turn: self.turn,
            kind,
            payload: Json::of(payload),
        });
        self
    }

    pub(crate) fn update(self, name: &str, mut fields: Value) -> Self {
        if let Some(fields) = fields.as_object_mut() {
            fields.insert("sessionUpdate".into(), name.into());
        }
        self.raw(Kind::update(name), &json!({ "sessionId": "agent-session", "update": fields }))
    }

    pub(crate) fn chunk(self, name: &str, text: &str) -> Self {
        self.update(name, json!({ "content": { "type": "text", "text": text } }))
    }

    pub(crate) fn text(self, text: &str) -> Self {
        self.chunk("agent_message_chunk", text)
    }

    pub(crate) fn thought(self, text: &str) -> Self {
        self.chunk("agent_thought_chunk", text)
    }

    pub(crate) fn tool(self, id: &str, fields: Value) -> Self {
        self.update("tool_call", with_id(id, fields))
    }

    pub(crate) fn tool_update(self, id: &str, fields: Value) -> Self {
        self.update("tool_call_update", with_id(id, fields))
    }

    pub(crate) fn prompt(self, text: &str) -> Self {
        let blocks = json!([{ "type": "text", "text": text }]);
        self.own(Kind::PromptReceived, json!({ "prompt": blocks, "by": "client" }))
    }

    pub(crate) fn ask(self, request: &str, id: &str, fields: Value) -> Self {
        let options = json!([
            { "optionId": "yes", "name": "Yes", "kind": "allow_once" },
            { "optionId": "no", "name": "No", "kind": "reject_once" },
        ]);
        let call = with_id(id, fields);
        let asked = json!({ "sessionId": "s", "toolCall": call, "options": options });
        let payload = json!({ "requestId": request, "ask": true, "request": asked });
        self.own(Kind::PermissionRequested, payload)
    }

    pub(crate) fn start(self) -> Self {
        self.own(Kind::TurnStarted, json!({}))
    }

    pub(crate) fn end(self, stop_reason: &str) -> Self {
        self.own(Kind::TurnEnded, json!({ "stopReason": stop_reason }))
    }
}

fn with_id(id: &str, mut fields: Value) -> Value {
    if let Some(fields) = fields.as_object_mut() {
        fields.insert("toolCallId".into(), id.into());
    }
    fields
}
