//! `codex app-server`: one process for a whole session, JSON-RPC without its version.
//!
//! In: answers, requests and notifications of the server. Out: updates, questions, and the
//! requests of our side. Both sides number their requests, so a line is recognised by its
//! members: a method and an id is a request, a method alone a notification, an id an answer.
//!
//! Always true: every request of the server is answered; messages of other threads (sub-agents)
//! stay out of the answer.

mod handshake;
mod questions;
mod streams;
mod turn;

use std::collections::HashMap;

use serde_json::{Value, json};
use wire::{Fault, codes};

use super::codex::errors;
use super::{
    CliExit, ComposedPrompt, ConversationOptions, Dialect, Model, OptionChange, Outputs,
    PermissionAnswer, StopReason, TokenUsage, TurnOutcome, json, learn_session,
};
use crate::tools;
use crate::update::{NoticeSeverity, SessionUpdate};
use handshake::CodexTurnSettings;
use questions::CodexQuestions;
use streams::CodexStreams;
use turn::CodexTurn;

#[derive(Debug, Default)]
pub(super) struct CodexAppServer {
    n_requests: u64,
    /// Our requests without an answer, by id.
    pending: HashMap<u64, CodexRequest>,
    is_initialized: bool,
    /// The options for the thread, until it is open.
    pending_open: Option<ConversationOptions>,
    /// The reason why the thread could not be opened.
    refusal: Option<Fault>,
    thread: Option<String>,
    model: Option<String>,
    models: Vec<Model>,
    settings: CodexTurnSettings,
    /// A prompt that came before the thread was open.
    pending_prompt: Option<ComposedPrompt>,
    turn: Option<CodexTurn>,
    /// The id of the turn before, to recognise late notifications of it.
    last_turn: Option<String>,
    streams: CodexStreams,
    asks: CodexQuestions,
    /// Tokens of the whole thread, as last reported.
    thread_usage: Option<TokenUsage>,
    last_notice: String,
}

/// A request of ours, by which its answer is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CodexRequest {
    Initialize,
    Start,
    Resume,
    Models { page: u32 },
    Turn,
    Interrupt,
}

impl Dialect for CodexAppServer {
    fn open(&mut self, opening: &ConversationOptions, out: &mut Outputs) {
        self.settings = CodexTurnSettings::default();
        self.settings.options.clone_from(opening);
        self.pending_open = Some(opening.clone());
        (self.thread, self.refusal, self.thread_usage) = (None, None, None);
        if self.is_initialized {
            self.open_thread(out);
        } else {
            self.initialize(out);
        }
    }

    fn prompt(&mut self, prompt: &ComposedPrompt, out: &mut Outputs) {
        if self.turn.is_some() {
            return;
        }
        self.begin_turn(None);
        if let Some(refusal) = self.refusal.clone() {
            self.end_turn(TurnOutcome::Failed(refusal), out);
        } else if self.thread.is_some() {
            self.start_turn(prompt, out);
        } else {
            self.pending_prompt = Some(prompt.clone());
        }
    }

    fn line(&mut self, line: &str, out: &mut Outputs) {
        let message = json::parse_or_null(line);
        let (method, id) = (message["method"].as_str(), &message["id"]);
        let is_known = match (method, id.is_null()) {
            (Some(method), true) => self.notified(method, &message["params"], out),
            (Some(method), false) => self.requested(method, id, &message["params"], out),
            (None, false) => self.answered(id, &message, out),
            (None, true) => false,
        };
        if !is_known {
            out.unknown(line);
        }
    }

    fn oversized_line(&mut self, head: &Value, failure: Fault, out: &mut Outputs) {
        let (method, id) = (head["method"].as_str(), &head["id"]);
        match (method, id.is_null()) {
            (Some("turn/completed"), true) => self.skipped_end(&head["params"], failure, out),
            (Some(_), true) => {}
            (Some(_), false) => {
                refuse(id, &failure.message, out);
            }
            (None, false) => {
                if let Some(what) = self.take_request(id) {
                    self.settle(what, Err(failure), out);
                }
            }
            (None, true) if self.pending_open.is_some() => self.refuse(failure, out),
            (None, true) => self.end_turn(TurnOutcome::Failed(failure), out),
        }
    }

    fn answer(&mut self, ask: &str, answer: &PermissionAnswer, out: &mut Outputs) {
        self.asks.answer(ask, answer, out);
    }

