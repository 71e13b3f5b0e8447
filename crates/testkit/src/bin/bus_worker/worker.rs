//! The worker's requests and state: handles each line that comes in.

use std::collections::HashMap;
use std::ffi::OsString;
use std::io::{BufWriter, Stdout, Write as _};
use std::path::PathBuf;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::{IncomingLine, faults};

/// The parameters of any request; absent members have their defaults.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct RequestParams {
    pub(crate) session_id: Option<String>,
    pub(crate) request_id: Option<u64>,
    pub(crate) ask_id: Option<Box<RawValue>>,
    pub(crate) n: usize,
    pub(crate) bytes: usize,
    pub(crate) code: i32,
    pub(crate) keeps_pipes: bool,
    pub(crate) path: PathBuf,
    pub(crate) prompt: Vec<Value>,
    #[serde(rename = "_meta")]
    pub(crate) meta: Value,
}

/// A request that is to be answered later.
#[derive(Debug)]
struct PendingRequest {
    id: Box<RawValue>,
    session: Option<String>,
    is_prompt: bool,
    waits_for_cancel: bool,
}

#[derive(Debug)]
pub(crate) struct TestWorker {
    out: BufWriter<Stdout>,
    can_load: bool,
    sessions: Vec<String>,
    open: Vec<PendingRequest>,
    /// Questions to the client, and the requests that are answered with what comes back.
    client_requests: HashMap<String, Box<RawValue>>,
    /// Notifications and unknown lines that came in, for `x/heard`.
    notifications: Vec<Value>,
    /// Memory that `x/bloat` holds.
    ballast: Vec<u8>,
}

impl TestWorker {
    pub(crate) fn new(can_load: bool) -> Self {
        let out = BufWriter::with_capacity(1 << 16, std::io::stdout());
        Self {
            out,
            can_load,
            sessions: Vec::new(),
            open: Vec::new(),
            client_requests: HashMap::new(),
            notifications: Vec::new(),
            ballast: Vec::new(),
        }
    }

    pub(crate) fn hear(&mut self, heard: &IncomingLine) {
        match (&heard.method, heard.id) {
            (Some(method), Some(id)) => self.request(method, id, heard.params),
            (Some(method), None) => self.notification(method, heard.params),
            (None, Some(id)) => self.answered(id, heard),
            (None, None) => self.notifications.push(json!("neither a method nor an id")),
        }
        self.flush();
    }

    pub(crate) fn misheard(&mut self, line: &[u8], problem: &serde_json::Error) {
        let line = String::from_utf8_lossy(line).chars().take(200).collect::<String>();
        self.notifications.push(json!({ "misheard": line, "why": problem.to_string() }));
    }

