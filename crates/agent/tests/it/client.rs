//! A small ACP client that drives the demo agent over pipes in memory.
//!
//! In: requests of the test. Out: what the agent said, checked against the schema unless the test
//! asks for something invalid. Requests of the agent are answered by `respond`.

use crate::schema;
use agent::demo::{self, ConnectionEnd, DemoOptions};
use serde_json::{Value, json};
use std::ffi::OsString;
use std::time::Duration;
use tokio::io::{
    AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, ReadHalf, WriteHalf,
};
use tokio::task::JoinHandle;

// With a paused clock this passes as soon as nobody can do anything any more.
const PATIENCE: Duration = Duration::from_hours(1);

const PIPE_BYTES: usize = 64 * 1024;

pub(crate) struct Client {
    to_agent: Option<WriteHalf<DuplexStream>>,
    from_agent: BufReader<ReadHalf<DuplexStream>>,
    agent: JoinHandle<ConnectionEnd>,
    next_id: u64,
    /// Whether messages are checked against the schema.
    pub(crate) is_strict: bool,
}

/// What came between a request and its answer, and the answer.
pub(crate) struct Exchange {
    pub(crate) messages: Vec<Value>,
    pub(crate) response: Value,
}

impl Client {
    pub(crate) fn start(flags: &[&str]) -> Self {
        let flags: Vec<OsString> = flags.iter().map(OsString::from).collect();
        let options = DemoOptions::from_args(&flags).unwrap();
        let (ours, theirs) = tokio::io::duplex(PIPE_BYTES);
        let (input, output) = tokio::io::split(theirs);
        let agent = tokio::spawn(demo::run(options, input, output));
        let (from_agent, to_agent) = tokio::io::split(ours);
        Self {
            to_agent: Some(to_agent),
            from_agent: BufReader::new(from_agent),
            agent,
            next_id: 0,
            is_strict: true,
        }
    }

    /// Starts the agent, initializes it and opens a session.
    pub(crate) async fn with_session(flags: &[&str]) -> (Self, String) {
        let mut client = Self::start(flags);
        client.initialize().await;
        let session = client.new_session().await;
        (client, session)
    }

    pub(crate) async fn initialize(&mut self) -> Value {
        let capabilities = json!({
            "fs": { "readTextFile": true, "writeTextFile": true },
            "terminal": true,
            "elicitation": { "form": {} },
            "session": { "compaction": {}, "notices": {} },
        });
        let params = json!({ "protocolVersion": 1, "clientCapabilities": capabilities });
        self.call("initialize", params).await.response
    }

    pub(crate) async fn new_session(&mut self) -> String {
        let exchange = self.call("session/new", json!({ "cwd": "/tmp", "mcpServers": [] })).await;
        let session = exchange.response["result"]["sessionId"].as_str().unwrap().to_owned();
        let announced = self.receive().await;
        assert_eq!(announced["params"]["update"]["sessionUpdate"], "available_commands_update");
        session
    }

    pub(crate) async fn write(&mut self, bytes: &[u8]) {
        self.to_agent.as_mut().unwrap().write_all(bytes).await.unwrap();
    }

    pub(crate) async fn send(&mut self, message: &Value) {
        self.write(format!("{message}\n").as_bytes()).await;
    }

