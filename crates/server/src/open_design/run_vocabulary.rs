//! One run in the vocabulary of Open Design's stream.
//!
//! In: the session's log from its first event on. Out: what belongs to one turn: `start`
//! when its prompt is received, `agent`, `stderr` and at most one `error` while it goes on,
//! and one `end`. No I/O and no clock, so a stream that was cut goes on as if it had not
//! been.
//!
//! The front end takes an `error` for the end of the run. So only what ended it is one;
//! other mishaps are a `status(warning)`.

use projection::{
    Frame, LogReader, UiAgentUpdate, UiEnd, UiEndStatus, UiError, UiErrorDetail, UiEvent,
    UiProjection, UiStatus,
};
use serde_json::{Value, json};
use wire::event::{DropReason, PromptDropped, PromptReceived, SessionCreated};
use wire::{Category, Event, Fault, Kind, OwnEvent, TurnId};

use super::conversation::RunNote;
use super::run_index::never_began;
use super::settings;
use crate::problem::kinds::run_code;

const PROTOCOL_VERSION: u32 = 1;

/// Whether the same run can succeed when it is tried again.
fn is_retryable(category: Category) -> bool {
    use Category::{Interrupted, RateLimit, Timeout, UpstreamUnavailable};
    matches!(category, RateLimit | UpstreamUnavailable | Timeout | Interrupted)
}

pub(crate) fn is_end(frame: &Frame) -> bool {
    frame.name == Some("end")
}

#[derive(Debug)]
pub(crate) struct RunVocabulary {
    turn: TurnId,
    ui: LogReader<UiProjection>,
    session: SessionCreated,
    stage: RunStage,
    /// An agent runs now, and one ran at some time in this run.
    has_worker: bool,
    had_worker: bool,
    model_told: Option<String>,
    has_error: bool,
    signal: Option<i32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RunStage {
    Before,
    /// Its prompt is in the log; its turn has not begun.
    Waiting,
    Running,
    Over,
}

impl RunVocabulary {
    pub(crate) fn new(turn: TurnId) -> Self {
        Self {
            turn,
            ui: LogReader::default(),
            session: SessionCreated::default(),
            stage: RunStage::Before,
            has_worker: false,
            had_worker: false,
            model_told: None,
            has_error: false,
            signal: None,
        }
    }

    pub(crate) fn read(&mut self, event: &Event) -> Vec<Frame> {
        let mut out = Vec::new();
        let heard = self.ui.read(event);
        let own = event.own();
        self.note(own.as_ref());
        let is_own = event.turn == Some(self.turn);
        match (self.stage, own) {
            (RunStage::Before, Some(OwnEvent::PromptReceived(received))) if is_own => {
                self.start(&received, &mut out);
            }
            (RunStage::Waiting | RunStage::Running, Some(OwnEvent::PromptDropped(dropped)))
                if is_own =>
            {
                self.dropped(dropped, &mut out);
            }
            (RunStage::Waiting, Some(OwnEvent::TurnStarted(_))) if is_own => {
                self.stage = RunStage::Running;
                self.tell(heard, event, &mut out);
            }
            // Events without a turn concern every run that waits for the agent.
            (RunStage::Waiting, _) if event.turn.is_none() => self.tell(heard, event, &mut out),
            (RunStage::Running, _) => {
                self.tell(heard, event, &mut out);
                if is_own && event.kind == Kind::TurnEnded {
                    self.stage = RunStage::Over;
                }
            }
            _ => {}
        }
        out
    }

    /// Whether its turn has not begun.
    pub(crate) fn is_waiting(&self) -> bool {
        matches!(self.stage, RunStage::Before | RunStage::Waiting)
    }

    /// Frames for the end of a run of which the log has none, and `why` it has none.
    pub(crate) fn conclude(&mut self, why: Option<&str>) -> Vec<Frame> {
        let mut out = Vec::new();
        if self.stage != RunStage::Over {
            let why = why.unwrap_or("the log has no end of this run");
            self.fail(&Fault::new(Category::Internal, why), &mut out);
            out.push(self.ended(None, UiEndStatus::Failed, json!({})));
            self.stage = RunStage::Over;
        }
        out
    }

    /// Notes what later frames need.
    fn note(&mut self, own: Option<&OwnEvent<'_>>) {
        match own {
            Some(OwnEvent::SessionCreated(created)) => self.session = created.clone(),
            Some(OwnEvent::WorkerStarted(_)) => (self.has_worker, self.had_worker) = (true, true),
            Some(OwnEvent::WorkerExited(exited)) => {
                self.has_worker = false;
                if self.stage == RunStage::Running {
                    self.signal = exited.signal;
                }
            }
            _ => {}
        }
    }

