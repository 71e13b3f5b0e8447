//! Chunks to pieces of an answer, leniently.
//!
//! Nothing that is missing, null, unknown or of another type than usual is an error: it is as
//! if it were not there. Usage and the reason to stop are kept until the end, so that
//! [`Delta::Finish`] is the last piece of every whole answer.

use std::collections::VecDeque;

use serde_json::Value;

use super::call_slots::{CallFragment, CallSlots};
use super::think_tags::ThinkParser;
use crate::native::chat::{Delta, FinishReason, TokenUsage};
use crate::native::cost;

/// Limit on text, thoughts and arguments together: more than any model says in one answer.
const MAX_SAID_BYTES: usize = 32 << 20;

#[derive(Debug, Default)]
pub(super) struct ChunkParser {
    slots: CallSlots,
    think: ThinkParser,
    usage: Option<TokenUsage>,
    finish: Option<FinishReason>,
    said_bytes: usize,
    has_refusal: bool,
}

#[derive(Debug, PartialEq)]
pub(super) enum ChunkError {
    /// The endpoint reported an error.
    Error(Value),
    /// The answer is longer than any answer can be.
    TooMuch,
}

impl ChunkParser {
    pub(super) fn take(
        &mut self,
        chunk: &Value,
        out: &mut VecDeque<Delta>,
    ) -> Result<(), ChunkError> {
        if let Some(error) = chunk.get("error").filter(|error| is_something(error)) {
            return Err(ChunkError::Error(error.clone()));
        }
        let choices = chunk["choices"].as_array();
        let is_ours = |choice: &&Value| number(&choice["index"]).unwrap_or(0) == 0;
        let choice = choices.and_then(|choices| choices.iter().find(is_ours));
        let of_choice = choice.map(|choice| &choice["usage"]);
        for value in [&chunk["usage"], &chunk["x_groq"]["usage"]].into_iter().chain(of_choice) {
            self.usage = usage(value).or(self.usage);
        }
        let Some(choice) = choice else { return Ok(()) };
        if let Some(error) = choice.get("error").filter(|error| is_something(error)) {
            return Err(ChunkError::Error(error.clone()));
        }
        match (&choice["delta"], choice.get("message")) {
            (delta @ Value::Object(_), _) => self.read_delta(delta, false, out)?,
            (_, Some(message)) => self.read_delta(message, true, out)?,
            // The oldest form, before chats.
            _ => {
                if let Some(text) = choice["text"].as_str() {
                    self.content(text, out)?;
                }
            }
        }
        if let Some(reason) = choice["finish_reason"].as_str() {
            if reason == "error" {
                return Err(ChunkError::Error(Value::Null));
            }
            self.finish = finish(reason).or(self.finish);
        }
        Ok(())
    }

    pub(super) fn has_finish(&self) -> bool {
        self.finish.is_some()
    }

    /// The answer is whole.
    pub(super) fn end(&mut self, out: &mut VecDeque<Delta>) {
        out.extend(self.think.release());
        out.extend(self.usage.take().map(Delta::Usage));
        let finish = match self.finish.take() {
            Some(FinishReason::Stop) | None if self.has_refusal => FinishReason::Filtered,
            Some(finish) => finish,
            None if self.slots.len() > 0 => FinishReason::Calls,
            None => FinishReason::Stop,
        };
        out.push_back(Delta::Finish(finish));
    }

    /// Reads a delta or, if `is_whole`, a message: the calls in it are all there are, in their
    /// order.
    fn read_delta(
        &mut self,
        said: &Value,
        is_whole: bool,
        out: &mut VecDeque<Delta>,
    ) -> Result<(), ChunkError> {
        // Some endpoints send the same thought under both names.
        let thoughts = ["reasoning_content", "reasoning", "thinking"];
        let thought = thoughts.iter().find_map(|name| text(said.get(*name)?, "thinking"));
        if let Some(thought) = thought {
            self.speak(&thought, Delta::Thought, out)?;
        }
        let content = &said["content"];
        if let Some(thought) = part(content, "thinking", "thinking") {
            self.speak(&thought, Delta::Thought, out)?;
        }
        if let Some(text) = text(content, "text") {
            self.content(&text, out)?;
        }
        if let Some(refusal) = said["refusal"].as_str().filter(|refusal| !refusal.is_empty()) {
            self.has_refusal = true;
            out.extend(self.think.release());
            self.speak(refusal, Delta::Text, out)?;
        }
        for (at, call) in said["tool_calls"].as_array().into_iter().flatten().enumerate() {
            let at = is_whole.then_some(at as u64);
            let index = number(&call["index"]).or(at);
            let function = call.get("function").unwrap_or(call);
            self.call(index, &call["id"], function, out)?;
        }
        if let function @ Value::Object(_) = &said["function_call"] {
            self.call(None, &Value::Null, function, out)?;
        }
        Ok(())
    }