    fn request(&mut self, method: &str, id: &RawValue, params: Option<&RawValue>) {
        let is_plain = !method.starts_with("x/") && !method.starts_with("session/");
        if is_plain && method != "initialize" {
            return self.echo(id, params);
        }
        let asked: RequestParams = params
            .map(|params| serde_json::from_str(params.get()).expect("params that say what"))
            .unwrap_or_default();
        match method {
            "initialize" => {
                let capabilities = json!({ "loadSession": self.can_load });
                let told = params.map_or("null", RawValue::get);
                self.answer(
                    id,
                    &format!(
                        r#"{{"protocolVersion":1,"agentCapabilities":{capabilities},"_meta":{{"told":{told}}}}}"#
                    ),
                );
            }
            "session/new" => {
                let name = match asked.meta["name"].as_str() {
                    Some(name) => name.to_owned(),
                    None => format!("{}-{}", std::process::id(), self.sessions.len() + 1),
                };
                self.sessions.push(name.clone());
                self.answer(id, &json!({ "sessionId": name }).to_string());
            }
            "session/load" => {
                self.sessions.extend(asked.session_id);
                self.answer(id, "{}");
            }
            "session/list" => {
                let own = self.sessions.iter().map(|name| json!({ "sessionId": name, "cwd": "/" }));
                let sessions: Vec<Value> = own.collect();
                self.answer(id, &json!({ "sessions": sessions }).to_string());
            }
            "session/prompt" => self.prompt(id, asked),
            "x/pid" => self.answer(id, &json!({ "pid": std::process::id() }).to_string()),
            "x/fds" => self.answer(id, &json!({ "fds": faults::descriptors() }).to_string()),
            "x/environment" => {
                let name_of = |(name, _): (OsString, _)| name.to_string_lossy().into_owned();
                let names: Vec<String> = std::env::vars_os().map(name_of).collect();
                self.answer(id, &json!({ "names": names }).to_string());
            }
            "x/heard" => self.answer(id, &json!({ "heard": self.notifications }).to_string()),
            "x/hold" => self.keep(id, asked.session_id, false, false),
            "x/late" => self.keep(id, asked.session_id, false, true),
            "x/silent" => {}
            "x/await" => {
                faults::await_file(&asked.path);
                self.echo(id, params);
            }
            "x/release" => {
                for open in std::mem::take(&mut self.open) {
                    let result = if open.is_prompt { END_TURN } else { r#"{"held":true}"# };
                    self.answer(&open.id, result);
                }
                self.answer(id, "{}");
            }
            "x/notify" => {
                let session = asked.session_id.unwrap_or_default();
                self.updates(&session, asked.n, asked.bytes);
                self.echo(id, params);
            }
            "x/ask" => self.ask(id, asked),
            "x/garbage" => {
                self.say("this is no message");
                self.say(r#"{"jsonrpc":"2.0","id":"#);
                self.echo(id, params);
            }
            "x/partial" => {
                let line = line_of(id, r#"{"pieces":2}"#);
                let (first, second) = line.split_at(line.len() / 2);
                self.say_bytes(first.as_bytes());
                self.flush();
                self.say(second);
            }
            "x/cut" => {
                let line = line_of(id, r#"{"never":"whole"}"#);
                self.say_bytes(&line.as_bytes()[..line.len() / 2]);
                self.flush();
                faults::abort();
            }
            "x/big" => {
                let big = "x".repeat(asked.bytes);
                self.answer(id, &format!(r#"{{"big":"{big}"}}"#));
            }
            "x/spawn" => {
                let pid = faults::leave_process(asked.keeps_pipes);
                self.answer(id, &json!({ "pid": pid }).to_string());
            }
            "x/stderr" => {
                faults::flood_stderr(asked.bytes);
                self.echo(id, params);
            }
            "x/bloat" => {
                self.ballast.resize(asked.bytes, 1);
                self.answer(id, "{}");
            }
            "x/mute" => faults::close_stdout(),
            "x/deaf" => {
                faults::close_stdin();
                self.answer(id, "{}");
            }
            "x/hang" => faults::hang(),
            "x/exit" => std::process::exit(asked.code),
            "x/abort" => faults::abort(),
            _ => self.echo(id, params),
        }
    }

    fn prompt(&mut self, id: &RawValue, asked: RequestParams) {
        let session = asked.session_id.unwrap_or_default();
        let text = asked.prompt.first().and_then(|block| block["text"].as_str()).unwrap_or("1");
        if text == "hold" {
            return self.keep(id, Some(session), true, false);
        }
        self.updates(&session, text.parse().expect("a number of updates"), asked.bytes);
        self.answer(id, END_TURN);
    }

    /// Numbered, so that the reader can see whether all came and in which order.
    fn updates(&mut self, session: &str, n: usize, n_bytes: usize) {
        let padding = "x".repeat(n_bytes);
        let session = Value::from(session);
        for at in 0..n {
            self.say(&format!(
                r#"{{"jsonrpc":"2.0","method":"session/update","params":{{"sessionId":{session},"update":{{"sessionUpdate":"agent_message_chunk","content":{{"type":"text","text":"{at}{padding}"}}}}}}}}"#
            ));
        }
    }

    fn ask(&mut self, id: &RawValue, asked: RequestParams) {
        let ask_id = asked.ask_id.map_or_else(|| "1".to_owned(), |id| id.get().to_owned());
        let session = json!(asked.session_id);
        self.say(&format!(
            r#"{{"jsonrpc":"2.0","id":{ask_id},"method":"session/request_permission","params":{{"sessionId":{session},"toolCall":{{"toolCallId":"t"}},"options":[]}}}}"#
        ));
        self.client_requests.insert(ask_id, id.to_owned());
    }

    fn answered(&mut self, ask_id: &RawValue, heard: &IncomingLine) {
        let Some(id) = self.client_requests.remove(ask_id.get()) else {
            return self.notifications.push(json!({ "answers nothing": ask_id.get() }));
        };
        let part = |part: Option<&RawValue>| part.map_or("null", RawValue::get).to_owned();
        let (result, error) = (part(heard.result), part(heard.error));
        self.answer(&id, &format!(r#"{{"result":{result},"error":{error}}}"#));
    }

    fn notification(&mut self, method: &str, params: Option<&RawValue>) {
        let params: Value = params
            .map_or(Value::Null, |params| serde_json::from_str(params.get()).expect("params"));
        let asked: RequestParams = serde_json::from_value(params.clone()).unwrap_or_default();
        self.notifications.push(json!({ "method": method, "params": params }));
        let is_meant = |open: &mut PendingRequest| match method {
            "session/cancel" => open.is_prompt && open.session == asked.session_id,
            "$/cancel_request" => {
                let id = open.id.get().parse().ok();
                open.waits_for_cancel && id == asked.request_id
            }
            _ => false,
        };
        let meant: Vec<PendingRequest> = self.open.extract_if(.., is_meant).collect();
        for open in meant {
            let result = if open.is_prompt { CANCELLED } else { r#"{"late":true}"# };
            self.answer(&open.id, result);
        }
    }

    fn keep(
        &mut self,
        id: &RawValue,
        session: Option<String>,
        is_prompt: bool,
        waits_for_cancel: bool,
    ) {
        self.open.push(PendingRequest { id: id.to_owned(), session, is_prompt, waits_for_cancel });
    }

    fn echo(&mut self, id: &RawValue, params: Option<&RawValue>) {
        let params = params.map_or("null", RawValue::get);
        self.answer(id, &format!(r#"{{"echo":{params}}}"#));
    }

    fn answer(&mut self, id: &RawValue, result: &str) {
        self.say(&line_of(id, result));
    }

    fn say(&mut self, line: &str) {
        self.say_bytes(line.as_bytes());
        self.say_bytes(b"\n");
    }

    fn say_bytes(&mut self, bytes: &[u8]) {
        if self.out.write_all(bytes).is_err() {
            faults::exit_disconnected();
        }
    }

    fn flush(&mut self) {
        if self.out.flush().is_err() {
            faults::exit_disconnected();
        }
    }
}

const END_TURN: &str = r#"{"stopReason":"end_turn"}"#;
const CANCELLED: &str = r#"{"stopReason":"cancelled"}"#;

fn line_of(id: &RawValue, result: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)
}
