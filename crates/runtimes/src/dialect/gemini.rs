//! Gemini CLI's `--output-format stream-json`.
//!
//! One process, one turn: `init`, `message` (the answer in pieces, no thoughts), `tool_use`,
//! `tool_result`, `error`, and a `result` that ends it. Text that is printed again after a dropped
//! stream is emitted once; see [`replay_filter`]. A shell command that fails is reported as a
//! success by the CLI, and its exit code is nowhere else.

mod replay_filter;

use serde_json::Value;
use wire::{Category, Fault};

use super::single_turn::SingleTurn;
use super::tool_calls::ToolCallResult;
use super::{CliExit, Dialect, Outputs, StopReason, TokenUsage, TurnOutcome, json, stderr};
use crate::tools;
use crate::update::TextKind;
use replay_filter::ReplayFilter;

const TRUST_REMEDY: &str =
    "trust this folder in Gemini CLI, or set GEMINI_CLI_TRUST_WORKSPACE=true";
const AUTH_REMEDY: &str = "run `gemini` once and log in, or set GEMINI_API_KEY";

/// Beginnings of stderr lines that it prints on every run.
const CHATTER: [&str; 4] = ["Warning: ", "YOLO mode ", "Ripgrep is not ", "[STARTUP] "];

#[derive(Debug, Default)]
pub(super) struct Gemini {
    turn: SingleTurn,
    answer: ReplayFilter,
    /// The last error in the stream; the result shows whether it ended the turn.
    error: Option<String>,
    is_out_of_turns: bool,
    /// An error of no known category, until the exit code gives one.
    unclassified: Option<Fault>,
}

impl Dialect for Gemini {
    fn line(&mut self, line: &str, out: &mut Outputs) {
        let event = json::parse_or_null(line);
        match event["type"].as_str().unwrap_or_default() {
            "init" => self.turn.learn_session(&event["session_id"], out),
            "message" => self.message(&event, out),
            "tool_use" => self.tool_use(&event, out),
            "tool_result" => self.tool_result(&event, out),
            "error" => self.error(&event, out),
            "result" => self.result(&event, out),
            _ => out.unknown(line),
        }
    }

    fn oversized_line(&mut self, head: &Value, failure: Fault, out: &mut Outputs) {
        match head["type"].as_str() {
            Some("result") if head["status"] == "success" => self.result(head, out),
            Some("result") | None => self.turn.fail(failure, out),
            Some(_) => {}
        }
    }

    fn end(&mut self, exit: &CliExit, out: &mut Outputs) {
        self.end_answer(true, out);
        let ending = match self.unclassified.take() {
            Some(failure) => TurnOutcome::Failed(clarified(failure, exit)),
            None => ending_of(exit, self.error.take()),
        };
        self.turn.exit(exit, ending, out);
    }
}

impl Gemini {
    fn message(&mut self, event: &Value, out: &mut Outputs) {
        // An echo of the prompt.
        if event["role"] != "assistant" {
            return;
        }
        let text = event["content"].as_str().unwrap_or_default();
        let told = self.answer.push(text, event["timestamp"].as_str());
        if told.has_caught_up {
            let title = "the model's stream was dropped; Gemini CLI asked again";
            out.warn(title);
        }
        out.text(TextKind::Message, told.new, None);
    }

    /// The stream of one answer is over. Text that was held back as a repetition is emitted after
    /// all if the stream ended well.
    fn end_answer(&mut self, is_well: bool, out: &mut Outputs) {
        let withheld = self.answer.end();
        if is_well {
            out.text(TextKind::Message, withheld, None);
        }
    }

    fn tool_use(&mut self, event: &Value, out: &mut Outputs) {
        self.end_answer(true, out);
        let id = event["tool_id"].as_str().unwrap_or_default();
        let name = event["tool_name"].as_str().unwrap_or("tool");
        let input = &event["parameters"];
        if name == "write_todos"
            && let Some(entries) = tools::plan_of(&input["todos"])
        {
            return self.turn.calls.plan(id, entries, out);
        }
        self.turn.calls.start(id, name, input, None, out);
    }

    fn tool_result(&mut self, event: &Value, out: &mut Outputs) {
        self.end_answer(true, out);
        let id = event["tool_id"].as_str().unwrap_or_default();
        let output = event["output"].as_str();
        let error = event["error"]["message"].as_str();
        let outcome = ToolCallResult {
            text: output.or(error).unwrap_or_default().to_owned(),
            raw: output.or(error).map(Value::from),
            is_failure: event["status"] != "success" || !event["error"].is_null(),
            ..ToolCallResult::default()
        };
        self.turn.calls.end(id, outcome, out);
    }

