//! `opencode run --format json`, which Kilo and `MiMo` have too.
//!
//! One process, one turn. A model request is a step: `step_start`, whole parts (`text`,
//! `reasoning`, `tool_use` when it has ended), `step_finish` with tokens. Nothing says that
//! the turn is over: a step may be followed by another one, text may come after an `error`,
//! so it ends when the process does. An error in the stream counts unless a later step ended
//! well and the process says so too.

use std::collections::HashMap;

use serde_json::Value;
use wire::{Category, Fault};

use super::single_turn::SingleTurn;
use super::streamed_texts::StreamedTexts;
use super::tool_calls::ToolCallResult;
use super::{
    CliExit, Dialect, Outputs, StopReason, TokenUsage, TurnOutcome, json, stderr, token_counts,
};
use crate::tools;
use crate::update::{ContentBlock, TextKind};
use wire::text::last_screen;

#[derive(Debug, Default)]
pub(super) struct Opencode {
    turn: SingleTurn,
    /// The id under which a part's call was emitted: some models number their calls anew in
    /// every step, so a call's own id may have been used.
    ids: HashMap<String, String>,
    steps: OpencodeSteps,
    failure: Option<Fault>,
}

impl Dialect for Opencode {
    fn line(&mut self, line: &str, out: &mut Outputs) {
        let event = json::parse_or_null(line);
        let kind = event["type"].as_str().unwrap_or_default();
        let part = &event["part"];
        // Sub-agents have sessions of their own; the first one named is the conversation.
        if self.turn.session.is_none() {
            self.turn.learn_session(&event["sessionID"], out);
        }
        match kind {
            "step_start" => self.steps.start(part, out),
            "step_finish" => self.steps.finish(part),
            "text" | "reasoning" => self.steps.part(kind, part, out),
            "tool_use" => self.tool(part, out),
            "error" => self.failure = Some(failure_of(&event["error"])),
            _ => out.unknown(line),
        }
    }

    fn oversized_line(&mut self, head: &Value, failure: Fault, _out: &mut Outputs) {
        match head["type"].as_str() {
            Some("step_finish") if head["part"]["reason"].is_string() => {
                self.steps.finish(&head["part"]);
            }
            // Reported at the end, unless a later step ended well.
            Some("text" | "step_finish") | None => self.failure = Some(failure),
            Some(_) => {}
        }
    }

    fn end(&mut self, exit: &CliExit, out: &mut Outputs) {
        self.turn.usage = self.steps.usage;
        match self.ending(exit) {
            // A process that lingers after its answer may be ended; the answer is complete.
            TurnOutcome::Stopped(reason) if self.steps.is_complete() => {
                self.turn.stop(reason, out);
            }
            ending => self.turn.exit(exit, ending, out),
        }
    }
}

impl Opencode {
    fn ending(&mut self, exit: &CliExit) -> TurnOutcome {
        let reason = self.steps.reason.as_deref().unwrap_or_default();
        let is_complete = self.steps.is_complete();
        if let Some(failure) = self.failure.take()
            && !(is_complete && exit.code == Some(0))
        {
            return TurnOutcome::Failed(failure);
        }
        if let Some(failure) = rejected(exit)
            && !is_complete
        {
            return TurnOutcome::Failed(failure);
        }
        match reason {
            "length" => TurnOutcome::Stopped(StopReason::MaxTokens),
            "content-filter" => TurnOutcome::Stopped(StopReason::Refusal),
            // A tool may end the turn, such as one that hands in the result.
            "tool-calls" if exit.code == Some(0) => TurnOutcome::Stopped(StopReason::EndTurn),
            "" | "tool-calls" => TurnOutcome::Failed(stderr::failure(exit)),
            _ => TurnOutcome::Stopped(StopReason::EndTurn),
        }
    }

    /// A tool call, which mostly comes when it has ended.
    fn tool(&mut self, part: &Value, out: &mut Outputs) {
        let name = part["tool"].as_str().unwrap_or("tool");
        let state = &part["state"];
        let status = state["status"].as_str().unwrap_or_default();
        if name == "todowrite" && status != "error" {
            let todos = match &state["input"]["todos"] {
                Value::Null => &state["metadata"]["todos"],
                todos => todos,
            };
            if let Some(entries) = tools::plan_of(todos) {
                return out.plan(entries);
            }
        }
        let id = self.id(part);
        let calls = &mut self.turn.calls;
        if !calls.is_known(&id) {
            calls.start(&id, name, &input_of(state), None, out);
        }
        match status {
            "completed" | "error" | "failed" => calls.end(&id, outcome_of(state), out),
            _ => {
                if let Some(output) = state["metadata"]["output"].as_str() {
                    calls.output(&id, output, out);
                }
            }
        }
    }

    fn id(&mut self, part: &Value) -> String {
        let part_id = part["id"].as_str().unwrap_or_default();
        let call_id = part["callID"].as_str().unwrap_or(part_id);
        if part_id.is_empty() {
            return call_id.to_owned();
        }
        let calls = &self.turn.calls;
        let id = self.ids.entry(part_id.to_owned()).or_insert_with(|| {
            if calls.is_known(call_id) { part_id.to_owned() } else { call_id.to_owned() }
        });
        id.clone()
    }
}

