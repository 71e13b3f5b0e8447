//! One run in the words of Open Design's stream.
//!
//! In: the session's log from its first event on. Out: what belongs to one turn: `start`
//! when its prompt is received, `agent`, `stderr` and at most one `error` while it goes on,
//! and one `end`. No I/O and no clock, so a stream that was cut goes on as if it had not
//! been.
//!
//! The front end takes an `error` for the end of the run. So only what ended it is one;
//! other mishaps are a `status(warning)`.

use serde::Deserialize;
use serde_json::{Value, json};
use sessions::projection::{AgentUpdate, EndStatus, Ui, UiEnd, UiError, UiEvent, UiStatus};
use wire::{Event, Json, Kind, TurnId};

use super::codes;
use super::note::RunNote;
use super::settings;

const PROTOCOL_VERSION: u32 = 1;

/// One frame.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) name: &'static str,
    pub(crate) data: Json,
}

impl Said {
    fn new(name: &'static str, data: &impl serde::Serialize) -> Self {
        Self { name, data: Json::of(data) }
    }

    pub(crate) fn is_end(&self) -> bool {
        self.name == "end"
    }
}

#[derive(Debug)]
pub(crate) struct RunWords {
    turn: TurnId,
    ui: Ui,
    heard: Vec<UiEvent>,
    session: Created,
    stage: Stage,
    /// An agent runs now, and one ran at some time in this run.
    has_worker: bool,
    had_worker: bool,
    model_told: Option<String>,
    has_error: bool,
    signal: Value,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Before,
    /// Its prompt is in the log; its turn has not begun.
    Waiting,
    Running,
    Over,
}

/// What the first event of a log tells.
#[derive(Debug, Default, Deserialize)]
struct Created {
    #[serde(default)]
    agent: String,
    #[serde(default)]
    command: Vec<String>,
    #[serde(default)]
    cwd: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Payload {
    ask: bool,
    signal: Value,
    reason: String,
}

impl RunWords {
    pub(crate) fn new(turn: TurnId) -> Self {
        Self {
            turn,
            ui: Ui::new(),
            heard: Vec::new(),
            session: Created::default(),
            stage: Stage::Before,
            has_worker: false,
            had_worker: false,
            model_told: None,
            has_error: false,
            signal: Value::Null,
        }
    }

    pub(crate) fn hear(&mut self, event: &Event, out: &mut Vec<Said>) {
        self.ui.project(event, &mut self.heard);
        self.note(event);
        let is_own = event.turn == Some(self.turn);
        match (self.stage, &event.kind) {
            (Stage::Before, Kind::PromptReceived) if is_own => self.start(event, out),
            (Stage::Waiting | Stage::Running, Kind::PromptDropped) if is_own => {
                self.dropped(event, out);
            }
            (Stage::Waiting, Kind::TurnStarted) if is_own => {
                self.stage = Stage::Running;
                self.tell(event, out);
            }
            // What concerns no turn concerns whoever waits for the agent.
            (Stage::Waiting, _) if event.turn.is_none() => self.tell(event, out),
            (Stage::Running, kind) => {
                let is_end = is_own && *kind == Kind::TurnEnded;
                self.tell(event, out);
                if is_end {
                    self.stage = Stage::Over;
                }
            }
            _ => {}
        }
        self.heard.clear();
    }

    /// The end of a run of which the log has none.
    pub(crate) fn conclude(&mut self, out: &mut Vec<Said>) {
        if self.stage == Stage::Over {
            return;
        }
        self.fail("internal", "the log has no end of this run", None, out);
        out.push(self.ended(None, EndStatus::Failed, json!({})));
        self.stage = Stage::Over;
    }

    /// Keeps what later frames say.
    fn note(&mut self, event: &Event) {
        match event.kind {
            Kind::SessionCreated => self.session = event.payload.read().unwrap_or_default(),
            Kind::WorkerStarted => (self.has_worker, self.had_worker) = (true, true),
            Kind::WorkerExited => {
                self.has_worker = false;
                if self.stage == Stage::Running {
                    self.signal = event.payload.read::<Payload>().unwrap_or_default().signal;
                }
            }
            _ => {}
        }
    }

    fn start(&mut self, event: &Event, out: &mut Vec<Said>) {
        let note = RunNote::read(event).unwrap_or_default();
        self.stage = Stage::Waiting;
        self.had_worker = self.has_worker;
        let bin = self.session.command.first().unwrap_or(&self.session.agent);
        let mut start = json!({
            "runId": self.turn,
            "agentId": self.session.agent,
            "bin": bin,
            "protocolVersion": PROTOCOL_VERSION,
            "cwd": self.session.cwd,
            "conversationId": note.conversation_id,
        });
        let given = [
            ("projectId", note.project_id),
            ("model", note.model),
            ("reasoning", note.reasoning),
            ("assistantMessageId", note.assistant_message_id),
        ];
        for (name, value) in given {
            if let Some(value) = value {
                start[name] = json!(value);
            }
        }
        if let Some(mode) = note.permissions {
            start["permissions"] = json!(mode);
        }
        out.push(Said::new("start", &start));
        self.status(UiStatus { label: "initializing".to_owned(), ..UiStatus::default() }, out);
        if let Some(mode) = note.permissions {
            let (label, detail) = ("permissions".to_owned(), Some(settings::told(mode).to_owned()));
            self.status(UiStatus { label, detail, ..UiStatus::default() }, out);
        }
        for warning in note.warnings {
            self.warn(warning, out);
        }
    }

