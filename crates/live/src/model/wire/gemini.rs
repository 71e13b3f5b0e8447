//! Google's generateContent.

use super::{Context, Event, Request, as_text, given, list, unnamed};
use crate::model::marker::Marker;
use crate::model::request::{MessageRow, Role, text_of};
use crate::model::scenario::{Reply, ReplyPart};
use crate::model::tools::Tool;
use serde_json::{Value, json};

// The client sends it back and nobody looks at it.
const SIGNATURE: &str = "bGl2ZQ==";

pub(super) fn read(path: &str, body: &Value) -> Request {
    let row = |content: &Value| {
        let parts = list(&content["parts"]);
        let text = text_of(&content["parts"]);
        let has_result = parts.iter().any(|part| part.get("functionResponse").is_some());
        let role = match content["role"].as_str() {
            Some("model") => Role::Assistant,
            _ if has_result && !Marker::is_in(&text) => Role::Tool,
            _ => Role::User,
        };
        MessageRow { role, text }
    };
    let tool = |declared: &Value| Tool {
        name: declared["name"].as_str().unwrap_or_default().to_owned(),
        namespace: None,
        schema: given(&declared["parametersJsonSchema"]).or(Some(declared["parameters"].clone())),
    };
    let config = &body["generationConfig"];
    let tools = list(&body["tools"]).iter().flat_map(|tool| list(&tool["functionDeclarations"]));
    Request {
        model: model_in(path),
        is_stream: path.ends_with(":streamGenerateContent"),
        rows: list(&body["contents"]).iter().map(row).collect(),
        tools: tools.map(tool).collect(),
        schema: given(&config["responseJsonSchema"]).or_else(|| given(&config["responseSchema"])),
    }
}

pub(super) fn stream(reply: &Reply, context: &Context) -> Vec<Event> {
    let mut events = Vec::new();
    for (index, part) in reply.parts.iter().enumerate() {
        for said in said(part, index, context) {
            let is_text = said.get("text").is_some() && said["thought"] != true;
            let row = unnamed(&body(context, &[said], None));
            events.push(if is_text { as_text(row) } else { row });
        }
    }
    events.push(unnamed(&body(context, &[json!({ "text": "" })], Some(finish(reply)))));
    events
}

pub(super) fn whole(reply: &Reply, context: &Context) -> Value {
    let parts = reply.parts.iter().enumerate();
    let parts: Vec<Value> = parts.flat_map(|(index, part)| said(part, index, context)).collect();
    body(context, &parts, Some(finish(reply)))
}

/// Google's own name of an HTTP status.
pub(super) fn status(code: u16) -> &'static str {
    match code {
        400 => "INVALID_ARGUMENT",
        401 => "UNAUTHENTICATED",
        403 => "PERMISSION_DENIED",
        404 => "NOT_FOUND",
        429 => "RESOURCE_EXHAUSTED",
        503 => "UNAVAILABLE",
        _ => "INTERNAL",
    }
}

fn said(part: &ReplyPart, index: usize, context: &Context) -> Vec<Value> {
    match part {
        ReplyPart::Text(texts) => texts.iter().map(|text| json!({ "text": text })).collect(),
        // Thoughts come as a subject in bold and a description.
        ReplyPart::Thought(texts) => {
            vec![json!({ "text": format!("**Thinking**\n\n{}", texts.concat()), "thought": true })]
        }
        ReplyPart::Call(deed) => {
            let call = context.call(deed);
            let call = json!({ "id": context.id("fc", index), "name": call.name,
                "args": call.input.json() });
            vec![json!({ "functionCall": call, "thoughtSignature": SIGNATURE })]
        }
    }
}

fn body(context: &Context, parts: &[Value], finish: Option<&str>) -> Value {
    let mut candidate = json!({ "content": { "role": "model", "parts": parts }, "index": 0 });
    if let Some(finish) = finish {
        candidate["finishReason"] = json!(finish);
    }
    json!({
        "candidates": [candidate], "modelVersion": context.model,
        "responseId": context.id("resp", 0),
        "usageMetadata": { "promptTokenCount": 100, "candidatesTokenCount": 25,
            "totalTokenCount": 130, "thoughtsTokenCount": 5, "cachedContentTokenCount": 10 },
    })
}

fn finish(reply: &Reply) -> &'static str {
    if reply.is_cut_short { "MAX_TOKENS" } else { "STOP" }
}

fn model_in(path: &str) -> String {
    let model = path.rsplit_once("/models/").map_or("", |(_, rest)| rest);
    model.split(':').next().unwrap_or_default().to_owned()
}
