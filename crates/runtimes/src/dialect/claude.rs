//! Claude Code's `stream-json`, and the CLIs that took it over: Qwen Code, Amp,
//! `CodeBuddy`.
//!
//! In: one JSON object a line, with or without partial messages. Out: ACP. A process whose
//! conversation we open gets prompts, permissions and interrupts over stdin and lives as long as
//! its session; one that only prints is understood just as well.
//!
//! Always true: a turn ends once, at its `result` or with the process; text of sub-agents
//! never mixes with the answer: it is live content of the call that started them, and their tool
//! calls are calls of their own with `_meta.switchyard.parentToolCallId`.

mod control_channel;
mod questions;
mod stream;
mod system_lines;
mod todos;
mod tool_calls;
mod turn_outcome;
mod usage;

use serde_json::Value;
use wire::{Category, Fault};

use self::control_channel::ControlChannel;
use self::questions::ClaudeQuestions;
use self::stream::ClaudeMessageStream;
use self::system_lines::Compactions;
use self::turn_outcome::ClaudeTurnOutcome;
use self::usage::UsageCounter;
use super::{
    CliExit, ComposedPrompt, ConversationOptions, Dialect, DialectOutput, OptionChange, Outputs,
    PermissionAnswer, StopReason, TokenUsage, TurnOutcome, json, learn_session, stderr,
};
use crate::update::NoticeSeverity;

#[derive(Debug, Default)]
pub(super) struct Claude {
    turn: ClaudeTurn,
    /// Whether prompts come from us; then output without one is not a turn.
    is_driven: bool,
    has_had_turn: bool,
    is_lost: bool,
    session: Option<String>,
    stream: ClaudeMessageStream,
    usage: UsageCounter,
    control: ControlChannel,
    asks: ClaudeQuestions,
    compactions: Compactions,
}

/// The state of the turn that runs, or of the last one.
#[derive(Debug, Default)]
struct ClaudeTurn {
    is_running: bool,
    is_interrupted: bool,
    /// An error that the CLI put into a message instead of an answer.
    error: Option<Fault>,
    /// The model's last `stop_reason`.
    stop_reason: Option<String>,
    /// The end in a `result` line that was cut off, because the CLI exited before it was written.
    cut: Option<ClaudeTurnOutcome>,
}

/// The CLI whose `stream-json` it is, where that matters.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum StreamJsonFlavour {
    #[default]
    Claude,
    Qwen,
}

impl Dialect for Claude {
    fn open(&mut self, opening: &ConversationOptions, out: &mut Outputs) {
        if opening.resume.is_none() {
            // The conversation is new.
            self.usage.before = Some(TokenUsage::default());
        }
        self.control.open(opening, out);
    }

    fn prompt(&mut self, prompt: &ComposedPrompt, out: &mut Outputs) {
        self.is_driven = true;
        self.begin();
        self.control.prompt(prompt, out);
    }

    fn line(&mut self, line: &str, out: &mut Outputs) {
        match json::parse(line) {
            Ok(Value::Array(all)) if all.iter().all(Value::is_object) => {
                // `--output-format json` prints all lines at once, as one array.
                for one in &all {
                    self.object(one, &one.to_string(), out);
                }
            }
            Ok(value) if value.is_object() => self.object(&value, line, out),
            Ok(_) => out.unknown(line),
            Err(_) => match turn_outcome::of_cut(line) {
                // It was not cut by the end of the process, and no other end will come.
                Some(verdict) if self.turn.is_running && self.control.is_listening => {
                    self.finish(verdict, &Value::Null, out);
                }
                Some(verdict) if self.turn.is_running => self.turn.cut = Some(verdict),
                _ => out.unknown(line),
            },
        }
    }

    fn oversized_line(&mut self, head: &Value, failure: Fault, out: &mut Outputs) {
        match head["type"].as_str() {
            Some("result") => self.skipped_result(head, failure, out),
            Some("control_request") if head["request_id"].is_string() => {
                control_channel::refuse(head, out);
            }
            Some("control_response") => {
                if self.control.is_initializing() {
                    self.end_refused(failure, out);
                }
            }
            Some("control_request") | None => self.fail(failure, out),
            Some(_) => {}
        }
    }

    fn answer(&mut self, ask: &str, answer: &PermissionAnswer, out: &mut Outputs) {
        self.asks.answer(ask, answer, out);
    }

    fn interrupt(&mut self, out: &mut Outputs) -> bool {
        if !self.control.is_listening {
            return false;
        }
        // An interrupt that finds no turn would hit the next one.
        if self.turn.is_running {
            self.turn.is_interrupted = true;
            self.control.interrupt(out);
        }
        true
    }

    fn set(&mut self, change: &OptionChange, out: &mut Outputs) -> bool {
        self.control.set(change, out)
    }

