//! Tool calls: the main agent's, its sub-agents', and the plans among them.
//!
//! In: calls and results as blocks of messages. Out: each call once, from its start to its
//! end, and a plan instead of a call for the tools that only keep a list.

use std::collections::HashMap;

use serde_json::Value;

use super::super::Outputs;
use super::super::tool_calls::{MAX_LIVE_BYTES, ToolCallStates, keep_end};
use super::todos::ClaudeTodos;
use crate::tools;
use crate::update::{ContentBlock, ToolCall, ToolCallContent, ToolCallStatus};

/// The largest file whose old text is shown when it was overwritten.
const MAX_OLD_FILE_BYTES: usize = 256 << 10;

#[derive(Debug, Default)]
pub(super) struct ClaudeToolCalls {
    pub(super) calls: ToolCallStates,
    /// The inputs of this turn's calls, by id.
    inputs: HashMap<String, ClaudeCallInput>,
    todos: ClaudeTodos,
    /// The messages of sub-agents, by the call that started them.
    live: HashMap<String, String>,
}

#[derive(Debug)]
struct ClaudeCallInput {
    name: String,
    value: Value,
    parent: Option<String>,
}

impl ClaudeCallInput {
    fn call(&self, id: &str) -> ToolCall {
        tools::call_of(id, &self.name, &self.value, self.parent.as_deref())
    }
}

impl ClaudeToolCalls {
    /// The call's input, as the model gave it.
    pub(super) fn input_of(&self, id: &str) -> Option<&Value> {
        self.inputs.get(id).map(|input| &input.value)
    }

    /// Emits the start of a call whose input is still to come.
    pub(super) fn begin_call(&mut self, block: &Value, out: &mut Outputs) {
        let (id, name) = id_and_name(block);
        if id.is_empty() || ClaudeTodos::is_list(name) {
            return;
        }
        let call = ToolCall::of(tools::kind_of(name), name, name);
        self.calls.emit(
            ToolCall { id: id.to_owned(), status: Some(ToolCallStatus::Pending), ..call },
            out,
        );
    }

    /// Emits a call with its input.
    pub(super) fn call(&mut self, block: &Value, parent: Option<&str>, out: &mut Outputs) {
        let (id, name) = id_and_name(block);
        if id.is_empty() {
            return;
        }
        let input = ClaudeCallInput {
            name: name.to_owned(),
            value: block["input"].clone(),
            parent: parent.map(str::to_owned),
        };
        let said = input.call(id);
        self.inputs.insert(id.to_owned(), input);
        // A sub-agent's list is not the plan of this turn.
        if parent.is_some() || !ClaudeTodos::is_list(name) {
            self.calls.emit(ToolCall { status: Some(ToolCallStatus::InProgress), ..said }, out);
        }
    }

    /// The call that a question is about; it starts here if it has not.
    pub(super) fn call_of_question(
        &mut self,
        id: &str,
        name: &str,
        value: &Value,
        out: &mut Outputs,
    ) -> ToolCall {
        let parent = self.inputs.get(id).and_then(|input| input.parent.clone());
        let input = ClaudeCallInput { name: name.to_owned(), value: value.clone(), parent };
        let call = input.call(id);
        if !self.calls.is_known(id) && !ClaudeTodos::is_list(name) {
            self.calls
                .emit(ToolCall { status: Some(ToolCallStatus::Pending), ..call.clone() }, out);
            self.inputs.entry(id.to_owned()).or_insert(input);
        }
        call
    }

    /// Handles a message of a sub-agent.
    pub(super) fn subagent(&mut self, parent: &str, content: &Value, out: &mut Outputs) {
        for block in content.as_array().into_iter().flatten() {
            match block["type"].as_str().unwrap_or_default() {
                "text" => {
                    self.push_live_text(parent, block["text"].as_str().unwrap_or_default(), out);
                }
                kind if kind.ends_with("tool_use") => self.call(block, Some(parent), out),
                kind if kind.ends_with("tool_result") => self.result(block, &Value::Null, out),
                _ => {}
            }
        }
    }

    /// Emits live output of a tool, in the streams that have it.
    pub(super) fn progress(&mut self, event: &Value, out: &mut Outputs) {
        let id = event["tool_use_id"].as_str().unwrap_or_default();
        let content = &event["content"];
        let text = content.as_str().or_else(|| content["message"].as_str());
        if let Some(text) = text.filter(|_| self.calls.is_open(id)) {
            self.calls.emit(live_call(id, text), out);
        }
    }

    fn push_live_text(&mut self, parent: &str, text: &str, out: &mut Outputs) {
        if text.is_empty() || !self.calls.is_open(parent) {
            return;
        }
        let live = self.live.entry(parent.to_owned()).or_default();
        if !live.is_empty() {
            live.push('\n');
        }
        live.push_str(text);
        keep_end(live, MAX_LIVE_BYTES);
        let call = live_call(parent, live);
        self.calls.emit(call, out);
    }

    /// Handles the results in a `user` line; false when it has none.
    pub(super) fn results(&mut self, line: &Value, content: &Value, out: &mut Outputs) -> bool {
        let blocks = content.as_array().map(Vec::as_slice).unwrap_or_default();
        let results = || blocks.iter().filter(|block| block["type"] == "tool_result");
        // The structured output belongs to one call.
        let whole = if results().count() == 1 { &line["tool_use_result"] } else { &Value::Null };
        for block in results() {
            self.result(block, whole, out);
        }
        results().next().is_some()
    }

