//! Encodes requests in the format of Chat Completions.
//!
//! Always true: what goes out is what strict endpoints take. Users' messages that follow each
//! other are one; arguments that are not JSON go back as JSON that holds them; results of tools
//! are text, and their images follow in a message of the user. To a model without tools there
//! are neither calls nor results: both become text.

use serde_json::{Map, Value, json};

use super::EndpointQuirks;
use crate::native::call_arguments;
use crate::native::chat::{
    ChatMessage, ChatRequest, MessagePart, ModelToolCall, ToolSpec, parts_as_text,
};
use crate::native::endpoint::Endpoint;

pub(super) fn body(
    request: &ChatRequest,
    endpoint: &Endpoint,
    takes_images: bool,
    quirks: EndpointQuirks,
) -> Value {
    let mut body = Map::new();
    body.insert("model".to_owned(), json!(request.model));
    let is_in_words = request.calls_as_text || quirks.no_tools;
    let talk = MessageEncoder {
        takes_images,
        send_thoughts: endpoint.send_thoughts,
        calls_as_text: is_in_words,
    };
    body.insert("messages".to_owned(), talk.messages(&request.messages).into());
    body.insert("stream".to_owned(), json!(true));
    if !quirks.no_stream_options {
        body.insert("stream_options".to_owned(), json!({ "include_usage": true }));
    }
    if !request.tools.is_empty() && !is_in_words {
        body.insert("tools".to_owned(), request.tools.iter().map(tool).collect());
    }
    if let Some(tokens) = endpoint.table.max_tokens {
        let name = match quirks.renamed_max_tokens {
            true => "max_completion_tokens",
            false => "max_tokens",
        };
        body.insert(name.to_owned(), json!(tokens));
    }
    if let Some(temperature) = endpoint.table.temperature.filter(|_| !quirks.no_temperature) {
        body.insert("temperature".to_owned(), json!(temperature));
    }
    if let Some(effort) = request.effort.as_ref().filter(|_| !quirks.no_effort) {
        body.insert("reasoning_effort".to_owned(), json!(effort));
    }
    body.into()
}

fn tool(spec: &ToolSpec) -> Value {
    json!({ "type": "function", "function": {
        "name": spec.name, "description": spec.description, "parameters": spec.parameters,
    } })
}

struct MessageEncoder {
    takes_images: bool,
    send_thoughts: bool,
    /// Calls and results are sent as text.
    calls_as_text: bool,
}

/// The heading of a call's result, for a model that knows of no calls.
const RESULT: &str = "[What the call gave:]";

impl MessageEncoder {
    fn messages(&self, messages: &[ChatMessage]) -> Vec<Value> {
        let mut out: Vec<Value> = Vec::with_capacity(messages.len());
        let mut shown: Vec<MessagePart> = Vec::new();
        let mut user: Vec<MessagePart> = Vec::new();
        for message in messages {
            // An empty answer is left out, so it does not separate the messages before and after it
            // either.
            if matches!(message, ChatMessage::Assistant { text, calls, .. } if text.is_empty() && calls.is_empty())
            {
                continue;
            }
            if !matches!(message, ChatMessage::Tool { .. }) && !shown.is_empty() {
                user.append(&mut shown);
            }
            let is_of_user = match message {
                ChatMessage::User { .. } => true,
                ChatMessage::Tool { .. } => self.calls_as_text,
                ChatMessage::System { .. } | ChatMessage::Assistant { .. } => false,
            };
            if !is_of_user {
                self.flush(&mut user, &mut out);
            }
            match message {
                ChatMessage::System { text } => {
                    out.push(json!({ "role": "system", "content": text }));
                }
                ChatMessage::User { parts } => {
                    if let (Some(MessagePart::Text { text }), Some(MessagePart::Text { .. })) =
                        (user.last_mut(), parts.first())
                    {
                        text.push('\n');
                    }
                    user.extend(parts.iter().cloned());
                }
                ChatMessage::Assistant { text, calls, .. } if self.calls_as_text => {
                    out.push(json!({ "role": "assistant", "content": with_calls(text, calls) }));
                }
                ChatMessage::Assistant { text, thought, calls } => {
                    out.push(self.assistant(text, thought, calls));
                }
                ChatMessage::Tool { parts, .. } if self.calls_as_text => {
                    user.push(MessagePart::text(RESULT));
                    user.extend(parts.iter().cloned());
                }
                ChatMessage::Tool { call, parts } => {
                    let content = self.result(call, parts, &mut shown);
                    out.push(json!({
                        "role": "tool", "tool_call_id": call, "content": content,
                    }));
                }
            }
        }
        user.append(&mut shown);
        self.flush(&mut user, &mut out);
        out
    }

