//! Cursor Agent's `stream-json` in print mode.
//!
//! In: one JSON object a line; the process lives for one turn and gets its prompt elsewhere.
//! Out: ACP. Errors before the answer are on stderr alone.
//!
//! Text comes as deltas, then whole: at each tool call, and at the end of the turn. How much
//! of it comes again differs between versions, so a whole text is compared with the text so far.

mod tool_call;

use serde_json::Value;
use wire::Fault;

use self::tool_call::CursorToolCall;
use super::single_turn::SingleTurn;
use super::{CliExit, Dialect, Outputs, StopReason, TokenUsage, TurnOutcome, json, stderr};
use crate::update::{TextKind, ToolCall, ToolCallStatus};

#[derive(Debug, Default)]
pub(super) struct Cursor {
    turn: SingleTurn,
    /// The text of this turn so far.
    text: String,
    /// The offset in `text` of the text that came as deltas and has not come whole yet.
    unconfirmed_from: usize,
    has_deltas: bool,
    error: Option<String>,
}

impl Dialect for Cursor {
    fn line(&mut self, line: &str, out: &mut Outputs) {
        let value = json::parse_or_null(line);
        let is_understood = match value["type"].as_str().unwrap_or_default() {
            "system" if value["subtype"] == "init" => true,
            "assistant" => {
                self.assistant(&value, out);
                true
            }
            "thinking" => thinking(&value, out),
            "tool_call" => self.tool_call(&value, out),
            "result" => {
                self.result(&value, out);
                return;
            }
            "error" => {
                self.error = Some(error_message(&value));
                true
            }
            "connection" | "retry" => {
                let what = value["subtype"].as_str().unwrap_or("again");
                let kind = value["type"].as_str().unwrap_or_default();
                out.warn(format!("{kind}: {what}"));
                true
            }
            // An echo of the prompt.
            "user" => true,
            _ => false,
        };
        if is_understood {
            self.turn.learn_session(&value["session_id"], out);
        } else {
            out.unknown(line);
        }
    }

    fn oversized_line(&mut self, head: &Value, failure: Fault, out: &mut Outputs) {
        match head["type"].as_str() {
            // All text of the turn comes again in it; if none came before, it is lost.
            Some("result") if head["subtype"] == "success" && !self.text.is_empty() => {
                self.result(head, out);
            }
            Some("result") | None => self.turn.fail(failure, out),
            Some(_) => {}
        }
    }

    fn end(&mut self, exit: &CliExit, out: &mut Outputs) {
        let told = self.error.take().map(Fault::from_words);
        let failure = told.unwrap_or_else(|| stderr::failure(exit));
        self.turn.exit(exit, TurnOutcome::Failed(failure), out);
    }
}

impl Cursor {
    fn assistant(&mut self, value: &Value, out: &mut Outputs) {
        self.turn.learn_session(&value["session_id"], out);
        let blocks = value["message"]["content"].as_array().into_iter().flatten();
        let text: String = blocks.filter_map(|block| block["text"].as_str()).collect();
        let is_delta = value["timestamp_ms"].is_number() && value["model_call_id"].is_null();
        if is_delta {
            self.has_deltas = true;
            self.say(&text, out);
        } else {
            let new = self.new_in(&text).to_owned();
            self.say(&new, out);
            self.unconfirmed_from = self.text.len();
        }
    }

