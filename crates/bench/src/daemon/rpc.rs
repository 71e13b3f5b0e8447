//! The client's side of ACP without its pipe: requests for a session and a prompt, and the reading
//! of an agent's lines.

use std::path::Path;

use anyhow::{Context, bail};
use bench::chunk::number_in;
use serde_json::{Value, json};

#[derive(Debug, Default)]
pub(super) struct AcpSession {
    last_id: u64,
    session: String,
}

#[derive(Debug, PartialEq)]
pub(super) enum AgentLine {
    Chunk(u64),
    /// The answer to the last request.
    Result(Value),
    Other,
}

impl AcpSession {
    pub(super) fn initialize(&mut self) -> String {
        self.request("initialize", json!({ "protocolVersion": 1, "clientCapabilities": {} }))
    }

    pub(super) fn new_session(&mut self, cwd: &Path) -> String {
        self.request("session/new", json!({ "cwd": cwd, "mcpServers": [] }))
    }

    /// Takes the answer to [`new_session`](Self::new_session).
    pub(super) fn set_session(&mut self, result: &Value) -> anyhow::Result<()> {
        result["sessionId"].as_str().context("no session id")?.clone_into(&mut self.session);
        Ok(())
    }

    pub(super) fn prompt(&mut self, text: &str) -> String {
        let block = json!({ "type": "text", "text": text });
        self.request("session/prompt", json!({ "sessionId": self.session, "prompt": [block] }))
    }

    fn request(&mut self, method: &str, params: Value) -> String {
        self.last_id += 1;
        let id = self.last_id;
        json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string()
    }

    /// Reads a line of the agent with regard to the last request.
    pub(super) fn hear(&self, line: &[u8]) -> anyhow::Result<AgentLine> {
        if let Some(number) = number_in(line) {
            return Ok(AgentLine::Chunk(number));
        }
        let text = || String::from_utf8_lossy(line).into_owned();
        let mut message: Value = serde_json::from_slice(line).with_context(text)?;
        if message["id"] != self.last_id || message.get("method").is_some() {
            return Ok(AgentLine::Other);
        }
        if !message["error"].is_null() {
            bail!("the agent answered: {}", message["error"]);
        }
        Ok(AgentLine::Result(message["result"].take()))
    }
}

#[cfg(test)]
mod tests;
