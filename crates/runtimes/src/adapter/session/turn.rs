//! One turn with a CLI: its start, the dialect's output in it, cancelling, and its end.

use std::time::Duration;

use bus::StopLadder;
use serde_json::{Value, json};
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;
use wire::{Category, Fault, Json, RpcError, RpcId};

use super::AdapterSession;
use crate::adapter::process::PromptInput;
use crate::compose::{self, ComposeError, PromptContext};
use crate::definition::{PromptChannel, ResumeStyle};
use crate::dialect::{
    ComposedPrompt, DialectOutput, PermissionAnswer, PermissionOptionKind, PermissionRequest,
    StopReason, TurnEnd, TurnOutcome,
};
use crate::scratch::write_private;
use crate::update::{NoticeSeverity, SessionUpdate};

/// From asking a CLI to interrupt its turn to stopping the process. With the ladder below it
/// stays within the grace that hosts give to a cancel.
const INTERRUPT_GRACE: Duration = Duration::from_secs(5);
/// A CLI that has answered gets this long to leave: some save their session then.
const EXIT_GRACE: Duration = Duration::from_secs(10);
/// Questions that may be open at once; what is asked beyond them is refused.
const MAX_ASKS: usize = 256;
/// The stop ladder for CLIs that can only be stopped by a signal.
const SIGNAL_LADDER: StopLadder =
    StopLadder { after_eof: Duration::from_millis(50), after_term: Duration::from_secs(2) };

#[derive(Debug)]
pub(super) struct AdapterTurn {
    request: RpcId,
    is_cancelling: bool,
    /// The conversation that was to be resumed is not there.
    lost: Option<Fault>,
}

impl AdapterSession {
    /// Sends a prompt to the CLI.
    pub(super) async fn begin(&mut self, request: RpcId, blocks: &[Value]) -> Result<(), Fault> {
        if self.turn.is_some() {
            return Err(Fault::new(Category::BadInput, "a turn is running already"));
        }
        if self.has_history && !self.can_resume() {
            let message = "this CLI does not keep conversations from one turn to the next";
            return Err(Fault::new(Category::SessionLost, message));
        }
        let prompt = self.compose(blocks)?;
        if let Some(why) = self.restart_reason.take().filter(|_| self.process.is_some()) {
            // A process without a prompt so far is replaced without a notice.
            if self.process.as_ref().is_some_and(|process| process.is_used) {
                let title =
                    format!("{why}: the CLI is started again and goes on with the conversation");
                self.update(SessionUpdate::notice(NoticeSeverity::Info, title)).await;
            }
            self.drop_process().await;
        } else if self.runtime.form.prompt != PromptChannel::Dialect {
            self.drop_process().await;
        }
        self.turn = Some(AdapterTurn { request, is_cancelling: false, lost: None });
        if self.process.is_none()
            && let Err(failure) = self.start_for(&prompt.text).await
        {
            self.turn = None;
            return Err(failure);
        }
        if let Some(process) = &mut self.process {
            process.is_used = true;
            process.dialect.prompt(&prompt, &mut self.pending_outputs);
        }
        self.handle_pending_outputs().await;
        Ok(())
    }

    /// Whether the next process, or the one that runs, knows the conversation so far.
    fn can_resume(&self) -> bool {
        match self.runtime.form.resume.style {
            ResumeStyle::None => {
                self.runtime.form.prompt == PromptChannel::Dialect && self.process.is_some()
            }
            ResumeStyle::Told => self.cli_session_id.is_some(),
            ResumeStyle::Chosen | ResumeStyle::Protocol => true,
        }
    }

    fn compose(&mut self, blocks: &[Value]) -> Result<ComposedPrompt, Fault> {
        let images = self.runtime.form.images;
        let has_image = blocks.iter().any(|block| block["type"] == "image");
        let image_dir = match has_image {
            true => Some(self.scratch_dir()?),
            false => None,
        };
        let chosen = &self.options.chosen;
        let roots = std::iter::once(&chosen.cwd).chain(&chosen.directories);
        let setting = PromptContext {
            cwd: &chosen.cwd,
            roots: roots.cloned().collect(),
            images,
            image_dir: image_dir.as_deref(),
        };
        compose::compose(blocks, &setting).map_err(|error| {
            let category = match error {
                ComposeError::TooLarge { .. } => Category::PromptTooLarge,
                ComposeError::Image { .. } => Category::Internal,
                _ => Category::BadInput,
            };
            Fault::new(category, error.to_string())
        })
    }