/// Without a user to ask, permission is denied on stderr and the run stops with code 0.
fn rejected(exit: &CliExit) -> Option<Fault> {
    let text = last_screen(&exit.stderr);
    let line = text.lines().find(|line| line.contains("auto-rejecting"))?;
    let message = line.trim_start_matches(['!', ' ']).trim();
    let remedy = "allow this tool in the CLI's permission settings, or use permission mode `auto`";
    Some(Fault::new(Category::Rejected, message).remedy(remedy))
}

fn failure_of(error: &Value) -> Fault {
    let data = &error["data"];
    let name = error["name"].as_str().unwrap_or_default();
    let message = data["message"].as_str().or(error["message"].as_str());
    let message = message.or(error.as_str()).unwrap_or(name);
    let status = data["statusCode"].as_u64();
    let category = match name {
        "ContextOverflowError" => Category::PromptTooLarge,
        "ProviderAuthError" => Category::Auth,
        "ProviderModelNotFoundError" => Category::ModelUnavailable,
        _ => Category::classify(status, message),
    };
    // The CLI's own server failed, not the provider's; an unknown model is reported like this.
    if name == "UnknownError" && category == Category::UpstreamUnavailable {
        return Fault::new(Category::Internal, message)
            .remedy("check that the model exists: the CLI's `models` command lists them");
    }
    Fault::new(category, message)
}

/// The requests to the model of a turn: their texts, ends and tokens.
#[derive(Debug, Default)]
struct OpencodeSteps {
    /// The message that is being written; a step that is tried again belongs to the same one.
    message: Option<String>,
    is_open: bool,
    speech: StreamedTexts,
    /// The finish reason of the last step, if it has ended.
    reason: Option<String>,
    usage: Option<TokenUsage>,
}

impl OpencodeSteps {
    fn start(&mut self, part: &Value, out: &mut Outputs) {
        let message = part["messageID"].as_str();
        if self.is_open && message.is_some() && message == self.message.as_deref() {
            let title = "the model's answer was cut off; it is asked again";
            out.warn(title);
            self.speech.retry_message();
        } else {
            self.speech.begin_message();
        }
        self.message = message.map(str::to_owned);
        self.is_open = true;
        self.reason = None;
    }

    /// A whole part of the message.
    fn part(&mut self, kind: &str, part: &Value, out: &mut Outputs) {
        let text = part["text"].as_str().unwrap_or_default();
        let voice = if kind == "reasoning" { TextKind::Thought } else { TextKind::Message };
        self.speech.push_piece(voice as u64, voice, text, part["messageID"].as_str(), out);
    }

    fn finish(&mut self, part: &Value) {
        self.is_open = false;
        self.reason = Some(part["reason"].as_str().unwrap_or("stop").to_owned());
        let tokens = &part["tokens"];
        if tokens.is_null() {
            return;
        }
        let count = |value: &Value| value.as_u64().unwrap_or_default();
        let (input, output) = (count(&tokens["input"]), count(&tokens["output"]));
        let thoughts = count(&tokens["reasoning"]);
        let (read, write) = (count(&tokens["cache"]["read"]), count(&tokens["cache"]["write"]));
        let total = tokens["total"].as_u64();
        self.usage.get_or_insert_default().add(&TokenUsage {
            total_tokens: total
                .unwrap_or_else(|| token_counts::sum(&[input, output, thoughts, read, write])),
            input_tokens: input,
            output_tokens: output,
            thought_tokens: Some(thoughts),
            cached_read_tokens: Some(read),
            cached_write_tokens: Some(write),
        });
    }

    /// Whether the last step ended the turn.
    fn is_complete(&self) -> bool {
        self.reason.as_ref().is_some_and(|reason| reason != "tool-calls")
    }
}

/// The input, with the absolute path if the state has it.
fn input_of(state: &Value) -> Value {
    let mut input = state["input"].clone();
    let path = state["metadata"]["filepath"].as_str();
    if let (Some(path), Some(given)) = (path, input.get_mut("filePath")) {
        *given = Value::from(path);
    }
    input
}

fn outcome_of(state: &Value) -> ToolCallResult {
    let text = state["output"].as_str().or(state["error"].as_str());
    let exit = state["metadata"]["exit"].as_i64();
    ToolCallResult {
        text: text.unwrap_or_default().to_owned(),
        images: images_of(&state["attachments"]),
        raw: text.map(Value::from),
        is_failure: state["status"] != "completed" || exit.is_some_and(|code| code != 0),
    }
}

/// Images are attached as `data:` URLs.
fn images_of(attachments: &Value) -> Vec<ContentBlock> {
    let attachments = attachments.as_array().map(Vec::as_slice).unwrap_or_default();
    let images = attachments.iter().filter_map(|file| {
        let mime_type = file["mime"].as_str().filter(|mime| mime.starts_with("image/"))?;
        let (_, data) = file["url"].as_str()?.split_once(";base64,")?;
        Some(ContentBlock::Image { data: data.to_owned(), mime_type: mime_type.to_owned() })
    });
    images.collect()
}

#[cfg(test)]
mod tests;