    fn interrupt(&mut self, out: &mut Outputs) -> bool {
        if let Some(turn) = &mut self.turn {
            turn.is_cancelling = true;
            self.send_interrupt(out);
        }
        true
    }

    fn set(&mut self, change: &OptionChange, _out: &mut Outputs) -> bool {
        self.settings.take(change);
        true
    }

    fn end(&mut self, exit: &CliExit, out: &mut Outputs) {
        let Some(turn) = &mut self.turn else { return self.asks.withdraw_all(None, out) };
        let ending = match turn.error.take() {
            _ if exit.is_stopped_by_us => TurnOutcome::Stopped(StopReason::Cancelled),
            Some(ending) => ending,
            None => TurnOutcome::Failed(errors::died(exit)),
        };
        self.end_turn(ending, out);
    }
}

impl CodexAppServer {
    /// Sends a request to the server.
    fn request(&mut self, what: CodexRequest, method: &str, params: Value, out: &mut Outputs) {
        self.n_requests += 1;
        self.pending.insert(self.n_requests, what);
        let line = json!({ "id": self.n_requests, "method": method, "params": params });
        out.write(&line);
    }

    fn answered(&mut self, id: &Value, message: &Value, out: &mut Outputs) -> bool {
        let Some(what) = self.take_request(id) else {
            return self.recorded_answer(&message["result"], out);
        };
        let outcome = match &message["error"] {
            Value::Null => Ok(&message["result"]),
            error => {
                let said = error["message"].as_str().unwrap_or("Codex refused without a reason");
                Err(errors::failure(said, &error["data"]["codexErrorInfo"]))
            }
        };
        self.settle(what, outcome, out);
        true
    }

    /// Takes our request with this id.
    fn take_request(&mut self, id: &Value) -> Option<CodexRequest> {
        id.as_u64().and_then(|id| self.pending.remove(&id))
    }

    fn settle(&mut self, what: CodexRequest, outcome: Result<&Value, Fault>, out: &mut Outputs) {
        match (what, outcome) {
            (CodexRequest::Initialize, Ok(_)) => self.initialized(out),
            (CodexRequest::Initialize, Err(failure)) => self.refuse(failure, out),
            (CodexRequest::Start, Ok(result)) => {
                self.opened(result, Some(TokenUsage::default()), out);
            }
            (CodexRequest::Resume, Ok(result)) => self.opened(result, self.thread_usage, out),
            (CodexRequest::Start, Err(failure)) => self.refuse(failure, out),
            (CodexRequest::Resume, Err(failure)) => {
                self.refuse(handshake::resume_failure(failure), out);
            }
            (CodexRequest::Models { page }, Ok(result)) => self.listed(result, page, out),
            // The list is a convenience: without it the user names a model.
            (CodexRequest::Models { .. }, Err(_)) => {}
            (CodexRequest::Turn, Ok(result)) => self.turn_accepted(&result["turn"]["id"], out),
            (CodexRequest::Turn, Err(failure)) => self.end_turn(TurnOutcome::Failed(failure), out),
            (CodexRequest::Interrupt, Ok(_)) => {}
            (CodexRequest::Interrupt, Err(_)) => self.interrupt_refused(),
        }
    }

    /// Reads an answer to a request that is not ours, in a recording.
    fn recorded_answer(&mut self, result: &Value, out: &mut Outputs) -> bool {
        if let Some(thread) = result["thread"]["id"].as_str() {
            learn_session(&mut self.thread, thread, out);
            return true;
        }
        // A turn has a notification of its own; handshake and models are not shown.
        [&result["turn"]["id"], &result["userAgent"], &result["data"][0]["model"]]
            .iter()
            .any(|told| told.is_string())
    }

    fn requested(&mut self, method: &str, id: &Value, params: &Value, out: &mut Outputs) -> bool {
        if self.asks.handle_request(method, id, params, &self.streams, out) {
            return true;
        }
        refuse(id, &format!("{method} is not supported"), out);
        false
    }