    fn end(&mut self, exit: &CliExit, out: &mut Outputs) {
        self.asks.withdraw(out);
        self.compactions.give_up(out);
        let died = stderr::exit_failure(exit);
        if died.category == Category::SessionLost && self.session.is_none() {
            self.lose(&died, out);
        }
        // A process that only prints is a turn, even if it printed none.
        if !self.has_had_turn && !self.control.is_open {
            self.begin();
        }
        if !self.turn.is_running {
            return self.stream.toolbox.close(&died.message, out);
        }
        let has_answered = exit.code == Some(0) && self.stream.is_settled();
        let verdict = match (self.turn.cut.take(), self.turn.error.take()) {
            _ if exit.is_stopped_by_us => ClaudeTurnOutcome::stopped(StopReason::Cancelled),
            (Some(cut), _) => cut,
            (None, Some(trouble)) => ClaudeTurnOutcome::failed(trouble),
            // The `result` is lost, but its stop reason is known.
            (None, None) if has_answered => ClaudeTurnOutcome::stopped(turn_outcome::stop_reason(
                self.turn.stop_reason.as_deref(),
            )),
            (None, None) => ClaudeTurnOutcome::failed(died),
        };
        self.finish(verdict, &Value::Null, out);
    }
}

impl Claude {
    fn object(&mut self, value: &Value, line: &str, out: &mut Outputs) {
        match value["type"].as_str().unwrap_or_default() {
            "system" => self.system(value, line, out),
            "stream_event" => self.event(value, line, out),
            "assistant" => self.assistant(value, out),
            "user" => self.user(value, out),
            "result" => self.result(value, out),
            "control_request" => self.handle_control_request(value, out),
            "control_response" => {
                if let Err(failure) = self.control.answered(value, out) {
                    self.end_refused(failure, out);
                }
            }
            "control_cancel_request" => self.asks.cancel(value, out),
            "rate_limit_event" => system_lines::rate_limit(value, out),
            "auth_status" => system_lines::auth_status(value, out),
            // Heartbeats, hints and duplicates.
            "keep_alive" | "tool_progress" | "tool_use_summary" | "prompt_suggestion"
            | "active_goal" => {}
            _ => out.unknown(line),
        }
    }

    fn begin(&mut self) {
        self.turn = ClaudeTurn { is_running: true, ..ClaudeTurn::default() };
        self.has_had_turn = true;
        self.stream.begin();
        self.usage.begin();
    }

    /// Begins a turn at a line that only a turn has, if the process got no prompt from us.
    fn notice_turn(&mut self) {
        if !self.turn.is_running && !self.is_driven {
            self.begin();
        }
    }

    fn notice_session(&mut self, value: &Value, out: &mut Outputs) {
        learn_session(&mut self.session, value["session_id"].as_str().unwrap_or_default(), out);
    }

    fn system(&mut self, value: &Value, line: &str, out: &mut Outputs) {
        match value["subtype"].as_str().unwrap_or_default() {
            "init" => {
                if value["qwen_code_version"].is_string() {
                    self.control.flavour = StreamJsonFlavour::Qwen;
                }
                self.notice_turn();
                self.notice_session(value, out);
                self.usage.model(value["model"].as_str());
            }
            // Qwen's sign that it asks the model again, or that the answer goes on.
            "retry" => {
                let data = &value["data"];
                // The CLI prints it once when it waits and once when it asks.
                let is_said = self.stream.is_again && data["attempt"].is_null();
                if data["preserveText"] != true {
                    self.stream.abandon(None, out);
                }
                if !is_said {
                    system_lines::qwen_retry(data, out);
                }
            }
            "local_command_output" => {
                self.notice_turn();
                let text = value["content"].as_str().unwrap_or_default();
                self.stream.whole_text(text, out);
            }
            "commands_changed" => {
                control_channel::commands(&value["commands"], out);
            }
            "task_notification" => {
                let call = value["tool_use_id"].as_str().unwrap_or_default();
                // For an open call the same comes with its result.
                if !self.stream.toolbox.calls.is_open(call) {
                    system_lines::task_notification(value, out);
                }
            }
            "status" | "compact_boundary" => self.compactions.handle(value, out),
            _ => {
                if !system_lines::handle(value, out) {
                    out.unknown(line);
                }
            }
        }
    }

    fn event(&mut self, value: &Value, line: &str, out: &mut Outputs) {
        let event = &value["event"];
        let kind = event["type"].as_str().unwrap_or_default();
        if kind == "tool_progress" {
            return self.stream.toolbox.progress(event, out);
        }
        // Text that a sub-agent streams comes again whole.
        if parent_of(value).is_some() {
            return;
        }
        if matches!(kind, "message_start" | "content_block_start" | "content_block_delta") {
            self.notice_turn();
        }
        match kind {
            "message_start" => {
                self.notice_session(value, out);
                self.turn.error = None;
                self.turn.stop_reason = None;
                self.usage.message_start(&event["message"]);
            }
            "message_delta" => {
                if let Some(reason) = event["delta"]["stop_reason"].as_str() {
                    self.turn.stop_reason = Some(reason.to_owned());
                }
                self.usage.message_delta(&event["usage"], out);
            }
            _ => {}
        }
        if !self.stream.event(value, out) {
            out.unknown(line);
        }
    }

