//! A server's tool as one of ours, under a name that models accept, and the results of its calls.
//!
//! The name is `mcp__server__tool` in letters, digits, `_` and `-`, at most 64 long. The same pair
//! of server and tool has the same name in every session, and two pairs do not share one: where
//! something had to be changed, a digest of both is added.

use std::sync::Arc;

use futures_util::future::ready;
use serde_json::{Map, Value};

use super::offered_tools::OfferedTool;
use super::server::McpServer;
use crate::native::chat::{MessagePart, ToolSpec};
use crate::native::display_text;
use crate::native::excerpt;
use crate::native::tool::{
    CallContent, CallDescription, CallNeed, PreparedCall, Tool, ToolError, ToolKind, ToolOutput,
};

/// Characters of the arguments that people see; nobody should allow what was not shown.
const SHOWN_CHARS: usize = 100_000;

/// Limit on all text of one result.
const MAX_CHARS: usize = 30_000;
/// Of these, from its beginning; the rest is from its end.
const HEAD_CHARS: usize = 20_000;
/// Base64 of all pictures of one result: a few screenshots.
const MAX_IMAGE_BYTES: usize = 8 << 20;

/// A server's tool as one of ours. What the server says about it counts only where it is trusted.
pub(super) fn tool(name: String, offer: &OfferedTool, server: &Arc<McpServer>) -> Tool {
    let (called, of) = (offer.name.clone(), Arc::clone(server));
    let only_reads = server.spec.trusted && offer.only_reads;
    let spec = ToolSpec {
        name,
        description: match offer.description.is_empty() {
            true => format!("The tool {called} of {}.", server.spec.name),
            false => offer.description.clone(),
        },
        parameters: offer.schema.clone(),
    };
    let kind = if only_reads { ToolKind::Read } else { ToolKind::Other };
    Tool::taking_any(spec, kind, move |arguments, _| {
        Box::pin(ready(prepare(&called, &of, only_reads, arguments)))
    })
}

fn prepare(
    tool: &str,
    server: &Arc<McpServer>,
    only_reads: bool,
    arguments: Value,
) -> Result<PreparedCall, ToolError> {
    let arguments = match arguments {
        Value::Object(arguments) => arguments,
        Value::Null => Map::new(),
        _ => return Err(ToolError::new("The arguments must be one JSON object.")),
    };
    let content = match arguments.is_empty() {
        true => Vec::new(),
        false => {
            let text = serde_json::to_string_pretty(&arguments).unwrap_or_default();
            let text = display_text::asked(&excerpt::head(&text, SHOWN_CHARS));
            vec![CallContent::Text(display_text::fenced("json", &text))]
        }
    };
    let name = &server.spec.name;
    let shown =
        CallDescription { title: format!("{name}: {tool}"), content, ..CallDescription::default() };
    let need = match only_reads {
        true => CallNeed::Nothing,
        false => CallNeed::Permission { key: format!("mcp:{name}:{tool}") },
    };
    let (server, tool) = (Arc::clone(server), tool.to_owned());
    let work = async move { read(&server.call(&tool, arguments).await?) };
    Ok(PreparedCall { shown, need, work: Box::pin(work) })
}

/// Longest name that the strictest endpoints take.
const MAX_BYTES: usize = 64;
/// `_` and eight digits.
const DIGEST_BYTES: usize = 9;

pub(super) fn tool_name(server: &str, tool: &str) -> String {
    let plain = format!("mcp__{}__{}", sanitised(server), sanitised(tool));
    // A server that held the separator, or ended in half of it, could be read in two ways.
    let is_ambiguous = server.contains("__") || server.ends_with('_') || server.is_empty();
    let is_changed = sanitised(server) != server || sanitised(tool) != tool;
    if !is_ambiguous && !is_changed && plain.len() <= MAX_BYTES {
        return plain;
    }
    let kept: String = plain.chars().take(MAX_BYTES - DIGEST_BYTES).collect();
    format!("{kept}_{:08x}", digest(server, tool))
}