    /// The part of a whole text that was not emitted yet.
    fn new_in<'t>(&self, text: &'t str) -> &'t str {
        let part = self.text.get(self.unconfirmed_from..).unwrap_or_default();
        // The part that was streamed, with what the deltas lacked.
        if !part.is_empty()
            && let Some(rest) = text.strip_prefix(part)
        {
            return rest;
        }
        // The whole turn again, with what is new.
        if !self.text.is_empty()
            && let Some(rest) = text.strip_prefix(self.text.as_str())
        {
            return rest;
        }
        // Repetitions put blank lines where the deltas had none.
        let solid = |text: &str| -> String { text.split_whitespace().collect() };
        let is_repeated = || !part.is_empty() || solid(&self.text).contains(&solid(text));
        if self.has_deltas && is_repeated() { "" } else { text }
    }

    fn say(&mut self, text: &str, out: &mut Outputs) {
        self.text.push_str(text);
        out.text(TextKind::Message, text, None);
    }

    fn tool_call(&mut self, value: &Value, out: &mut Outputs) -> bool {
        let Some(tool) = CursorToolCall::read(&value["tool_call"]) else { return false };
        let id = value["call_id"].as_str().or_else(|| value["tool_call"]["toolCallId"].as_str());
        let Some(id) = id.filter(|id| !id.is_empty()) else { return false };
        match value["subtype"].as_str().unwrap_or_default() {
            "started" if tool.is_todo_list() => {}
            "started" => self.turn.calls.start(id, &tool.name, &tool.args, None, out),
            "completed" if tool.is_todo_list() && !tool.is_failure() => {
                if let Some(entries) = tool.plan() {
                    out.plan(entries);
                }
            }
            "completed" => {
                if !self.turn.calls.is_known(id) {
                    self.turn.calls.start(id, &tool.name, &tool.args, None, out);
                }
                let content = tool.content();
                let call = ToolCall {
                    id: id.to_owned(),
                    status: Some(ToolCallStatus::of_end(tool.is_failure())),
                    content: (!content.is_empty()).then_some(content),
                    raw_output: (!tool.result.is_null()).then(|| tool.result.clone()),
                    ..ToolCall::default()
                };
                self.turn.calls.states.emit(call, out);
            }
            _ => return false,
        }
        true
    }

    fn result(&mut self, value: &Value, out: &mut Outputs) {
        if self.turn.has_ended {
            return;
        }
        self.turn.learn_session(&value["session_id"], out);
        self.turn.usage = usage_of(&value["usage"]);
        let is_error = value["is_error"] == true
            || value["subtype"].as_str().is_some_and(|subtype| subtype != "success");
        let ending = match (is_error, self.error.take()) {
            (false, None) => {
                // All text of the turn: the part that did not come before is emitted now.
                let text = value["result"].as_str().unwrap_or_default();
                let rest = text.strip_prefix(self.text.as_str()).unwrap_or_default().to_owned();
                self.say(&rest, out);
                TurnOutcome::Stopped(StopReason::EndTurn)
            }
            (false, Some(trouble)) => TurnOutcome::Failed(Fault::from_words(trouble)),
            (true, _) => TurnOutcome::Failed(Fault::from_words(error_message(value))),
        };
        self.turn.end(ending, out);
    }
}

fn thinking(value: &Value, out: &mut Outputs) -> bool {
    match value["subtype"].as_str().unwrap_or_default() {
        "delta" => {
            out.text(TextKind::Thought, value["text"].as_str().unwrap_or_default(), None);
            true
        }
        "completed" => true,
        _ => false,
    }
}

fn error_message(value: &Value) -> String {
    let error = &value["error"];
    let places = [&value["message"], &error["message"], error, &value["result"]];
    let words = places.into_iter().find_map(Value::as_str).filter(|words| !words.is_empty());
    words.unwrap_or("the CLI stopped with an error that it did not name").to_owned()
}

fn usage_of(usage: &Value) -> Option<TokenUsage> {
    let number = |name: &str| usage[name].as_u64();
    let (input, output) = (number("inputTokens"), number("outputTokens"));
    if input.is_none() && output.is_none() {
        return None;
    }
    let usage = TokenUsage {
        input_tokens: input.unwrap_or_default(),
        output_tokens: output.unwrap_or_default(),
        cached_read_tokens: number("cacheReadTokens"),
        cached_write_tokens: number("cacheWriteTokens"),
        ..TokenUsage::default()
    };
    let total = usage.sum_of_parts();
    (total > 0).then_some(TokenUsage { total_tokens: total, ..usage })
}

#[cfg(test)]
mod tests;
