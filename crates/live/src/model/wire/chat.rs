//! Chat Completions, as `OpenAI` and most other vendors speak them.

use super::{Context, Event, Request, as_text, given, list, model_of, pieces, unnamed};
use crate::model::request::{MessageRow, Role, text_of};
use crate::model::scenario::{Reply, ReplyPart};
use crate::model::tools::Tool;
use serde_json::{Value, json};

pub(super) fn read(body: &Value) -> Request {
    let row = |message: &Value| {
        let role = match message["role"].as_str()? {
            "system" | "developer" => return None,
            "assistant" => Role::Assistant,
            "tool" | "function" => Role::Tool,
            _ => Role::User,
        };
        Some(MessageRow { role, text: text_of(&message["content"]) })
    };
    let tool = |tool: &Value| Tool {
        name: tool["function"]["name"].as_str().unwrap_or_default().to_owned(),
        namespace: None,
        schema: Some(tool["function"]["parameters"].clone()),
    };
    Request {
        model: model_of(body),
        is_stream: body["stream"] == true,
        rows: list(&body["messages"]).iter().filter_map(row).collect(),
        tools: list(&body["tools"]).iter().map(tool).collect(),
        schema: given(&body["response_format"]["json_schema"]["schema"]),
    }
}

pub(super) fn stream(reply: &Reply, context: &Context) -> Vec<Event> {
    let chunk = |delta: Value, finish: Value| {
        unnamed(&json!({
            "id": context.id("chatcmpl", 0), "object": "chat.completion.chunk",
            "created": 1_700_000_000, "model": context.model,
            "choices": [{ "index": 0, "delta": delta, "finish_reason": finish }],
        }))
    };
    let mut events = vec![chunk(json!({ "role": "assistant", "content": "" }), Value::Null)];
    let mut n_calls = 0;
    for part in &reply.parts {
        match part {
            ReplyPart::Text(texts) => events.extend(
                texts.iter().map(|text| as_text(chunk(json!({ "content": text }), Value::Null))),
            ),
            ReplyPart::Thought(texts) => events.extend(
                texts.iter().map(|text| chunk(json!({ "reasoning_content": text }), Value::Null)),
            ),
            ReplyPart::Call(deed) => {
                let call = context.call(deed);
                let function = json!({ "name": call.name, "arguments": "" });
                let opening = json!([{ "index": n_calls, "id": context.id("call", n_calls),
                    "type": "function", "function": function }]);
                events.push(chunk(json!({ "tool_calls": opening }), Value::Null));
                for piece in pieces(&call.input.json().to_string()) {
                    let more = json!([{ "index": n_calls, "function": { "arguments": piece } }]);
                    events.push(chunk(json!({ "tool_calls": more }), Value::Null));
                }
                n_calls += 1;
            }
        }
    }
    events.push(chunk(json!({}), json!(finish(reply))));
    events.push(unnamed(&json!({
        "id": context.id("chatcmpl", 0), "object": "chat.completion.chunk",
        "created": 1_700_000_000, "model": context.model, "choices": [], "usage": usage(),
    })));
    events.push(Event { name: None, data: "[DONE]".to_owned(), is_text: false });
    events
}

pub(super) fn whole(reply: &Reply, context: &Context) -> Value {
    let mut message = json!({ "role": "assistant", "content": "" });
    let (mut text, mut thought, mut calls) = (String::new(), String::new(), Vec::new());
    for part in &reply.parts {
        match part {
            ReplyPart::Text(texts) => text.push_str(&texts.concat()),
            ReplyPart::Thought(texts) => thought.push_str(&texts.concat()),
            ReplyPart::Call(deed) => {
                let call = context.call(deed);
                let arguments = call.input.json().to_string();
                calls.push(json!({ "id": context.id("call", calls.len()), "type": "function",
                    "function": { "name": call.name, "arguments": arguments } }));
            }
        }
    }
    message["content"] = json!(text);
    if !thought.is_empty() {
        message["reasoning_content"] = json!(thought);
    }
    if !calls.is_empty() {
        message["tool_calls"] = json!(calls);
    }
    json!({
        "id": context.id("chatcmpl", 0), "object": "chat.completion", "created": 1_700_000_000,
        "model": context.model, "usage": usage(),
        "choices": [{ "index": 0, "message": message, "finish_reason": finish(reply) }],
    })
}

fn finish(reply: &Reply) -> &'static str {
    match () {
        () if reply.is_cut_short => "length",
        () if reply.parts.iter().any(|part| matches!(part, ReplyPart::Call(_))) => "tool_calls",
        () => "stop",
    }
}

fn usage() -> Value {
    json!({
        "prompt_tokens": 100, "completion_tokens": 25, "total_tokens": 125,
        "prompt_tokens_details": { "cached_tokens": 10 },
        "completion_tokens_details": { "reasoning_tokens": 5 },
    })
}