fn sanitised(text: &str) -> String {
    let is_fine = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    text.chars().map(|c| if is_fine(c) { c } else { '_' }).collect()
}

/// FNV-1a: it has to be the same tomorrow, and need not be secure.
fn digest(server: &str, tool: &str) -> u32 {
    let bytes = server.bytes().chain([0]).chain(tool.bytes());
    bytes.fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

/// The result of a call as it came, in any shape: bounded text and pictures, or an error with the
/// server's own words.
fn read(result: &Value) -> Result<ToolOutput, ToolError> {
    let blocks = result["content"].as_array().map(Vec::as_slice).unwrap_or_default();
    let (mut text, mut images, mut n_image_bytes) = (String::new(), Vec::new(), 0);
    let mut say = |said: &str| {
        if !text.is_empty() {
            text.push_str("\n\n");
        }
        text.push_str(said);
    };
    for block in blocks {
        match piece(block) {
            MessagePart::Text { text } => say(&text),
            MessagePart::Image { mime, data } => {
                if n_image_bytes + data.len() > MAX_IMAGE_BYTES {
                    say(&format!("[an image ({mime}) was too large and is left out]"));
                    continue;
                }
                n_image_bytes += data.len();
                images.push((mime, data));
            }
        }
    }
    let structured = &result["structuredContent"];
    if text.is_empty() && images.is_empty() && !structured.is_null() {
        text = serde_json::to_string_pretty(structured).unwrap_or_default();
    }
    let text = bounded(&text);
    if result["isError"] == Value::Bool(true) {
        let said = if text.is_empty() { "the tool failed without a word".to_owned() } else { text };
        return Err(ToolError(said));
    }
    let mut output = ToolOutput::default();
    if !text.is_empty() {
        output.parts.push(MessagePart::text(text.clone()));
        output.content.push(CallContent::Text(text));
    }
    for (mime, data) in images {
        output.content.push(CallContent::Image { mime: mime.clone(), data: data.clone() });
        output.parts.push(MessagePart::Image { mime, data });
    }
    if output.parts.is_empty() {
        output.parts.push(MessagePart::text("The tool gave no output."));
    }
    Ok(output)
}

fn piece(block: &Value) -> MessagePart {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mime = |block: &Value| block["mimeType"].as_str().unwrap_or("unknown type").to_owned();
    match block["type"].as_str().unwrap_or_default() {
        "text" => MessagePart::text(text(&block["text"])),
        "image" => MessagePart::Image { mime: mime(block), data: text(&block["data"]) },
        "audio" => MessagePart::text(format!("[audio ({}) is left out]", mime(block))),
        "resource_link" => {
            let (name, uri) = (text(&block["name"]), text(&block["uri"]));
            let about = text(&block["description"]);
            MessagePart::text(format!("[resource {name}: {uri}] {about}").trim_end().to_owned())
        }
        "resource" => {
            let resource = &block["resource"];
            let uri = text(&resource["uri"]);
            match (&resource["text"], &resource["blob"]) {
                (Value::String(text), _) => MessagePart::text(format!("[resource {uri}]\n{text}")),
                (_, Value::String(data)) if mime(resource).starts_with("image/") => {
                    MessagePart::Image { mime: mime(resource), data: data.clone() }
                }
                _ => {
                    MessagePart::text(format!("[resource {uri} ({}) is left out]", mime(resource)))
                }
            }
        }
        _ => MessagePart::text(block.to_string()),
    }
}

/// The beginning and the end of what is too long.
fn bounded(text: &str) -> String {
    excerpt::ends(text, (HEAD_CHARS, MAX_CHARS - HEAD_CHARS), |n_left_out| {
        format!(
            "\n\n[{n_left_out} characters in the middle are left out; \
             ask the tool for less to see them]\n\n"
        )
    })
}

#[cfg(test)]
mod tests;
