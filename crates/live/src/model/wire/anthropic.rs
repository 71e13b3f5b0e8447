//! Anthropic's Messages.

use super::{Context, Event, Request, as_text, event, given, list, model_of, name_of, pieces};
use crate::model::marker::Marker;
use crate::model::request::{MessageRow, Role, text_of};
use crate::model::scenario::{Reply, ReplyPart};
use crate::model::tools::Tool;
use serde_json::{Value, json};

// The client sends it back and nobody looks at it.
const SIGNATURE: &str = "bGl2ZS1zaWduYXR1cmU=";

pub(super) fn read(body: &Value) -> Request {
    let row = |message: &Value| {
        let content = &message["content"];
        let text = text_of(content);
        let has_result = list(content).iter().any(|part| part["type"] == "tool_result");
        let role = match message["role"].as_str() {
            Some("assistant") => Role::Assistant,
            // A prompt that was waiting may come in the same message as a result.
            _ if has_result && !Marker::is_in(&text) => Role::Tool,
            _ => Role::User,
        };
        MessageRow { role, text }
    };
    let tool = |tool: &Value| Tool {
        name: name_of(tool),
        namespace: None,
        schema: Some(tool["input_schema"].clone()),
    };
    let format = [&body["output_config"]["format"], &body["output_format"]];
    Request {
        model: model_of(body),
        is_stream: body["stream"] == true,
        rows: list(&body["messages"]).iter().map(row).collect(),
        tools: list(&body["tools"]).iter().map(tool).collect(),
        schema: format.into_iter().find_map(|format| given(&format["schema"])),
    }
}

pub(super) fn stream(reply: &Reply, context: &Context) -> Vec<Event> {
    let start =
        json!({ "type": "message_start", "message": message(context, &[], &Value::Null, 1) });
    let mut events =
        vec![event("message_start", &start), event("ping", &json!({ "type": "ping" }))];
    for (index, part) in reply.parts.iter().enumerate() {
        let (block, deltas) = opened(part, index, context);
        let start =
            json!({ "type": "content_block_start", "index": index, "content_block": block });
        events.push(event("content_block_start", &start));
        for delta in deltas {
            let is_text = delta["type"] == "text_delta";
            let delta = json!({ "type": "content_block_delta", "index": index, "delta": delta });
            let delta = event("content_block_delta", &delta);
            events.push(if is_text { as_text(delta) } else { delta });
        }
        let stop = json!({ "type": "content_block_stop", "index": index });
        events.push(event("content_block_stop", &stop));
    }
    let delta = json!({ "stop_reason": stop_reason(reply), "stop_sequence": null });
    let end = json!({ "type": "message_delta", "delta": delta, "usage": { "output_tokens": 25 } });
    events.push(event("message_delta", &end));
    events.push(event("message_stop", &json!({ "type": "message_stop" })));
    events
}

pub(super) fn whole(reply: &Reply, context: &Context) -> Value {
    let block = |(index, part): (usize, &ReplyPart)| match part {
        ReplyPart::Text(texts) => json!({ "type": "text", "text": texts.concat() }),
        ReplyPart::Thought(texts) => {
            json!({ "type": "thinking", "thinking": texts.concat(), "signature": SIGNATURE })
        }
        ReplyPart::Call(deed) => {
            let call = context.call(deed);
            json!({ "type": "tool_use", "id": context.id("toolu", index), "name": call.name,
                "input": call.input.json() })
        }
    };
    let blocks: Vec<Value> = reply.parts.iter().enumerate().map(block).collect();
    message(context, &blocks, &json!(stop_reason(reply)), 25)
}

/// A block as it begins, and what then comes of it.
fn opened(part: &ReplyPart, index: usize, context: &Context) -> (Value, Vec<Value>) {
    match part {
        ReplyPart::Text(texts) => {
            let delta = |text| json!({ "type": "text_delta", "text": text });
            (json!({ "type": "text", "text": "" }), texts.iter().map(delta).collect())
        }
        ReplyPart::Thought(texts) => {
            let delta = |text| json!({ "type": "thinking_delta", "thinking": text });
            let mut deltas: Vec<Value> = texts.iter().map(delta).collect();
            deltas.push(json!({ "type": "signature_delta", "signature": SIGNATURE }));
            (json!({ "type": "thinking", "thinking": "", "signature": "" }), deltas)
        }
        ReplyPart::Call(deed) => {
            let call = context.call(deed);
            let id = context.id("toolu", index);
            let block = json!({ "type": "tool_use", "id": id, "name": call.name, "input": {} });
            let delta = |piece| json!({ "type": "input_json_delta", "partial_json": piece });
            (block, pieces(&call.input.json().to_string()).into_iter().map(delta).collect())
        }
    }
}

fn message(context: &Context, content: &[Value], stop_reason: &Value, n_out: u32) -> Value {
    json!({
        "id": context.id("msg", 0), "type": "message", "role": "assistant",
        "model": context.model, "content": content,
        "stop_reason": stop_reason, "stop_sequence": null,
        "usage": { "input_tokens": 100, "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0, "output_tokens": n_out, "service_tier": "standard" },
    })
}

fn stop_reason(reply: &Reply) -> &'static str {
    match () {
        () if reply.is_cut_short => "max_tokens",
        () if reply.parts.iter().any(|part| matches!(part, ReplyPart::Call(_))) => "tool_use",
        () => "end_turn",
    }
}