    fn notified(&mut self, method: &str, params: &Value, out: &mut Outputs) -> bool {
        if method == "serverRequest/resolved" {
            self.asks.resolved(&params["requestId"], out);
            return true;
        }
        if method == "thread/started" {
            // A thread without a parent is ours, not a sub-agent's.
            if params["thread"]["parentThreadId"].is_null() && self.thread.is_none() {
                learn_session(
                    &mut self.thread,
                    params["thread"]["id"].as_str().unwrap_or_default(),
                    out,
                );
            }
            return true;
        }
        if let Some(thread) = params["threadId"].as_str() {
            if self.thread.is_none() {
                learn_session(&mut self.thread, thread, out);
            }
            if self.thread.as_deref() != Some(thread) {
                return true;
            }
        }
        self.about_turn(method, params, out)
            || self.about_thread(method, params, out)
            || is_ignored(method)
    }

    /// Handles notifications about the thread as a whole, or about the server.
    fn about_thread(&mut self, method: &str, params: &Value, out: &mut Outputs) -> bool {
        let text = |name: &str| params[name].as_str().unwrap_or_default().to_owned();
        match method {
            "warning" | "guardianWarning" => {
                self.notice(NoticeSeverity::Warning, text("message"), None, out);
            }
            "deprecationNotice" | "configWarning" => {
                let details = params["details"].as_str().map(str::to_owned);
                self.notice(NoticeSeverity::Warning, text("summary"), details, out);
            }
            "model/rerouted" => {
                let title = format!("{} answers instead of {}", text("toModel"), text("fromModel"));
                self.notice(NoticeSeverity::Warning, title, None, out);
            }
            "modelProvider/authRecoveryStarted" | "modelProvider/authRecoveryCompleted" => {
                self.notice(NoticeSeverity::Info, text("message"), None, out);
            }
            "mcpServer/startupStatus/updated" => {
                if params["status"] == "failed" {
                    let title = format!("MCP server {} did not start", text("name"));
                    let error = params["error"].as_str().map(str::to_owned);
                    self.notice(NoticeSeverity::Warning, title, error, out);
                }
            }
            "thread/name/updated" => {
                let title = params["threadName"].as_str().map(str::to_owned);
                out.update(SessionUpdate::SessionInfoUpdate { title, meta: None });
            }
            _ => return false,
        }
        true
    }

    /// Emits a notice, not twice in a row: without a network Codex repeats the same for ever.
    fn notice(
        &mut self,
        severity: NoticeSeverity,
        title: String,
        description: Option<String>,
        out: &mut Outputs,
    ) {
        let said = format!("{title}\n{}", description.as_deref().unwrap_or_default());
        if self.last_notice != said {
            self.last_notice = said;
            out.update(tools::long_notice(severity, &title, description));
        }
    }
}

/// Refuses a request of the server, which goes on without the answer.
fn refuse(id: &Value, why: &str, out: &mut Outputs) {
    let error = json!({ "code": codes::METHOD_NOT_FOUND, "message": why });
    out.write(&json!({ "id": id, "error": error }));
}

/// Whether a notification is known and ignored: others have the same, or it is about other uses
/// of the server.
fn is_ignored(method: &str) -> bool {
    const GROUPS: [&str; 15] = [
        "account/",
        "app/",
        "command/exec/",
        "externalAgentConfig/",
        "fs/",
        "fuzzyFileSearch/",
        "hook/",
        "item/autoApprovalReview/",
        "mcpServer/",
        "process/",
        "project/",
        "remoteControl/",
        "thread/realtime/",
        "windows/",
        "windowsSandbox/",
    ];
    const NAMES: [&str; 25] = [
        "autoApprovalReview/strictReviewRequired",
        "item/commandExecution/terminalInteraction",
        "item/reasoning/summaryPartAdded",
        "model/safetyBuffering/updated",
        "model/verification",
        "skills/changed",
        "thread/archived",
        "thread/attachment/updated",
        "thread/closed",
        "thread/deleted",
        "thread/environment/connected",
        "thread/environment/disconnected",
        "thread/goal/cleared",
        "thread/goal/updated",
        "thread/prediction/updated",
        "thread/project/updated",
        "thread/queue/changed",
        "thread/readState/changed",
        "thread/reverted",
        "thread/settings/updated",
        "thread/status/changed",
        "thread/unarchived",
        "turn/diff/updated",
        "turn/moderationMetadata",
        "rawResponseItem/completed",
    ];
    NAMES.contains(&method) || GROUPS.iter().any(|group| method.starts_with(group))
}

#[cfg(test)]
mod tests;