    fn start(&mut self, received: &PromptReceived<'_>, out: &mut Vec<Frame>) {
        let note = RunNote::read(received).unwrap_or_default();
        self.stage = RunStage::Waiting;
        self.had_worker = self.has_worker;
        let bin = self.session.command.first().unwrap_or(&self.session.agent);
        let mut start = json!({
            "runId": self.turn,
            "agentId": self.session.agent,
            "bin": bin,
            "protocolVersion": PROTOCOL_VERSION,
            "cwd": self.session.cwd,
            "conversationId": note.conversation_id,
            "projectId": note.project_id,
            "model": note.model,
            "reasoning": note.reasoning,
            "assistantMessageId": note.assistant_message_id,
            "permissions": note.permissions,
        });
        if let Value::Object(members) = &mut start {
            members.retain(|_, value| !value.is_null());
        }
        out.push(Frame::named("start", &start));
        self.status(UiStatus { label: "initializing".to_owned(), ..UiStatus::default() }, out);
        if let Some(mode) = note.permissions {
            let (label, detail) =
                ("permissions".to_owned(), Some(settings::mode_description(mode).to_owned()));
            self.status(UiStatus { label, detail, ..UiStatus::default() }, out);
        }
        for warning in note.warnings {
            self.warn(warning, out);
        }
    }

    fn dropped(&mut self, dropped: PromptDropped, out: &mut Vec<Frame>) {
        let status = match dropped.reason {
            DropReason::Interrupted => {
                self.fail(&never_began(), out);
                UiEndStatus::Failed
            }
            _ => UiEndStatus::Canceled,
        };
        out.push(self.ended(None, status, json!({})));
        self.stage = RunStage::Over;
    }

    fn tell(&mut self, heard: Vec<UiEvent>, event: &Event, out: &mut Vec<Frame>) {
        for one in heard {
            match one {
                UiEvent::Start(start) => self.tell_model(start.model, out),
                UiEvent::Agent(UiAgentUpdate::Status(status)) if status.label == "model" => {
                    self.tell_model(status.model, out);
                }
                UiEvent::Agent(UiAgentUpdate::Status(status)) => self.status(status, out),
                UiEvent::Agent(update) => out.push(Frame::named("agent", &update)),
                UiEvent::Stderr { chunk } => {
                    out.push(Frame::named("stderr", &json!({ "chunk": chunk })));
                }
                UiEvent::Error(UiError { message, error }) if event.kind == Kind::TurnEnded => {
                    let UiErrorDetail { code: category, details: remedy, .. } = error;
                    self.fail(&Fault { category, message, remedy }, out);
                }
                UiEvent::Error(error) => self.warn(error.message, out),
                UiEvent::End(end) => self.end(&end, out),
            }
        }
        // The front end cannot answer; whoever can does it under `/v1`.
        if event.question_for_person().is_some() {
            let label = "waiting_for_permission".to_owned();
            self.status(UiStatus { label, ..UiStatus::default() }, out);
        }
    }

    /// Writes the model that the agent uses, once in every run.
    fn tell_model(&mut self, model: Option<String>, out: &mut Vec<Frame>) {
        if model.is_some() && model != self.model_told {
            let label = "model".to_owned();
            self.status(UiStatus { label, model, ..UiStatus::default() }, out);
        }
    }

    fn status(&mut self, status: UiStatus, out: &mut Vec<Frame>) {
        if status.model.is_some() {
            self.model_told.clone_from(&status.model);
        }
        out.push(Frame::named("agent", &UiAgentUpdate::Status(status)));
    }

    fn warn(&mut self, message: String, out: &mut Vec<Frame>) {
        let label = "warning".to_owned();
        self.status(UiStatus { label, detail: Some(message), ..UiStatus::default() }, out);
    }

    fn fail(&mut self, fault: &Fault, out: &mut Vec<Frame>) {
        if std::mem::replace(&mut self.has_error, true) {
            return;
        }
        let Fault { category, message, remedy } = fault;
        let mut error = json!({
            "code": run_code(*category, self.had_worker),
            "message": message,
            "retryable": is_retryable(*category),
        });
        if let Some(remedy) = remedy {
            error["details"] = json!(remedy);
        }
        out.push(Frame::named("error", &json!({ "message": message, "error": error })));
    }

    fn end(&mut self, end: &UiEnd, out: &mut Vec<Frame>) {
        if end.status == UiEndStatus::Failed {
            let message = end.failure_detail.as_deref().unwrap_or("the run failed");
            self.fail(&Fault::new(end.failure_category.unwrap_or_default(), message), out);
        }
        let more = json!({
            "stopReason": end.stop_reason,
            "failureCategory": end.failure_category,
            "failureDetail": end.failure_detail,
        });
        out.push(self.ended(end.code, end.status, more));
    }

    fn ended(&self, code: Option<i32>, status: UiEndStatus, more: Value) -> Frame {
        let code = match status {
            UiEndStatus::Failed => code.or(Some(1)),
            _ => code,
        };
        let mut end = json!({ "code": code, "status": status });
        let signal = [("signal".to_owned(), json!(self.signal))];
        let more = more.as_object().cloned().unwrap_or_default();
        for (name, value) in signal.into_iter().chain(more) {
            if !value.is_null() {
                end[name] = value;
            }
        }
        Frame::named("end", &end)
    }
}

#[cfg(test)]
mod tests;