    /// Text, or a thought that the endpoint left in it.
    fn content(&mut self, text: &str, out: &mut VecDeque<Delta>) -> Result<(), ChunkError> {
        self.count(text)?;
        out.extend(self.think.feed(text));
        Ok(())
    }

    fn speak(
        &mut self,
        text: &str,
        make: fn(String) -> Delta,
        out: &mut VecDeque<Delta>,
    ) -> Result<(), ChunkError> {
        self.count(text)?;
        if !text.is_empty() {
            out.push_back(make(text.to_owned()));
        }
        Ok(())
    }

    fn call(
        &mut self,
        index: Option<u64>,
        id: &Value,
        function: &Value,
        out: &mut VecDeque<Delta>,
    ) -> Result<(), ChunkError> {
        let id = match id {
            Value::Number(number) => Some(number.to_string()),
            Value::String(id) if !id.is_empty() => Some(id.clone()),
            _ => None,
        };
        let name = function["name"].as_str().filter(|name| !name.is_empty());
        let arguments = match &function["arguments"] {
            Value::String(arguments) => arguments.clone(),
            Value::Null => String::new(),
            // Some send the arguments themselves instead of their text.
            other => other.to_string(),
        };
        self.count(&arguments)?;
        if id.is_none() && name.is_none() && arguments.is_empty() {
            return Ok(());
        }
        let fragment = CallFragment { index, id: id.as_deref(), name, arguments: &arguments };
        let place = self.slots.place(fragment).ok_or(ChunkError::TooMuch)?;
        out.extend(self.think.release());
        out.push_back(Delta::Call {
            index: place.slot,
            name: name.filter(|_| place.is_first_name).map(str::to_owned),
            id: id.filter(|_| place.is_first_id),
            arguments,
        });
        Ok(())
    }

    fn count(&mut self, text: &str) -> Result<(), ChunkError> {
        self.said_bytes += text.len();
        if self.said_bytes > MAX_SAID_BYTES { Err(ChunkError::TooMuch) } else { Ok(()) }
    }
}

fn is_something(error: &Value) -> bool {
    match error {
        Value::Null | Value::Bool(false) => false,
        Value::String(text) => !text.is_empty(),
        Value::Object(object) => !object.is_empty(),
        _ => true,
    }
}

/// A string, or the parts of one.
fn text(value: &Value, kind: &str) -> Option<String> {
    match value {
        Value::String(text) if !text.is_empty() => Some(text.clone()),
        Value::Array(_) => part(value, kind, "text"),
        _ => None,
    }
}

/// The text of all parts of one type, which may hold parts themselves.
fn part(parts: &Value, kind: &str, member: &str) -> Option<String> {
    let parts = parts.as_array()?;
    let of_kind = parts.iter().filter(|part| part.get("type").is_none_or(|name| name == kind));
    let texts = of_kind.map(|part| match &part[member] {
        Value::String(text) => text.clone(),
        Value::Array(inner) => inner.iter().filter_map(|part| part["text"].as_str()).collect(),
        _ => String::new(),
    });
    let texts: String = texts.collect();
    (!texts.is_empty()).then_some(texts)
}

fn finish(reason: &str) -> Option<FinishReason> {
    match reason {
        "" => None,
        "tool_calls" | "function_call" | "tool_use" => Some(FinishReason::Calls),
        "length" | "max_tokens" | "model_length" => Some(FinishReason::Length),
        "content_filter" | "safety" | "refusal" | "sensitive" => Some(FinishReason::Filtered),
        _ => Some(FinishReason::Stop),
    }
}

fn usage(value: &Value) -> Option<TokenUsage> {
    let first = |counts: &[&Value]| counts.iter().copied().find_map(number);
    let input = first(&[&value["prompt_tokens"], &value["input_tokens"]]);
    let output = first(&[&value["completion_tokens"], &value["output_tokens"]]);
    if input.is_none() && output.is_none() {
        return None;
    }
    let thought = first(&[
        &value["completion_tokens_details"]["reasoning_tokens"],
        &value["output_tokens_details"]["reasoning_tokens"],
        &value["reasoning_tokens"],
    ]);
    let cached = first(&[
        &value["prompt_tokens_details"]["cached_tokens"],
        &value["input_tokens_details"]["cached_tokens"],
        &value["prompt_cache_hit_tokens"],
        &value["cached_tokens"],
    ]);
    Some(TokenUsage {
        input: input.unwrap_or(0),
        output: output.unwrap_or(0),
        thought: thought.unwrap_or(0),
        cached: cached.unwrap_or(0),
        nano_usd: cost::of_usage(value),
    })
}

/// A count, also where it came as `12.0` or `"12"`.
pub(super) fn number(value: &Value) -> Option<u64> {
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "counts beyond 2^53 are nonsense, and saturate"
    )]
    match value {
        Value::Number(number) => number.as_u64().or_else(|| {
            number.as_f64().filter(|number| *number >= 0.0).map(|number| number as u64)
        }),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
