//! The capabilities that the two sides of a front name in `initialize`.

use std::borrow::Cow;

use serde_json::{Value, json};
use wire::{Event, Json, Kind};

use super::Front;

/// The agent's answer to `initialize`, with the session methods that the log adds to it.
pub(super) fn with_own_capabilities(initialized: &Json) -> Result<Json, wire::NotJson> {
    let yes = Json::trusted("{}");
    let mut answer = wire::set_member(
        initialized,
        &["agentCapabilities", "loadSession"],
        &Json::trusted("true"),
    )?;
    for capability in ["list", "resume", "close", "delete", "fork"] {
        let path = ["agentCapabilities", "sessionCapabilities", capability];
        answer = wire::set_member(&answer, &path, &yes)?;
    }
    let version = Json::of(&json!({ "version": env!("CARGO_PKG_VERSION") }));
    wire::set_member(&answer, &["_meta", "switchyard"], &version)
}

/// Whether a client says which version it speaks. Before versions were numbers they were dates.
pub(super) fn names_a_version(initialize: &Json) -> bool {
    let params: Value = initialize.read().unwrap_or_default();
    match &params["protocolVersion"] {
        Value::String(version) => !version.is_empty(),
        version => version.as_u64().is_some_and(|version| u16::try_from(version).is_ok()),
    }
}

/// The capabilities that a client named.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ClientCapabilities {
    /// It reads and writes files for the agent.
    pub(super) files: bool,
    notices: bool,
    compaction: bool,
}

impl ClientCapabilities {
    pub(super) fn read(initialize: &Json) -> Self {
        let params: Value = initialize.read().unwrap_or_default();
        let (fs, session) =
            (&params["clientCapabilities"]["fs"], &params["clientCapabilities"]["session"]);
        Self {
            files: fs["readTextFile"] == true && fs["writeTextFile"] == true,
            notices: session["notices"].is_object(),
            compaction: session["compaction"].is_object(),
        }
    }

    /// The event as this client gets it, if it does. Some updates are newer than most clients, so
    /// that these say which of them they take; an agent may have sent them for another client of
    /// the same session.
    pub(super) fn adapted(self, event: &Event) -> Option<Cow<'_, Event>> {
        match event.kind.update_name() {
            Some("notice") if !self.notices => notice_as_text(event).map(Cow::Owned),
            Some("compaction_update" | "compaction_summary_chunk") if !self.compaction => None,
            _ => Some(Cow::Borrowed(event)),
        }
    }
}

/// A notice as a chunk of the answer, for clients that do not know notices.
fn notice_as_text(event: &Event) -> Option<Event> {
    let mut payload: Value = event.payload.read().ok()?;
    let notice = &payload["update"];
    let words = [&notice["title"], &notice["description"]].into_iter().filter_map(Value::as_str);
    let words = words.filter(|words| !words.is_empty()).collect::<Vec<_>>().join(": ");
    if words.is_empty() {
        return None;
    }
    let content = json!({ "type": "text", "text": format!("\n\n{words}\n\n") });
    payload["update"] = json!({ "sessionUpdate": "agent_message_chunk", "content": content });
    let kind = Kind::update("agent_message_chunk");
    Some(Event { kind, payload: Json::of(&payload), ..event.clone() })
}

impl Front {
    pub(super) fn abilities(&self) -> ClientCapabilities {
        self.initialized.get().copied().unwrap_or_default()
    }
}
