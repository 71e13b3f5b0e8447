//! Whole messages in the shape of `OpenAI`'s chat, one per line.
//!
//! Spoken by `kimi --print --output-format stream-json` (the Python and the Node one), and in
//! its own variant by `vibe --output streaming`, whose reasoning and tool calls are entries of
//! their own. One process, one turn, which ends with the process. Errors are
//! prose, on stdout or stderr; a session's id is in a `meta` line or on stderr.

use std::collections::HashMap;

use serde_json::Value;
use wire::{Category, Fault};

use super::single_turn::SingleTurn;
use super::tool_calls::ToolCallResult;
use super::{CliExit, Dialect, Outputs, StopReason, TurnOutcome, json, learn_session, stderr};
use crate::tools;
use crate::update::{PlanEntry, TextKind, ToolKind};

/// The column at which prose is wrapped when stdout is no terminal.
const WRAPPED_AT: usize = 80;

/// Beginnings of stderr lines that are printed on every run.
const CHATTER: [&str; 2] = ["Reading API keys", "To resume this session: "];

#[derive(Debug, Default)]
pub(super) struct Openai {
    turn: SingleTurn,
    /// Names of the tools that were called.
    names: HashMap<String, String>,
    /// The text so far of each entry that has an id, for those that are printed as they grow.
    entries: HashMap<String, String>,
    has_answered: bool,
    /// Lines that are no JSON: an error, when there is one.
    prose: String,
    last_width: usize,
    /// An answer that was too long to be read.
    skipped: Option<Fault>,
}

impl Dialect for Openai {
    fn line(&mut self, line: &str, out: &mut Outputs) {
        let Ok(message @ Value::Object(_)) = json::parse(line) else {
            self.note(line);
            out.unknown(line);
            return;
        };
        self.turn.learn_session(&message["sessionId"], out);
        match (message["type"].as_str(), message["role"].as_str()) {
            (Some("reasoning"), _) => self.reasoning(&message, out),
            (Some("effect"), _) => self.effect(&message, out),
            (_, Some("assistant")) => self.assistant(&message, out),
            (_, Some("tool")) => self.tool(&message, out),
            (_, Some("user" | "system" | "developer")) => {}
            (Some(kind), Some("meta")) => self.meta(kind, &message, line, out),
            _ => out.unknown(line),
        }
    }

    fn oversized_line(&mut self, head: &Value, failure: Fault, _out: &mut Outputs) {
        let is_other = head["type"].is_string() || head["role"].is_string();
        if head["role"] == "assistant" || !is_other {
            self.has_answered = false;
            self.skipped = Some(failure);
        }
    }

    fn end(&mut self, exit: &CliExit, out: &mut Outputs) {
        let id = exit.stderr.lines().find_map(|line| line.strip_prefix("To resume this session: "));
        if let Some(id) = id.and_then(|hint| hint.split_whitespace().next_back()) {
            learn_session(&mut self.turn.session, id, out);
        }
        let ending = self.ending(exit);
        self.turn.exit(exit, ending, out);
    }
}

impl Openai {
    fn note(&mut self, line: &str) {
        // A line that was wrapped within a word is as long as it can be.
        if !self.prose.is_empty() && self.last_width < WRAPPED_AT {
            self.prose.push(' ');
        }
        self.prose.push_str(line);
        self.last_width = line.chars().count();
    }

    fn assistant(&mut self, message: &Value, out: &mut Outputs) {
        self.has_answered = true;
        let content = &message["content"];
        out.text(TextKind::Thought, parts_of(&message["reasoning_content"], "", ""), None);
        out.text(TextKind::Thought, parts_of(content, "think", ""), None);
        out.text(TextKind::Message, self.rest_of(message, parts_of(content, "text", "")), None);
        for call in message["tool_calls"].as_array().into_iter().flatten() {
            self.call(call, out);
        }
    }

    /// The new part of an entry that may have been printed before.
    fn rest_of(&mut self, entry: &Value, text: String) -> String {
        let Some(id) = entry["id"].as_str() else { return text };
        let told = self.entries.entry(id.to_owned()).or_default();
        let rest = text.strip_prefix(told.as_str()).unwrap_or_default().to_owned();
        told.push_str(&rest);
        rest
    }

    fn call(&mut self, call: &Value, out: &mut Outputs) {
        let id = call["id"].as_str().unwrap_or_default();
        let name = call["function"]["name"].as_str().unwrap_or("tool");
        let arguments = &call["function"]["arguments"];
        let input = match arguments.as_str() {
            Some(text) => json::parse_or_null(text),
            None => arguments.clone(),
        };
        self.start(id, name, &input, out);
    }