    /// Starts a process that gets this prompt, or reads it from the dialect.
    async fn start_for(&mut self, prompt: &str) -> Result<(), Fault> {
        let input = match self.runtime.form.prompt {
            PromptChannel::Dialect | PromptChannel::Acp => PromptInput::Lines,
            PromptChannel::Stdin => PromptInput::Stdin(prompt.to_owned()),
            PromptChannel::Argv => PromptInput::Argument(prompt.to_owned()),
            PromptChannel::File => {
                let path = self.scratch_dir()?.join("prompt.md");
                write_private(&path, prompt.as_bytes()).map_err(|error| {
                    let message = format!("cannot write {}: {error}", path.display());
                    Fault::new(Category::Internal, message)
                })?;
                PromptInput::File(path)
            }
        };
        self.start_process(input).await
    }

    /// Handles the output of one read, and the end of the process.
    pub(super) async fn handle_outputs(&mut self, is_over: bool) {
        self.handle_pending_outputs().await;
        if is_over {
            self.process = None;
            self.stop_at = None;
            if let Some(turn) = &self.turn {
                // Every dialect ends its turn when its process ends; a turn must not hang if one
                // does not.
                let ending = match turn.is_cancelling {
                    true => TurnOutcome::Stopped(StopReason::Cancelled),
                    false => TurnOutcome::Failed(Fault::new(
                        Category::ProcessExit,
                        "the CLI ended without ending its turn",
                    )),
                };
                self.end_turn(TurnEnd { ending, usage: None }).await;
            }
        }
    }

    /// Handles the queued outputs of the dialect, and those that follow from them.
    pub(super) async fn handle_pending_outputs(&mut self) {
        while !self.pending_outputs.is_empty() {
            for said in std::mem::take(&mut *self.pending_outputs) {
                self.handle_output(said).await;
            }
        }
    }

    async fn handle_output(&mut self, said: DialectOutput) {
        let is_lost = self.turn.as_ref().is_some_and(|turn| turn.lost.is_some());
        match said {
            // From a new, empty conversation; the host will send it the history of this one.
            DialectOutput::Update(_)
            | DialectOutput::SessionId(_)
            | DialectOutput::PermissionRequest(_)
                if is_lost => {}
            DialectOutput::Update(update) => self.update(update).await,
            DialectOutput::SessionId(id) => self.learn_id(id).await,
            DialectOutput::ConversationOpened(opened) => {
                let before = self.options.offered(&self.runtime);
                if !opened.models.is_empty() {
                    self.options.models = opened.models;
                }
                if opened.model.is_some() {
                    self.options.current = opened.model;
                }
                let config_options = self.options.offered(&self.runtime);
                if config_options != before {
                    self.update(SessionUpdate::ConfigOptionUpdate { config_options }).await;
                }
                if let Some(id) = opened.session {
                    self.learn_id(id).await;
                }
            }
            DialectOutput::ConversationLost(failure) => {
                if let Some(turn) = &mut self.turn {
                    turn.lost = Some(failure);
                }
            }
            DialectOutput::PermissionRequest(ask) => self.ask(ask),
            DialectOutput::RequestWithdrawn(ask) => drop(self.asks.remove(&ask)),
            DialectOutput::TurnEnded(end) => self.end_turn(end).await,
            DialectOutput::StdinLine(line) => self.write(line),
            DialectOutput::UnknownLine(line) => {
                let params = json!({ "sessionId": self.id, "line": line });
                let _ = self.connection.notify_in_turn("_switchyard/raw", &Json::of(&params)).await;
            }
        }
    }

    async fn update(&mut self, mut update: SessionUpdate) {
        if let SessionUpdate::ToolCall(call) | SessionUpdate::ToolCallUpdate(call) = &mut update {
            call.make_absolute(&self.options.chosen.cwd);
        }
        let is_taken = match update {
            SessionUpdate::Notice { .. } => self.host_capabilities.takes_notices,
            SessionUpdate::CompactionUpdate { .. } => self.host_capabilities.takes_compaction,
            _ => true,
        };
        let params = Json::of(&json!({ "sessionId": self.id, "update": update }));
        // A host that does not know this update still logs it under our own method.
        let method = if is_taken { "session/update" } else { "_switchyard/update" };
        let _ = self.connection.notify_in_turn(method, &params).await;
    }

    /// Keeps the CLI's own id of the conversation, by which a later process resumes.
    async fn learn_id(&mut self, id: String) {
        if let Some(wanted) = self.unconfirmed_resume.take()
            && wanted != id
        {
            // It accepted the resume and opened another conversation: nothing was answered yet,
            // so the host, which has the history, can send it.
            let message = format!("the CLI did not go on with conversation {wanted}");
            if let Some(turn) = &mut self.turn {
                turn.lost = Some(Fault::new(Category::SessionLost, message));
                self.stop_at = Some(Instant::now());
            }
            return;
        }
        if self.cli_session_id.as_ref() == Some(&id) {
            return;
        }
        self.cli_session_id = Some(id.clone());
        if self.runtime.form.resume.style == ResumeStyle::None {
            return;
        }
        let meta = json!({ "switchyard": { "resumeId": id } });
        self.update(SessionUpdate::SessionInfoUpdate { title: None, meta: Some(meta) }).await;
    }

