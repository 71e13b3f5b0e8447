//! Cursor Agent's `stream-json` in print mode.
//!
//! In: one JSON object a line; the process lives for one turn and gets its prompt elsewhere.
//! Out: ACP. Errors before the answer are told on stderr alone.
//!
//! Text comes as deltas, then whole: at each tool call, and at the end of the turn. How much
//! of it comes again differs between versions, so a whole text is compared with what was said.

mod output;

use serde_json::Value;
use wire::Fault;

use self::output::Tool;
use super::{Dialect, Ending, Exit, Said, StopReason, TurnEnd, Usage, counts, json, stderr};
use crate::calls::Calls;
use crate::tools;
use crate::update::{Call, Severity, Status, Update};

#[derive(Debug, Default)]
pub(super) struct Cursor {
    has_ended: bool,
    session: Option<String>,
    /// All text of this turn.
    said: String,
    /// Where in `said` begins what came as deltas and has not come whole yet.
    part: usize,
    has_deltas: bool,
    calls: Calls,
    trouble: Option<String>,
}

impl Dialect for Cursor {
    fn line(&mut self, line: &str, out: &mut Vec<Said>) {
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
                self.trouble = Some(words_of(&value));
                true
            }
            "connection" | "retry" => {
                let what = value["subtype"].as_str().unwrap_or("again");
                let kind = value["type"].as_str().unwrap_or_default();
                let title = format!("{kind}: {what}");
                out.push(Said::Update(Update::notice(Severity::Warning, title)));
                true
            }
            // The prompt, said back.
            "user" => true,
            _ => false,
        };
        if is_understood {
            self.learn_id(&value, out);
        } else {
            out.push(Said::Raw(line.to_owned()));
        }
    }

    fn skipped(&mut self, head: &Value, failure: Fault, out: &mut Vec<Said>) {
        match head["type"].as_str() {
            // All text of the turn comes again in it; if none came before, it is lost.
            Some("result") if head["subtype"] == "success" && !self.said.is_empty() => {
                self.result(head, out);
            }
            Some("result") | None => self.finish(Ending::Failed(failure), None, out),
            Some(_) => {}
        }
    }

    fn end(&mut self, exit: &Exit, out: &mut Vec<Said>) {
        let ending = match self.trouble.take() {
            _ if exit.is_wanted => Ending::Stopped(StopReason::Cancelled),
            Some(trouble) => Ending::Failed(Fault::from_words(trouble)),
            None => Ending::Failed(stderr::failure(exit)),
        };
        self.finish(ending, None, out);
    }
}

impl Cursor {
    fn learn_id(&mut self, value: &Value, out: &mut Vec<Said>) {
        let Some(id) = value["session_id"].as_str().filter(|id| !id.is_empty()) else { return };
        if self.session.as_deref() != Some(id) {
            self.session = Some(id.to_owned());
            out.push(Said::Session(id.to_owned()));
        }
    }

    fn assistant(&mut self, value: &Value, out: &mut Vec<Said>) {
        self.learn_id(value, out);
        let blocks = value["message"]["content"].as_array().into_iter().flatten();
        let text: String = blocks.filter_map(|block| block["text"].as_str()).collect();
        let is_delta = value["timestamp_ms"].is_number() && value["model_call_id"].is_null();
        if is_delta {
            self.has_deltas = true;
            self.say(&text, out);
        } else {
            let new = self.new_in(&text).to_owned();
            self.say(&new, out);
            self.part = self.said.len();
        }
    }