    /// Sends a request and gives its id.
    pub(crate) async fn ask(&mut self, method: &str, params: Value) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })).await;
        id
    }

    pub(crate) async fn cancel(&mut self, session: &str) {
        let params = json!({ "sessionId": session });
        self.send(&json!({ "jsonrpc": "2.0", "method": "session/cancel", "params": params })).await;
    }

    /// The next line with its ending; empty at the end of the stream.
    pub(crate) async fn receive_line(&mut self) -> Vec<u8> {
        let mut line = Vec::new();
        let read = self.from_agent.read_until(b'\n', &mut line);
        tokio::time::timeout(PATIENCE, read).await.expect("the agent says nothing more").unwrap();
        line
    }

    pub(crate) async fn receive(&mut self) -> Value {
        let line = self.receive_line().await;
        assert!(!line.is_empty(), "the agent is gone");
        let message: Value = serde_json::from_slice(&line).unwrap();
        if self.is_strict && message.get("method").is_some() {
            schema::check_incoming(&message);
        }
        message
    }

    /// Waits for the answer to a request and answers the agent's own requests on the way.
    pub(crate) async fn answer_to(&mut self, id: u64, method: &str) -> Exchange {
        let mut messages = Vec::new();
        loop {
            let message = self.receive().await;
            if message.get("method").is_none() {
                if message["id"] != id {
                    messages.push(message);
                    continue;
                }
                if self.is_strict {
                    schema::check_response(method, &message);
                }
                return Exchange { messages, response: message };
            }
            if message.get("id").is_some() {
                let mut answer = respond(message["method"].as_str().unwrap(), &message["params"]);
                answer["jsonrpc"] = "2.0".into();
                answer["id"] = message["id"].clone();
                self.send(&answer).await;
            }
            messages.push(message);
        }
    }

    pub(crate) async fn call(&mut self, method: &str, params: Value) -> Exchange {
        let id = self.ask(method, params).await;
        self.answer_to(id, method).await
    }

    /// Sends a script and does not wait for its answer.
    pub(crate) async fn begin(&mut self, session: &str, script: &str) -> u64 {
        self.ask("session/prompt", prompt(session, script)).await
    }

    pub(crate) async fn prompt(&mut self, session: &str, script: &str) -> Exchange {
        self.call("session/prompt", prompt(session, script)).await
    }

    pub(crate) async fn close_input(&mut self) {
        if let Some(mut to_agent) = self.to_agent.take() {
            to_agent.shutdown().await.unwrap();
        }
    }

    /// Closes the agent's input and waits for its end.
    pub(crate) async fn finish(mut self) -> ConnectionEnd {
        self.close_input().await;
        self.ended().await
    }

    /// Waits for the agent's end.
    pub(crate) async fn ended(self) -> ConnectionEnd {
        tokio::time::timeout(PATIENCE, self.agent).await.expect("the agent goes on").unwrap()
    }

    pub(crate) fn is_running(&self) -> bool {
        !self.agent.is_finished()
    }
}

impl Exchange {
    /// The `update` objects among the messages.
    pub(crate) fn updates(&self) -> Vec<&Value> {
        self.messages
            .iter()
            .filter(|message| message["method"] == "session/update")
            .map(|message| &message["params"]["update"])
            .collect()
    }

    pub(crate) fn kinds(&self) -> Vec<&str> {
        self.updates().iter().map(|update| update["sessionUpdate"].as_str().unwrap()).collect()
    }

    /// Everything the agent said in words.
    pub(crate) fn text(&self) -> String {
        self.updates()
            .iter()
            .filter(|update| update["sessionUpdate"] == "agent_message_chunk")
            .filter_map(|update| update["content"]["text"].as_str())
            .collect()
    }

    pub(crate) fn methods(&self) -> Vec<&str> {
        self.messages
            .iter()
            .filter_map(|message| message["method"].as_str())
            .filter(|method| *method != "session/update")
            .collect()
    }

    pub(crate) fn stop_reason(&self) -> &str {
        self.response["result"]["stopReason"].as_str().unwrap_or_default()
    }

    pub(crate) fn error_code(&self) -> i64 {
        self.response["error"]["code"].as_i64().unwrap_or_default()
    }
}

pub(crate) fn prompt(session: &str, script: &str) -> Value {
    json!({ "sessionId": session, "prompt": [{ "type": "text", "text": script }] })
}

/// What this client answers to the agent.
fn respond(method: &str, params: &Value) -> Value {
    let result = match method {
        "session/request_permission" => {
            let option = &params["options"][0]["optionId"];
            json!({ "outcome": { "outcome": "selected", "optionId": option } })
        }
        "elicitation/create" => json!({ "action": "accept", "content": { "name": "Ada" } }),
        "fs/read_text_file" => json!({ "content": "file content\n" }),
        "fs/write_text_file" | "terminal/kill" | "terminal/release" => json!({}),
        "terminal/create" => json!({ "terminalId": "term-1" }),
        "terminal/wait_for_exit" => json!({ "exitCode": 0 }),
        "terminal/output" => json!({ "output": "out\n", "truncated": false }),
        _ => return json!({ "error": { "code": -32601, "message": "no such method" } }),
    };
    json!({ "result": result })
}
