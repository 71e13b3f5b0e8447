//! Turns the recording of a real agent into the log a session would have written of it.

use std::path::Path;

use serde_json::{Value, json};
use wire::{Event, Json, Kind, Millis, Seq};

use super::log::{request, turn};

/// Reads `fixtures/acp/<name>.jsonl`.
pub(super) fn events_of(name: &str) -> Vec<Event> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("fixtures/acp/{name}.jsonl"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let mut loader = Loader::default();
    for line in text.lines() {
        loader.line(&serde_json::from_str(line).unwrap());
    }
    loader.events
}

/// The model that an agent starts with, from the answer to `session/new`; configuration options
/// first, as they are the newer way.
fn model_of(result: &Value) -> Option<&str> {
    let mut options = result["configOptions"].as_array().into_iter().flatten();
    let model = options.find(|one| one["id"] == "model");
    model
        .and_then(|one| one["currentValue"].as_str())
        .or_else(|| result["models"]["currentModelId"].as_str())
}

#[derive(Default)]
struct Loader {
    events: Vec<Event>,
    at: i64,
    n_turns: u64,
    /// The prompt that is being answered, the `session/new`, and the open questions.
    prompt: Option<Value>,
    creation: Option<Value>,
    questions: Vec<Value>,
}

impl Loader {
    fn line(&mut self, line: &Value) {
        let seconds = line["t"].as_f64().map(|t| t * 1_000.0);
        #[expect(clippy::cast_possible_truncation)]
        let at = seconds.or_else(|| line["t_ms"].as_f64()).unwrap_or_default() as i64;
        self.at = at;
        let message = &line["msg"];
        match line["dir"].as_str() {
            Some("client→agent") => self.client_said(message),
            Some("agent→client") => self.agent_said(message),
            _ => {}
        }
    }

    fn client_said(&mut self, message: &Value) {
        let params = &message["params"];
        match message["method"].as_str() {
            Some("session/new") => self.creation = Some(message["id"].clone()),
            Some("session/prompt") => {
                self.n_turns += 1;
                self.prompt = Some(message["id"].clone());
                self.push(Kind::PromptReceived, &json!({ "prompt": params["prompt"], "by": "t" }));
                self.push(Kind::TurnStarted, &json!({}));
            }
            Some("session/cancel") => self.push(Kind::CancelRequested, &json!({ "by": "client" })),
            None if self.questions.contains(&message["id"]) => {
                let by = json!({ "who": "client" });
                let outcome = &message["result"]["outcome"];
                let id = request(&message["id"].to_string());
                let answer = json!({ "requestId": id, "by": by, "outcome": outcome });
                self.push(Kind::PermissionResolved, &answer);
            }
            _ => {}
        }
    }

    fn agent_said(&mut self, message: &Value) {
        let params = &message["params"];
        let id = Some(&message["id"]);
        match message["method"].as_str() {
            Some("session/update") => {
                let name = params["update"]["sessionUpdate"].as_str().unwrap_or_default();
                self.push(Kind::update(name), params);
            }
            Some("session/request_permission") => {
                self.questions.push(message["id"].clone());
                let id = request(&message["id"].to_string());
                let question = json!({ "requestId": id, "ask": true, "request": params });
                self.push(Kind::PermissionRequested, &question);
            }
            None if id == self.prompt.as_ref() => self.turn_ended(message),
            None if id == self.creation.as_ref() => {
                self.push(Kind::SessionCreated, &json!({ "agent": "recorded", "cwd": "$CWD" }));
                let model = model_of(&message["result"]);
                self.push(Kind::WorkerStarted, &json!({ "pid": 1, "model": model }));
            }
            _ => {}
        }
    }

    fn turn_ended(&mut self, message: &Value) {
        let result = &message["result"];
        let end = match message.get("error") {
            Some(error) => {
                let fault = json!({ "category": "internal", "message": error["message"] });
                json!({ "stopReason": "error", "error": fault })
            }
            None => json!({ "stopReason": result["stopReason"], "result": result }),
        };
        self.push(Kind::TurnEnded, &end);
        self.prompt = None;
    }

    fn push(&mut self, kind: Kind, payload: &Value) {
        self.events.push(Event {
            seq: Seq(self.events.len() as u64 + 1),
            at: Millis(self.at),
            turn: self.prompt.is_some().then(|| turn(self.n_turns)),
            kind,
            payload: Json::of(payload),
        });
    }
}
