//! Responses of `OpenAI`, as Codex uses them.

use super::{Context, Event, Request, as_text, event, given, list, model_of, name_of, pieces};
use crate::model::request::{MessageRow, Role, text_of};
use crate::model::scenario::{Reply, ReplyPart};
use crate::model::tools::{Input, Tool};
use serde_json::{Value, json};

pub(super) fn read(body: &Value) -> Request {
    let one = [json!({ "type": "message", "role": "user", "content": body["input"] })];
    let items = if body["input"].is_string() { &one[..] } else { list(&body["input"]) };
    let mut tools: Vec<Tool> = list(&body["tools"]).iter().flat_map(offered).collect();
    let later = items.iter().filter(|item| item["type"] == "additional_tools");
    tools.extend(later.flat_map(|item| list(&item["tools"])).flat_map(offered));
    Request {
        model: model_of(body),
        is_stream: body["stream"] == true,
        rows: items.iter().filter_map(row).collect(),
        tools,
        schema: given(&body["text"]["format"]["schema"]),
    }
}

fn row(item: &Value) -> Option<MessageRow> {
    let text = text_of(&item["content"]);
    match item["type"].as_str().unwrap_or("message") {
        "message" => match item["role"].as_str() {
            Some("system" | "developer") => None,
            Some("assistant") => Some(MessageRow { role: Role::Assistant, text }),
            _ => Some(MessageRow { role: Role::User, text }),
        },
        kind if kind.ends_with("_output") => {
            Some(MessageRow { role: Role::Tool, text: String::new() })
        }
        kind if kind.ends_with("_call") => {
            Some(MessageRow { role: Role::Assistant, text: String::new() })
        }
        _ => None,
    }
}

/// A tool, or all tools of a namespace.
fn offered(tool: &Value) -> Vec<Tool> {
    let inside = list(&tool["tools"]);
    if inside.is_empty() {
        return vec![one_tool(tool, None)];
    }
    inside.iter().map(|one| one_tool(one, tool["name"].as_str())).collect()
}

fn one_tool(tool: &Value, namespace: Option<&str>) -> Tool {
    let schema = given(&tool["parameters"]);
    Tool { name: name_of(tool), namespace: namespace.map(str::to_owned), schema }
}

pub(super) fn stream(reply: &Reply, context: &Context) -> Vec<Event> {
    let mut told = EventSequence::default();
    let begun = response(context, "in_progress", &[]);
    told.tell("response.created", json!({ "response": begun }));
    told.tell("response.in_progress", json!({ "response": begun }));
    let mut items = Vec::new();
    for (index, part) in reply.parts.iter().enumerate() {
        let done = item(part, index, context);
        told.tell(
            "response.output_item.added",
            json!({ "output_index": index, "item": blank(&done) }),
        );
        match part {
            ReplyPart::Text(texts) => told.text(texts, &done, index),
            ReplyPart::Thought(texts) => told.thought(texts, &done, index),
            ReplyPart::Call(_) => told.call(&done, index),
        }
        told.tell("response.output_item.done", json!({ "output_index": index, "item": done }));
        items.push(done);
    }
    let (name, end) = ended(reply, context, &items);
    told.tell(name, json!({ "response": end }));
    told.events
}

pub(super) fn whole(reply: &Reply, context: &Context) -> Value {
    let items = reply.parts.iter().enumerate();
    let items: Vec<Value> = items.map(|(index, part)| item(part, index, context)).collect();
    ended(reply, context, &items).1
}

pub(super) fn failure() -> Event {
    let error = json!({ "code": "server_error", "message": "model 500: broke in mid-stream" });
    let response = json!({ "id": "resp_live", "object": "response", "status": "failed",
        "output": [], "error": error });
    let data = json!({ "type": "response.failed", "sequence_number": 99, "response": response });
    event("response.failed", &data)
}

/// An item of the output when it is complete.
fn item(part: &ReplyPart, index: usize, context: &Context) -> Value {
    match part {
        ReplyPart::Text(texts) => json!({ "id": context.id("msg", index), "type": "message",
            "role": "assistant", "status": "completed",
            "content": [{ "type": "output_text", "text": texts.concat(), "annotations": [] }] }),
        ReplyPart::Thought(texts) => json!({ "id": context.id("rs", index), "type": "reasoning",
            "summary": [{ "type": "summary_text", "text": texts.concat() }],
            "encrypted_content": "bGl2ZQ==" }),
        ReplyPart::Call(deed) => {
            let call = context.call(deed);
            let mut item = json!({ "call_id": context.id("call", index), "name": call.name,
                "status": "completed" });
            if let Some(namespace) = call.namespace {
                item["namespace"] = json!(namespace);
            }
            match call.input {
                Input::Json(arguments) => {
                    item["id"] = json!(context.id("fc", index));
                    item["type"] = json!("function_call");
                    item["arguments"] = json!(arguments.to_string());
                }
                Input::Text(input) => {
                    item["id"] = json!(context.id("ctc", index));
                    item["type"] = json!("custom_tool_call");
                    item["input"] = json!(input);
                }
            }
            item
        }
    }
}