    /// Puts a question of the CLI to the host.
    fn ask(&mut self, mut ask: PermissionRequest) {
        ask.call.make_absolute(&self.options.chosen.cwd);
        let id = ask.id.clone();
        if self.turn.as_ref().is_none_or(|turn| turn.is_cancelling) {
            return self.answered(&id, &PermissionAnswer::Cancelled);
        }
        if self.asks.len() >= MAX_ASKS {
            return self.answered(&id, &rejection(&ask));
        }
        let params = Json::of(&json!({
            "sessionId": self.id,
            "toolCall": ask.call,
            "options": ask.options,
        }));
        let (connection, answering) = (self.connection.clone(), self.answer_sender.clone());
        let task = task::spawn(async move {
            let answer = connection.call("session/request_permission", &params).await;
            let answer = match answer {
                Ok(result) => read_answer(&result),
                // A host that cannot answer has not allowed it.
                Err(_) => rejection(&ask),
            };
            let _ = answering.send((ask.id, answer)).await;
        });
        self.asks.insert(id, AbortOnDropHandle::new(task));
    }

    pub(super) fn answered(&mut self, ask: &str, answer: &PermissionAnswer) {
        self.asks.remove(ask);
        if let Some(process) = &mut self.process {
            process.dialect.answer(ask, answer, &mut self.pending_outputs);
        }
    }

    pub(super) fn cancel(&mut self) {
        let Some(turn) = &mut self.turn else { return };
        if std::mem::replace(&mut turn.is_cancelling, true) {
            return;
        }
        for (ask, _) in std::mem::take(&mut self.asks) {
            self.answered(&ask, &PermissionAnswer::Cancelled);
        }
        let out = &mut self.pending_outputs;
        let is_told = self.process.as_mut().is_some_and(|process| process.dialect.interrupt(out));
        let grace = if is_told { INTERRUPT_GRACE } else { Duration::ZERO };
        self.stop_at = Some(Instant::now() + grace);
    }

    /// Stops the process, since `stop_at` has passed.
    pub(super) fn force_stop(&mut self) {
        self.stop_at = None;
        if let Some(process) = &mut self.process {
            process.stop(SIGNAL_LADDER);
        }
    }

    /// Ends a process that is in the way of the next turn.
    async fn drop_process(&mut self) {
        let Some(process) = &mut self.process else { return };
        process.stop(StopLadder::default());
        loop {
            let Some(process) = &mut self.process else { return };
            let is_over = process.next(&mut self.pending_outputs).await;
            self.handle_outputs(is_over).await;
        }
    }

    async fn end_turn(&mut self, end: TurnEnd) {
        let Some(turn) = self.turn.take() else { return };
        self.asks.clear();
        let ending = match (turn.is_cancelling, turn.lost, end.ending) {
            // The user cancelled it, whatever the CLI reports.
            (true, ..) => TurnOutcome::Stopped(StopReason::Cancelled),
            (false, Some(lost), _) => {
                if lost.category == Category::SessionLost {
                    // The next process must not try the same id again.
                    (self.cli_session_id, self.has_history) = (None, false);
                }
                TurnOutcome::Failed(lost)
            }
            (false, None, ending) => ending,
        };
        let outcome = match ending {
            TurnOutcome::Stopped(reason) => {
                self.has_history = true;
                let mut result = json!({ "stopReason": reason });
                if let Some(usage) = end.usage {
                    result["usage"] = json!(usage);
                }
                Ok(Json::of(&result))
            }
            TurnOutcome::Failed(failure) => {
                // Late output of this process could end the next turn.
                if failure.category == Category::Protocol {
                    self.restart_reason = Some("protocol_error".to_owned());
                }
                self.has_history |= failure.category != Category::SessionLost;
                Err(RpcError::from(&self.with_remedy(failure)))
            }
        };
        let _ = self.connection.respond(&turn.request, outcome).await;
        self.stop_at = match self.runtime.form.prompt {
            PromptChannel::Dialect => None,
            _ => Some(Instant::now() + EXIT_GRACE),
        };
    }
}

fn read_answer(result: &Json) -> PermissionAnswer {
    let result: Value = result.read().unwrap_or_default();
    match result["outcome"]["optionId"].as_str() {
        Some(option) if result["outcome"]["outcome"] == "selected" => {
            PermissionAnswer::Chosen(option.to_owned())
        }
        _ => PermissionAnswer::Cancelled,
    }
}

fn rejection(ask: &PermissionRequest) -> PermissionAnswer {
    let reject = ask.options.iter().find(|option| option.kind == PermissionOptionKind::RejectOnce);
    reject.map_or(PermissionAnswer::Cancelled, |option| {
        PermissionAnswer::Chosen(option.option_id.clone())
    })
}