    /// What a text that comes whole adds to what was said.
    fn new_in<'t>(&self, text: &'t str) -> &'t str {
        let part = self.said.get(self.part..).unwrap_or_default();
        // The part that was streamed, with what the deltas lacked.
        if !part.is_empty()
            && let Some(rest) = text.strip_prefix(part)
        {
            return rest;
        }
        // The whole turn again, with what is new.
        if !self.said.is_empty()
            && let Some(rest) = text.strip_prefix(self.said.as_str())
        {
            return rest;
        }
        // Repetitions put blank lines where the deltas had none.
        let solid = |text: &str| -> String { text.split_whitespace().collect() };
        let is_repeated = || !part.is_empty() || solid(&self.said).contains(&solid(text));
        if self.has_deltas && is_repeated() { "" } else { text }
    }

    fn say(&mut self, text: &str, out: &mut Vec<Said>) {
        if !text.is_empty() {
            self.said.push_str(text);
            out.push(Said::Update(Update::text(text)));
        }
    }

    fn tool_call(&mut self, value: &Value, out: &mut Vec<Said>) -> bool {
        let Some(tool) = Tool::read(&value["tool_call"]) else { return false };
        let id = value["call_id"].as_str().or_else(|| value["tool_call"]["toolCallId"].as_str());
        let Some(id) = id.filter(|id| !id.is_empty()) else { return false };
        match value["subtype"].as_str().unwrap_or_default() {
            "started" if tool.is_list() => {}
            "started" => self.calls.say(start(id, &tool), out),
            "completed" if tool.is_list() && !tool.is_failure() => {
                if let Some(entries) = tool.plan() {
                    out.push(Said::Update(Update::Plan { entries }));
                }
            }
            "completed" => {
                if !self.calls.is_known(id) {
                    self.calls.say(start(id, &tool), out);
                }
                let status = if tool.is_failure() { Status::Failed } else { Status::Completed };
                let content = tool.content();
                let call = Call {
                    id: id.to_owned(),
                    status: Some(status),
                    content: (!content.is_empty()).then_some(content),
                    raw_output: (!tool.result.is_null()).then(|| tool.result.clone()),
                    ..Call::default()
                };
                self.calls.say(call, out);
            }
            _ => return false,
        }
        true
    }

    fn result(&mut self, value: &Value, out: &mut Vec<Said>) {
        if self.has_ended {
            return;
        }
        self.learn_id(value, out);
        let usage = usage_of(&value["usage"]);
        let is_error = value["is_error"] == true
            || value["subtype"].as_str().is_some_and(|subtype| subtype != "success");
        let ending = match (is_error, self.trouble.take()) {
            (false, None) => {
                // All text of the turn: what of it did not come before, comes now.
                let text = value["result"].as_str().unwrap_or_default();
                let rest = text.strip_prefix(self.said.as_str()).unwrap_or_default().to_owned();
                self.say(&rest, out);
                Ending::Stopped(StopReason::EndTurn)
            }
            (false, Some(trouble)) => Ending::Failed(Fault::from_words(trouble)),
            (true, _) => Ending::Failed(Fault::from_words(words_of(value))),
        };
        self.finish(ending, usage, out);
    }

    fn finish(&mut self, ending: Ending, usage: Option<Usage>, out: &mut Vec<Said>) {
        if std::mem::replace(&mut self.has_ended, true) {
            // What began after the end has nothing else to end it.
            return self.calls.close("the turn was over", out);
        }
        let why = match &ending {
            Ending::Stopped(StopReason::Cancelled) => "cancelled".to_owned(),
            Ending::Stopped(_) => "the CLI did not say how this ended".to_owned(),
            Ending::Failed(failure) => failure.message.clone(),
        };
        self.calls.close(&why, out);
        out.push(Said::TurnEnded(TurnEnd { ending, usage }));
    }
}

fn thinking(value: &Value, out: &mut Vec<Said>) -> bool {
    match value["subtype"].as_str().unwrap_or_default() {
        "delta" => {
            let text = value["text"].as_str().unwrap_or_default();
            if !text.is_empty() {
                out.push(Said::Update(Update::thought(text)));
            }
            true
        }
        "completed" => true,
        _ => false,
    }
}

fn start(id: &str, tool: &Tool) -> Call {
    let locations = tools::locations_of(&tool.args);
    Call {
        id: id.to_owned(),
        title: Some(tools::title_of(&tool.name, &tool.args)),
        name: Some(tool.name.clone()),
        kind: Some(tools::kind_of(&tool.name)),
        status: Some(Status::InProgress),
        content: tools::diff_of(&tool.name, &tool.args),
        locations: (!locations.is_empty()).then_some(locations),
        raw_input: (!tool.args.is_null()).then(|| tool.args.clone()),
        ..Call::default()
    }
}

fn words_of(value: &Value) -> String {
    let error = &value["error"];
    let places = [&value["message"], &error["message"], error, &value["result"]];
    let words = places.into_iter().find_map(Value::as_str).filter(|words| !words.is_empty());
    words.unwrap_or("the CLI stopped with an error that it did not name").to_owned()
}

fn usage_of(usage: &Value) -> Option<Usage> {
    let number = |name: &str| usage[name].as_u64();
    let (input, output) = (number("inputTokens"), number("outputTokens"));
    if input.is_none() && output.is_none() {
        return None;
    }
    let usage = Usage {
        input_tokens: input.unwrap_or_default(),
        output_tokens: output.unwrap_or_default(),
        cached_read_tokens: number("cacheReadTokens"),
        cached_write_tokens: number("cacheWriteTokens"),
        ..Usage::default()
    };
    let cached = [usage.cached_read_tokens, usage.cached_write_tokens];
    let [read, write] = cached.map(Option::unwrap_or_default);
    let total = counts::sum(&[usage.input_tokens, usage.output_tokens, read, write]);
    (total > 0).then_some(Usage { total_tokens: total, ..usage })
}

#[cfg(test)]
mod tests;