    fn start(&mut self, id: &str, name: &str, input: &Value, out: &mut Outputs) {
        if let Some(entries) = plan_of(name, input) {
            return self.turn.calls.plan(id, entries, out);
        }
        self.names.insert(id.to_owned(), name.to_owned());
        self.turn.calls.start(id, name, input, None, out);
    }

    fn tool(&mut self, message: &Value, out: &mut Outputs) {
        let id = message["tool_call_id"].as_str().unwrap_or_default();
        let text = parts_of(&message["content"], "text", "\n");
        let name = self.names.get(id).map(String::as_str).unwrap_or_default();
        let outcome = ToolCallResult {
            is_failure: message["is_error"] == true || is_failure(name, &text),
            raw: Some(Value::from(text.clone())),
            text,
            ..ToolCallResult::default()
        };
        self.turn.calls.end(id, outcome, out);
    }

    fn reasoning(&mut self, entry: &Value, out: &mut Outputs) {
        let text = entry["text"].as_str().unwrap_or_default().to_owned();
        out.text(TextKind::Thought, self.rest_of(entry, text), None);
    }

    fn effect(&mut self, entry: &Value, out: &mut Outputs) {
        let id = entry["id"].as_str().unwrap_or_default();
        let (detail, state) = (&entry["detail"], &entry["state"]);
        let name = detail["toolName"].as_str().or(entry["title"].as_str()).unwrap_or("tool");
        // Tools are named with their family: `file_system.bash`.
        let name = name.rsplit('.').next().unwrap_or(name);
        if !self.turn.calls.is_known(id) {
            self.start(id, name, &detail["input"], out);
        }
        let status = state["status"].as_str().unwrap_or_default();
        if matches!(status, "" | "pending" | "running" | "in_progress") {
            return;
        }
        let texts = [&state["outputText"], &state["reason"], &state["error"]];
        let text = texts.iter().find_map(|text| text.as_str().filter(|text| !text.is_empty()));
        let outcome = ToolCallResult {
            text: text.unwrap_or_default().to_owned(),
            raw: (!state["output"].is_null()).then(|| state["output"].clone()),
            is_failure: status != "completed" || state["display"]["success"] == false,
            ..ToolCallResult::default()
        };
        self.turn.calls.end(id, outcome, out);
    }

    fn meta(&mut self, kind: &str, message: &Value, line: &str, out: &mut Outputs) {
        match kind {
            "system.version" => {}
            "session.resume_hint" => self.turn.learn_session(&message["session_id"], out),
            "turn.step.retrying" => {
                let count = |name: &str| message[name].as_u64().unwrap_or_default();
                let error = message["error_message"].as_str().unwrap_or("the request failed");
                out.warn(format!(
                    "attempt {} of {}: {error}",
                    count("next_attempt"),
                    count("max_attempts")
                ));
            }
            _ => out.unknown(line),
        }
    }

    fn ending(&self, exit: &CliExit) -> TurnOutcome {
        let prose = self.prose.trim();
        if prose == "Interrupted by user" {
            return TurnOutcome::Stopped(StopReason::Cancelled);
        }
        if exit.code == Some(0) && self.has_answered {
            return TurnOutcome::Stopped(StopReason::EndTurn);
        }
        if let Some(failure) = &self.skipped
            && exit.code == Some(0)
        {
            return TurnOutcome::Failed(failure.clone());
        }
        if prose.is_empty() {
            let failure = stderr::failure_without_chatter(exit, &CHATTER);
            let is_unknown_model = failure.message.contains("is not configured in config.toml");
            return TurnOutcome::Failed(match is_unknown_model {
                true => Fault { category: Category::ModelUnavailable, ..failure },
                false => failure,
            });
        }
        let category = Category::classify(None, prose).or(Category::ProcessExit);
        TurnOutcome::Failed(Fault::new(category, prose))
    }
}

/// The text of a message: a string, or the parts of one kind.
fn parts_of(content: &Value, kind: &str, between: &str) -> String {
    match content {
        Value::String(text) if kind != "think" => text.clone(),
        Value::Array(parts) => {
            let parts = parts.iter().filter(|part| part["type"] == kind);
            parts.filter_map(|part| part[kind].as_str()).collect::<Vec<_>>().join(between)
        }
        _ => String::new(),
    }
}

fn plan_of(name: &str, input: &Value) -> Option<Vec<PlanEntry>> {
    if !name.to_lowercase().contains("todo") {
        return None;
    }
    tools::plan_of(&input["todos"]).filter(|entries| !entries.is_empty())
}

/// Whether a result is a failure, by the CLIs' wording; results carry no status.
fn is_failure(name: &str, text: &str) -> bool {
    let last = text.trim_end().lines().next_back().unwrap_or_default();
    text.starts_with("<system>ERROR")
        || (tools::kind_of(name) == ToolKind::Execute
            && last.starts_with("Command failed with exit code"))
}

#[cfg(test)]
mod tests;