/// The item as it is when it begins.
fn blank(item: &Value) -> Value {
    let mut blank = item.clone();
    for (member, empty) in [
        ("content", json!([])),
        ("summary", json!([])),
        ("arguments", json!("")),
        ("input", json!("")),
        ("status", json!("in_progress")),
    ] {
        if let Some(value) = blank.get_mut(member) {
            *value = empty;
        }
    }
    blank
}

#[derive(Default)]
struct EventSequence {
    events: Vec<Event>,
}

impl EventSequence {
    fn tell(&mut self, name: &'static str, mut data: Value) {
        data["type"] = json!(name);
        data["sequence_number"] = json!(self.events.len());
        let event = event(name, &data);
        self.events.push(match name {
            "response.output_text.delta" => as_text(event),
            _ => event,
        });
    }

    fn text(&mut self, texts: &[String], item: &Value, index: usize) {
        let at_index = |rest: Value| placed(item, index, "content_index", rest);
        let part = |text: &str| json!({ "type": "output_text", "text": text, "annotations": [] });
        let full = texts.concat();
        self.tell("response.content_part.added", at_index(json!({ "part": part("") })));
        for text in texts {
            self.tell("response.output_text.delta", at_index(json!({ "delta": text })));
        }
        self.tell("response.output_text.done", at_index(json!({ "text": full })));
        self.tell("response.content_part.done", at_index(json!({ "part": part(&full) })));
    }

    fn thought(&mut self, texts: &[String], item: &Value, index: usize) {
        let at_index = |rest: Value| placed(item, index, "summary_index", rest);
        let part = |text: &str| json!({ "type": "summary_text", "text": text });
        let full = texts.concat();
        self.tell("response.reasoning_summary_part.added", at_index(json!({ "part": part("") })));
        for text in texts {
            self.tell("response.reasoning_summary_text.delta", at_index(json!({ "delta": text })));
        }
        self.tell("response.reasoning_summary_text.done", at_index(json!({ "text": full })));
        self.tell("response.reasoning_summary_part.done", at_index(json!({ "part": part(&full) })));
    }

    fn call(&mut self, item: &Value, index: usize) {
        let (member, delta, done) = match item["type"].as_str() {
            Some("custom_tool_call") => (
                "input",
                "response.custom_tool_call_input.delta",
                "response.custom_tool_call_input.done",
            ),
            _ => (
                "arguments",
                "response.function_call_arguments.delta",
                "response.function_call_arguments.done",
            ),
        };
        let full = item[member].as_str().unwrap_or_default();
        for piece in pieces(full) {
            let data = json!({ "item_id": item["id"], "output_index": index, "delta": piece });
            self.tell(delta, data);
        }
        self.tell(done, json!({ "item_id": item["id"], "output_index": index, member: full }));
    }
}

fn placed(item: &Value, index: usize, counter: &str, mut rest: Value) -> Value {
    rest["item_id"] = item["id"].clone();
    rest["output_index"] = json!(index);
    rest[counter] = json!(0);
    rest
}

fn ended(reply: &Reply, context: &Context, items: &[Value]) -> (&'static str, Value) {
    let (name, status) = match reply.is_cut_short {
        true => ("response.incomplete", "incomplete"),
        false => ("response.completed", "completed"),
    };
    let mut end = response(context, status, items);
    end["usage"] = json!({
        "input_tokens": 100, "input_tokens_details": { "cached_tokens": 10 },
        "output_tokens": 25, "output_tokens_details": { "reasoning_tokens": 5 },
        "total_tokens": 125,
    });
    if reply.is_cut_short {
        end["incomplete_details"] = json!({ "reason": "max_output_tokens" });
    }
    (name, end)
}

fn response(context: &Context, status: &str, output: &[Value]) -> Value {
    json!({
        "id": context.id("resp", 0), "object": "response", "created_at": 1_700_000_000,
        "model": context.model, "status": status, "output": output,
        "parallel_tool_calls": true, "tools": [], "usage": null, "error": null,
        "incomplete_details": null,
    })
}