    fn dropped(&mut self, event: &Event, out: &mut Vec<Said>) {
        let reason = event.payload.read::<Payload>().unwrap_or_default().reason;
        let status = match reason.as_str() {
            "interrupted" => {
                let message = "Switchyard ended before this run began";
                self.fail("interrupted", message, Some("send the prompt again"), out);
                EndStatus::Failed
            }
            _ => EndStatus::Canceled,
        };
        out.push(self.ended(None, status, json!({})));
        self.stage = Stage::Over;
    }

    fn tell(&mut self, event: &Event, out: &mut Vec<Said>) {
        for one in std::mem::take(&mut self.heard) {
            match one {
                UiEvent::Start(start) => self.tell_model(start.model, out),
                UiEvent::Agent(AgentUpdate::Status(status)) if status.label == "model" => {
                    self.tell_model(status.model, out);
                }
                UiEvent::Agent(AgentUpdate::Status(status)) => self.status(status, out),
                UiEvent::Agent(update) => out.push(Said::new("agent", &update)),
                UiEvent::Stderr { chunk } => {
                    out.push(Said::new("stderr", &json!({ "chunk": chunk })));
                }
                UiEvent::Error(error) if event.kind == Kind::TurnEnded => {
                    let UiError { message, error } = error;
                    self.fail(&error.code, &message, error.details.as_deref(), out);
                }
                UiEvent::Error(error) => self.warn(error.message, out),
                UiEvent::End(end) => self.end(&end, out),
            }
        }
        self.tell_question(event, out);
    }

    /// The model that the agent uses, in every run once.
    fn tell_model(&mut self, model: Option<String>, out: &mut Vec<Said>) {
        if model.is_some() && model != self.model_told {
            let label = "model".to_owned();
            self.status(UiStatus { label, model, ..UiStatus::default() }, out);
        }
    }

    fn status(&mut self, status: UiStatus, out: &mut Vec<Said>) {
        if status.model.is_some() {
            self.model_told.clone_from(&status.model);
        }
        out.push(Said::new("agent", &AgentUpdate::Status(status)));
    }

    fn warn(&mut self, message: String, out: &mut Vec<Said>) {
        let label = "warning".to_owned();
        self.status(UiStatus { label, detail: Some(message), ..UiStatus::default() }, out);
    }

    /// The front end cannot answer; whoever can does it under `/v1`.
    fn tell_question(&mut self, event: &Event, out: &mut Vec<Said>) {
        let is_question =
            matches!(event.kind, Kind::PermissionRequested | Kind::ElicitationRequested);
        if is_question && event.payload.read::<Payload>().unwrap_or_default().ask {
            let label = "waiting_for_permission".to_owned();
            self.status(UiStatus { label, ..UiStatus::default() }, out);
        }
    }

    fn fail(&mut self, category: &str, message: &str, remedy: Option<&str>, out: &mut Vec<Said>) {
        if std::mem::replace(&mut self.has_error, true) {
            return;
        }
        let mut error = json!({
            "code": codes::of_category(category, self.had_worker),
            "message": message,
            "retryable": codes::is_retryable(category),
        });
        if let Some(remedy) = remedy {
            error["details"] = json!(remedy);
        }
        out.push(Said::new("error", &json!({ "message": message, "error": error })));
    }

    fn end(&mut self, end: &UiEnd, out: &mut Vec<Said>) {
        if end.status == EndStatus::Failed {
            let category = end.failure_category.as_deref().unwrap_or("internal");
            let message = end.failure_detail.as_deref().unwrap_or("the run failed");
            self.fail(category, message, None, out);
        }
        let more = json!({
            "stopReason": end.stop_reason,
            "failureCategory": end.failure_category,
            "failureDetail": end.failure_detail,
        });
        out.push(self.ended(end.code, end.status, more));
    }

    fn ended(&self, code: Option<i32>, status: EndStatus, more: Value) -> Said {
        let code = match status {
            EndStatus::Failed => code.or(Some(1)),
            _ => code,
        };
        let mut end = json!({ "code": code, "status": status });
        let signal = [("signal".to_owned(), self.signal.clone())];
        let more = more.as_object().cloned().unwrap_or_default();
        for (name, value) in signal.into_iter().chain(more) {
            if !value.is_null() {
                end[name] = value;
            }
        }
        Said::new("end", &end)
    }
}

#[cfg(test)]
mod tests;
