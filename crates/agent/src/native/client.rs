//! The ACP client of one session: updates for it, and requests to it.
//!
//! Always true: nothing is asked of a client that did not say that it can do it; a client that
//! is gone is an error like any other.

use std::path::Path;
use std::time::Duration;

use bus::connection::{CallError, Connection};
use serde_json::{Value, json};
use wire::{Json, RpcError};

/// Time limit of a file request: an editor's file comes from memory or a local disk.
const FILE_WITHIN: Duration = Duration::from_secs(30);
/// Time limit to start, look at or end a command; waiting for it has none.
const TERMINAL_WITHIN: Duration = Duration::from_secs(30);

/// Capabilities that a client declared in `initialize`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ClientAbilities {
    pub reads_files: bool,
    pub writes_files: bool,
    pub has_terminals: bool,
    /// Has permission rules, and can be asked about what is done without its help.
    pub checks: bool,
    /// Shows `compaction_update`.
    pub shows_compaction: bool,
    /// Shows `notice`.
    pub shows_notices: bool,
}

impl ClientAbilities {
    /// Reads `clientCapabilities`.
    pub fn read(capabilities: &Value) -> Self {
        let is = |value: &Value| value.as_bool() == Some(true);
        let has = |value: &Value| value.is_object();
        Self {
            reads_files: is(&capabilities["fs"]["readTextFile"]),
            writes_files: is(&capabilities["fs"]["writeTextFile"]),
            checks: is(&capabilities["_meta"]["switchyard"]["checks"]),
            has_terminals: is(&capabilities["terminal"]),
            shows_compaction: has(&capabilities["session"]["compaction"]),
            shows_notices: has(&capabilities["session"]["notices"]),
        }
    }
}

#[derive(Debug, Clone)]
pub struct AcpClient {
    connection: Connection,
    session: String,
    pub can: ClientAbilities,
}

impl AcpClient {
    pub fn new(connection: Connection, session: String, can: ClientAbilities) -> Self {
        Self { connection, session, can }
    }

    /// Sends an update; waits for a client that is slow to read.
    pub async fn update(&self, update: Value) -> Result<(), CallError> {
        let params = json!({ "sessionId": self.session, "update": update });
        self.connection.notify_in_turn("session/update", &Json::of(&params)).await
    }

    /// Sends a piece of text: `agent_message_chunk`, or `agent_thought_chunk`.
    pub async fn say(&self, kind: &str, text: &str) -> Result<(), CallError> {
        self.update(chunk(kind, text)).await
    }

    /// As [`update`](Self::update), but dropped if the client is too slow to take it.
    pub fn update_if_room(&self, update: Value) {
        let params = json!({ "sessionId": self.session, "update": update });
        let _ = self.connection.notify("session/update", &Json::of(&params));
    }

    /// Asks a person, and gives the option that was chosen; none, if the question was cancelled.
    /// Waits for as long as it takes; dropping the future withdraws the question.
    pub async fn ask(&self, tool_call: Value, options: Value) -> Result<Option<String>, CallError> {
        let asked = json!({ "toolCall": tool_call, "options": options });
        let answer = self.call("session/request_permission", asked, None).await?;
        let outcome = &answer["outcome"];
        let is_selected = outcome["outcome"] == "selected";
        Ok(outcome["optionId"].as_str().filter(|_| is_selected).map(str::to_owned))
    }

    pub async fn read_text(&self, path: &str) -> Result<String, CallError> {
        let read =
            self.call("fs/read_text_file", json!({ "path": path }), Some(FILE_WITHIN)).await?;
        match read["content"].as_str() {
            Some(text) => Ok(text.to_owned()),
            None => Err(RpcError::internal("the client answered without `content`").into()),
        }
    }

    /// The reason why a rule of the client denies something that is about to be done without its
    /// help, if one does: the `deed` has a `kind` as tool calls have it, and `paths` or a
    /// `command`.
    pub async fn denial(&self, deed: Value) -> Result<Option<String>, CallError> {
        if !self.can.checks {
            return Ok(None);
        }
        match self.call("_switchyard/check", deed, Some(FILE_WITHIN)).await {
            Ok(_) => Ok(None),
            Err(CallError::Refused(error)) if error.is_denied() => Ok(Some(error.message)),
            Err(error) => Err(error),
        }
    }

    /// Whether no rule of the client is against reading a file, by any of its names.
    pub async fn may_read(&self, names: &[&Path]) -> bool {
        let paths: Vec<_> = names.iter().map(|name| name.to_string_lossy()).collect();
        matches!(self.denial(json!({ "kind": "read", "paths": paths })).await, Ok(None))
    }

    pub async fn write_text(&self, path: &str, content: &str) -> Result<(), CallError> {
        let params = json!({ "path": path, "content": content });
        self.call("fs/write_text_file", params, Some(FILE_WITHIN)).await.map(drop)
    }

    /// One of `terminal/*`; `terminal/wait_for_exit` waits for as long as it takes.
    pub async fn terminal(&self, verb: &str, params: Value) -> Result<Value, CallError> {
        let within = (verb != "wait_for_exit").then_some(TERMINAL_WITHIN);
        self.call(&format!("terminal/{verb}"), params, within).await
    }

    async fn call(
        &self,
        method: &str,
        mut params: Value,
        within: Option<Duration>,
    ) -> Result<Value, CallError> {
        params["sessionId"] = json!(self.session);
        let params = Json::of(&params);
        let answer = match within {
            Some(limit) => self.connection.call_within(limit, method, &params).await?,
            None => self.connection.call(method, &params).await?,
        };
        Ok(answer.read().unwrap_or_default())
    }
}

/// The `compaction_update` for a summary that is being made.
pub(super) fn compaction(id: &str, status: &str, summary: Option<&str>) -> Value {
    let mut update = json!({
        "sessionUpdate": "compaction_update", "compactionId": id, "status": status,
    });
    if let Some(summary) = summary {
        update["summary"] = json!([{ "type": "text", "text": summary }]);
    }
    update
}

/// A piece of text as an update.
pub(super) fn chunk(kind: &str, text: &str) -> Value {
    json!({ "sessionUpdate": kind, "content": { "type": "text", "text": text } })
}