    pub(super) fn result(&mut self, block: &Value, whole: &Value, out: &mut Outputs) {
        let Some(id) = block["tool_use_id"].as_str().filter(|id| !id.is_empty()) else { return };
        let input = self.inputs.remove(id);
        self.live.remove(id);
        let is_error = block["is_error"] == true
            || block["content"]["type"].as_str().is_some_and(|kind| kind.ends_with("_error"));
        let name = input.as_ref().map_or("", |input| input.name.as_str());
        let is_plan = ClaudeTodos::is_list(name) && !self.calls.is_known(id);
        if let Some(input) = input.as_ref().filter(|_| is_plan && !is_error) {
            if let Some(entries) = self.todos.change(name, &input.value, block, whole) {
                out.plan(entries);
            }
            return;
        }
        let mut content = content_of(&block["content"], whole);
        if let Some(input) = input.as_ref().filter(|_| !is_error) {
            let diff = overwritten(whole).or_else(|| tools::diff_of(name, &input.value));
            content.splice(0..0, diff.unwrap_or_default());
        }
        let about = match (&input, self.calls.is_known(id)) {
            // A todo list that could not be changed is shown as a failed call.
            (Some(input), false) => input.call(id),
            _ => ToolCall { id: id.to_owned(), ..ToolCall::default() },
        };
        let call = ToolCall {
            status: Some(ToolCallStatus::of_end(is_error)),
            content: Some(content),
            raw_output: Some(raw_output(&block["content"], whole)),
            ..about
        };
        self.calls.emit(call, out);
    }

    /// Ends a call that the model made in an answer that was thrown away.
    pub(super) fn drop_call(&mut self, id: &str, out: &mut Outputs) {
        if self.calls.is_open(id) {
            let why = "the model's answer broke off before this was run";
            let content = vec![ToolCallContent::text(why)];
            self.calls.change(id, ToolCallStatus::Failed, content, out);
        }
        self.inputs.remove(id);
    }

    pub(super) fn close(&mut self, why: &str, out: &mut Outputs) {
        self.calls.close(why, out);
        self.inputs.clear();
        self.live.clear();
    }
}

fn id_and_name(block: &Value) -> (&str, &str) {
    (block["id"].as_str().unwrap_or_default(), block["name"].as_str().unwrap_or("tool"))
}

fn live_call(id: &str, text: &str) -> ToolCall {
    ToolCall {
        id: id.to_owned(),
        content: Some(vec![ToolCallContent::text(text)]),
        ..ToolCall::default()
    }
}

/// The content of a result, for people.
fn content_of(content: &Value, whole: &Value) -> Vec<ToolCallContent> {
    // A sub-agent's report, without the frame that the CLI puts around it for the model.
    let content = match &whole["content"] {
        report @ Value::Array(_) if whole["agentId"].is_string() => report,
        _ => content,
    };
    match content {
        Value::String(text) => vec![ToolCallContent::text(unframed(text))],
        Value::Array(blocks) => blocks.iter().filter_map(block_of).collect(),
        _ => Vec::new(),
    }
}

fn block_of(block: &Value) -> Option<ToolCallContent> {
    let text = |name: &str| block[name].as_str();
    match text("type")? {
        "text" => {
            let text = text("text").filter(|text| !text.starts_with("<tools-used-before-summary>"));
            text.map(|text| ToolCallContent::text(unframed(text)))
        }
        "image" => {
            let source = &block["source"];
            let data = source["data"].as_str()?.to_owned();
            let mime_type = source["media_type"].as_str().unwrap_or("image/png").to_owned();
            Some(ToolCallContent::Content { content: ContentBlock::Image { data, mime_type } })
        }
        "web_search_result" => {
            let title = text("title").unwrap_or_default();
            Some(ToolCallContent::text(format!("{title} {}", text("url").unwrap_or_default())))
        }
        _ => None,
    }
}

/// A text without the tags around errors, which are for the model.
fn unframed(text: &str) -> &str {
    let inner = text.strip_prefix("<tool_use_error>");
    inner.and_then(|text| text.strip_suffix("</tool_use_error>")).unwrap_or(text)
}

/// The diff of a file that was overwritten; the input does not show that the file existed.
fn overwritten(whole: &Value) -> Option<Vec<ToolCallContent>> {
    let old = whole["originalFile"].as_str().filter(|old| old.len() <= MAX_OLD_FILE_BYTES)?;
    if whole["type"] != "update" {
        return None;
    }
    let (path, new) = (whole["filePath"].as_str()?, whole["content"].as_str()?);
    Some(vec![ToolCallContent::Diff {
        path: path.to_owned(),
        old_text: Some(old.to_owned()),
        new_text: new.to_owned(),
    }])
}

fn raw_output(content: &Value, whole: &Value) -> Value {
    match whole {
        Value::Object(members) => {
            let mut members = members.clone();
            // The whole old file: long, and the diff is shown already.
            members.remove("originalFile");
            Value::Object(members)
        }
        _ => content.clone(),
    }
}