    fn error(&mut self, event: &Value, out: &mut Outputs) {
        let message = event["message"].as_str().unwrap_or("an error without a message");
        self.is_out_of_turns |= says_out_of_turns(message);
        if event["severity"] == "warning" {
            self.end_answer(true, out);
            out.warn(message);
        } else {
            self.end_answer(false, out);
            self.error = Some(message.to_owned());
        }
    }

    fn result(&mut self, event: &Value, out: &mut Outputs) {
        self.turn.usage = usage_of(&event["stats"]);
        if event["status"] == "success" {
            self.end_answer(true, out);
            let reason = match self.is_out_of_turns {
                true => StopReason::MaxTurnRequests,
                false => StopReason::EndTurn,
            };
            return self.turn.stop(reason, out);
        }
        self.end_answer(false, out);
        let kind = event["error"]["type"].as_str().unwrap_or_default();
        let message = event["error"]["message"].as_str().map(str::to_owned);
        let message = message.or(self.error.take());
        let message = message.unwrap_or_else(|| "Gemini CLI reported an error".to_owned());
        if kind == "FatalCancellationError" {
            self.turn.stop(StopReason::Cancelled, out);
        } else if self.is_out_of_turns || says_out_of_turns(&message) {
            self.turn.stop(StopReason::MaxTurnRequests, out);
        } else {
            let failure = failure_of(&message);
            match failure.category {
                Category::Internal if event["status"] == "error" => {
                    self.unclassified = Some(failure);
                }
                _ => self.turn.fail(failure, out),
            }
        }
    }
}

fn says_out_of_turns(message: &str) -> bool {
    message.to_lowercase().contains("session turns")
}

/// Reads `[API Error: …]`, which holds a sentence or the provider's JSON, and advice after it.
fn failure_of(message: &str) -> Fault {
    let (error, advice) = match message.trim().strip_prefix("[API Error: ") {
        Some(rest) => rest.split_once("]\n").unwrap_or((rest.trim_end_matches(']'), "")),
        None => (message.trim(), ""),
    };
    let json = json::parse_or_null(error);
    let told = match &json["error"] {
        Value::Null => &json,
        told => told,
    };
    let text = told["message"].as_str().unwrap_or(error);
    let failure = Fault::new(Category::classify(told["code"].as_u64(), text), text);
    if advice.is_empty() { failure } else { failure.remedy(advice) }
}

/// `input_tokens` includes what was read from the cache; thoughts are only in the total.
fn usage_of(stats: &Value) -> Option<TokenUsage> {
    let count = |name: &str| stats[name].as_u64().unwrap_or_default();
    let (total, input, output) =
        (count("total_tokens"), count("input_tokens"), count("output_tokens"));
    if stats.is_null() || total == 0 {
        return None;
    }
    let cached = count("cached");
    let thoughts = total.saturating_sub(input).saturating_sub(output);
    Some(TokenUsage {
        total_tokens: total,
        input_tokens: input.saturating_sub(cached),
        output_tokens: output,
        thought_tokens: (thoughts > 0).then_some(thoughts),
        cached_read_tokens: (cached > 0).then_some(cached),
        cached_write_tokens: None,
    })
}

/// The end of a turn whose CLI exited without a result.
fn ending_of(exit: &CliExit, error: Option<String>) -> TurnOutcome {
    match exit.code {
        Some(53) => return TurnOutcome::Stopped(StopReason::MaxTurnRequests),
        Some(130) => return TurnOutcome::Stopped(StopReason::Cancelled),
        _ => {}
    }
    let failure = match error {
        Some(message) => failure_of(&message),
        None => stderr::failure_without_chatter(exit, &CHATTER),
    };
    TurnOutcome::Failed(clarified(failure, exit))
}

/// A failure with the category of the exit code.
fn clarified(failure: Fault, exit: &CliExit) -> Fault {
    // A session that is not there is bad input to Gemini CLI.
    if failure.category == Category::SessionLost {
        return failure;
    }
    let category = |category| Fault { category, ..failure.clone() };
    match exit.code {
        Some(41) => category(Category::Auth).remedy(AUTH_REMEDY),
        Some(42 | 52) => category(Category::BadInput),
        Some(55) => category(Category::Rejected).remedy(TRUST_REMEDY),
        Some(code) => match status_of(code) {
            Some(status) => category(Category::classify(Some(status), &failure.message)),
            None => failure,
        },
        None => failure,
    }
}

/// The HTTP status behind an exit code: it comes out modulo 256 (401 as 145). From 512 on they fall
/// among other codes and only 529 is told apart.
fn status_of(code: i32) -> Option<u64> {
    match code {
        17 => Some(529),
        144..=255 => u64::try_from(code + 256).ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