    fn flush(&self, parts: &mut Vec<MessagePart>, out: &mut Vec<Value>) {
        if !parts.is_empty() {
            out.push(json!({ "role": "user", "content": self.content(parts) }));
            parts.clear();
        }
    }

    /// The content of a message: one string where that is possible, because not every endpoint
    /// takes a list.
    fn content(&self, parts: &[MessagePart]) -> Value {
        let has_images = parts.iter().any(|part| matches!(part, MessagePart::Image { .. }));
        if !has_images || !self.takes_images {
            return parts_as_text(parts).into();
        }
        parts
            .iter()
            .map(|part| match part {
                MessagePart::Text { text } => json!({ "type": "text", "text": text }),
                MessagePart::Image { mime, data } => json!({
                    "type": "image_url",
                    "image_url": { "url": format!("data:{mime};base64,{data}") },
                }),
            })
            .collect()
    }

    fn assistant(&self, text: &str, thought: &str, calls: &[ModelToolCall]) -> Value {
        let mut message = json!({ "role": "assistant", "content": text });
        if calls.is_empty() {
            return message;
        }
        if text.is_empty() {
            message["content"] = Value::Null;
        }
        if self.send_thoughts && !thought.is_empty() {
            message["reasoning_content"] = json!(thought);
        }
        message["tool_calls"] = calls.iter().map(call).collect();
        message
    }

    /// The text of a result; its images are kept for the user's message after it.
    fn result(&self, call: &str, parts: &[MessagePart], shown: &mut Vec<MessagePart>) -> String {
        if !self.takes_images {
            return parts_as_text(parts);
        }
        let is_image = |part: &&MessagePart| matches!(part, MessagePart::Image { .. });
        let (images, texts): (Vec<_>, Vec<_>) = parts.iter().partition(is_image);
        if images.is_empty() {
            return parts_as_text(parts);
        }
        shown.push(MessagePart::text(format!("[Images of the tool call {call}]")));
        shown.extend(images.into_iter().cloned());
        match texts.is_empty() {
            true => "[The image follows.]".to_owned(),
            false => parts_as_text(texts),
        }
    }
}

/// An answer with its calls as text.
fn with_calls(text: &str, calls: &[ModelToolCall]) -> String {
    let calls = calls
        .iter()
        .map(|call| format!("[I called the tool {} with {}]", call.name, readable_arguments(call)));
    let text = Some(text.to_owned()).filter(|text| !text.is_empty());
    text.into_iter().chain(calls).collect::<Vec<_>>().join("\n")
}

fn call(call: &ModelToolCall) -> Value {
    json!({
        "id": call.id, "type": "function",
        "function": { "name": call.name, "arguments": readable_arguments(call) },
    })
}

/// The arguments as JSON: an endpoint that cannot read them would refuse this conversation for
/// ever.
fn readable_arguments(call: &ModelToolCall) -> String {
    match serde_json::from_str::<Map<String, Value>>(&call.arguments) {
        Ok(_) => call.arguments.clone(),
        Err(_) => match call_arguments::parse(&call.arguments) {
            Ok(repaired) => Value::Object(repaired).to_string(),
            Err(_) => json!({ "invalid_arguments": call.arguments }).to_string(),
        },
    }
}

#[cfg(test)]
mod tests;