    fn assistant(&mut self, value: &Value, out: &mut Outputs) {
        let message = &value["message"];
        self.notice_turn();
        if let Some(parent) = parent_of(value) {
            return self.stream.toolbox.subagent(parent, &message["content"], out);
        }
        self.notice_session(value, out);
        if let Some(reason) = message["stop_reason"].as_str() {
            self.turn.stop_reason = Some(reason.to_owned());
        }
        self.turn.error = turn_outcome::error_in(value);
        if self.turn.error.is_none() {
            self.usage.message(message);
            self.stream.message(message, out);
        }
    }

    /// Handles results of tools. Prompts, summaries and reminders are texts for the model, not for
    /// people.
    fn user(&mut self, value: &Value, out: &mut Outputs) {
        let content = &value["message"]["content"];
        let parent = parent_of(value);
        let has_results = self.stream.toolbox.results(value, content, out);
        for block in content.as_array().into_iter().flatten() {
            if let Some(call) = block["tool_use_id"].as_str() {
                self.asks.settle(call, out);
            }
        }
        if parent.is_none() {
            if has_results {
                self.stream.tools_answered();
            }
            // The only sign of an interrupt in older versions.
            let says = |text: &Value| {
                text.as_str().is_some_and(|text| text.starts_with("[Request interrupted by user"))
            };
            let blocks = content.as_array().map(Vec::as_slice).unwrap_or_default();
            if says(content) || blocks.iter().any(|block| says(&block["text"])) {
                self.turn.is_interrupted = true;
            }
        }
    }

    fn result(&mut self, value: &Value, out: &mut Outputs) {
        let is_first = !self.has_had_turn;
        if !self.turn.is_running && is_first && !self.is_driven && !self.control.is_open {
            self.begin();
        }
        let verdict = turn_outcome::of_result(value, &mut self.turn);
        if verdict.is_lost() && self.session.is_none() {
            if let TurnOutcome::Failed(failure) = &verdict.ending {
                self.lose(&failure.clone(), out);
            }
        } else if value["is_error"] != true {
            self.notice_session(value, out);
        }
        self.usage.result(value, self.control.flavour);
        // A turn that a background task of the CLI began ends before ours has begun.
        let is_foreign = value["origin"]["kind"] == "task-notification"
            && value["queued_turn_count"].as_u64().unwrap_or_default() > 0;
        if self.turn.is_running && !(is_foreign && self.is_driven) {
            self.finish(verdict, value, out);
        } else if !self.turn.is_running {
            // The end of a run without a prompt of ours.
            self.stream.toolbox.close("the CLI did not say how this ended", out);
        }
    }

    /// A `result` of which only the beginning could be read.
    fn skipped_result(&mut self, head: &Value, failure: Fault, out: &mut Outputs) {
        let is_told = head["is_error"].is_boolean();
        // The whole answer is in it; if none came before, it is lost.
        match is_told && (head["is_error"] == true || self.stream.has_text) {
            true => self.result(head, out),
            false => self.fail(failure, out),
        }
    }

    /// The CLI refused `initialize`: there will be no conversation.
    fn end_refused(&mut self, failure: Fault, out: &mut Outputs) {
        self.lose(&failure, out);
        self.fail(failure, out);
    }

    fn fail(&mut self, failure: Fault, out: &mut Outputs) {
        if self.turn.is_running {
            self.finish(ClaudeTurnOutcome::failed(failure), &Value::Null, out);
        }
    }

    fn handle_control_request(&mut self, value: &Value, out: &mut Outputs) {
        if value["request"]["subtype"] == "can_use_tool" {
            self.notice_turn();
            self.asks.handle_request(value, &mut self.stream.toolbox, out);
        } else {
            control_channel::refuse(value, out);
        }
    }

    fn finish(&mut self, verdict: ClaudeTurnOutcome, result: &Value, out: &mut Outputs) {
        match &verdict.ending {
            TurnOutcome::Stopped(StopReason::EndTurn | StopReason::MaxTokens) => {
                self.stream.release(out);
                let text = result["result"].as_str().unwrap_or_default();
                if !self.stream.has_text && verdict.explains.is_none() {
                    self.stream.whole_text(text, out);
                }
            }
            // It was the error that ends the turn.
            _ => self.stream.held_text = None,
        }
        if let Some(why) = &verdict.explains {
            system_lines::notice(NoticeSeverity::Warning, why, out);
        }
        self.compactions.give_up(out);
        self.stream.toolbox.close(&verdict.ending.open_call_text(), out);
        self.usage.emit(out);
        let usage = self.usage.turn_usage();
        self.turn = ClaudeTurn::default();
        self.stream.next_message();
        out.end_turn(verdict.ending, usage);
    }

    fn lose(&mut self, failure: &Fault, out: &mut Outputs) {
        if !self.is_lost {
            self.is_lost = true;
            out.push(DialectOutput::ConversationLost(failure.clone()));
        }
    }
}

/// The call that started the sub-agent whose line this is.
fn parent_of(value: &Value) -> Option<&str> {
    value["parent_tool_use_id"].as_str().filter(|id| !id.is_empty())
}

#[cfg(test)]
mod tests;
