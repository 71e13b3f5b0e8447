//! The result of a call to a server's tool, for the model and for people.
//!
//! In: a result as it came, in any shape. Out: bounded text and pictures, or an error with the
//! server's own words.

use serde_json::Value;

use super::super::tool::{CallContent, ToolError, ToolOutput};
use crate::native::chat::MessagePart;
use crate::native::excerpt;

/// Limit on all text of one result.
const MAX_CHARS: usize = 30_000;
/// Of these, from its beginning; the rest is from its end.
const HEAD_CHARS: usize = 20_000;
/// Base64 of all pictures of one result: a few screenshots.
const MAX_IMAGE_BYTES: usize = 8 << 20;

pub(super) fn read(result: &Value) -> Result<ToolOutput, ToolError> {
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
pub(super) fn bounded(text: &str) -> String {
    excerpt::ends(text, (HEAD_CHARS, MAX_CHARS - HEAD_CHARS), |n_left_out| {
        format!(
            "\n\n[{n_left_out} characters in the middle are left out; \
             ask the tool for less to see them]\n\n"
        )
    })
}

#[cfg(test)]
mod tests;
