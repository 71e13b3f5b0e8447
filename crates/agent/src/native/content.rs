//! Converts the content blocks of a prompt into message parts for a model.
//!
//! In: ACP content blocks. Out: parts, in the same order; nothing that was sent is dropped
//! without a word about it.

use serde_json::Value;

use super::chat::MessagePart;

const NOTHING: &str = "[The user sent an empty message.]";

/// Converts blocks; images go as such only to models that take them.
pub(super) fn parts(blocks: &[Value], takes_images: bool) -> Vec<MessagePart> {
    let mut all: Vec<MessagePart> = Vec::new();
    for block in blocks {
        let part = part(block, takes_images);
        match (all.last_mut(), part) {
            // Most endpoints work best with a single text.
            (Some(MessagePart::Text { text: before }), MessagePart::Text { text }) => {
                before.push('\n');
                before.push_str(&text);
            }
            (_, part) => all.push(part),
        }
    }
    if all.iter().all(|part| matches!(part, MessagePart::Text { text } if text.trim().is_empty())) {
        // Endpoints refuse a message without anything in it.
        return vec![MessagePart::text(NOTHING)];
    }
    all
}

fn part(block: &Value, takes_images: bool) -> MessagePart {
    let words = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    match block["type"].as_str() {
        Some("text") => MessagePart::Text { text: words(&block["text"]) },
        Some("image") => {
            let mime = words(&block["mimeType"]);
            match takes_images && block["data"].as_str().is_some_and(|data| !data.is_empty()) {
                true => MessagePart::Image { mime, data: words(&block["data"]) },
                false => MessagePart::text(format!("[Image: {mime}]")),
            }
        }
        Some("audio") => MessagePart::text(format!("[Audio: {}]", words(&block["mimeType"]))),
        Some("resource_link") => MessagePart::text(format!(
            "[Resource: {}] {}",
            words(&block["name"]),
            words(&block["uri"])
        )),
        Some("resource") => {
            let resource = &block["resource"];
            let uri = words(&resource["uri"]);
            match resource["text"].as_str() {
                Some(text) => MessagePart::text(format!("[Resource: {uri}]\n{text}")),
                None => {
                    let mime = words(&resource["mimeType"]);
                    let is_image = mime.starts_with("image/") && takes_images;
                    match resource["blob"].as_str() {
                        Some(data) if is_image => {
                            MessagePart::Image { mime, data: data.to_owned() }
                        }
                        _ => MessagePart::text(format!("[Resource: {uri}] ({mime})")),
                    }
                }
            }
        }
        other => MessagePart::text(format!("[{}]", other.unwrap_or("unknown content"))),
    }
}

/// The text of a prompt alone: for slash commands and titles.
pub(super) fn plain(blocks: &[Value]) -> String {
    let texts: Vec<&str> = blocks
        .iter()
        .filter(|block| block["type"] == "text")
        .filter_map(|block| block["text"].as_str())
        .collect();
    texts.join("\n")
}

#[cfg(test)]
mod tests;
