//! What payloads say, read leniently and made safe.

use projection::{describe_block, sanitize, sanitize_line};
use serde_json::Value;
use wire::Json;

/// One safe line.
pub(crate) fn line(text: &str, max_chars: usize) -> String {
    sanitize_line(text.trim(), max_chars)
}

/// Safe lines: the beginning of a text, and how much of it is left out.
pub(crate) fn lines(text: &str, max_chars: usize) -> String {
    let text = text.trim_matches(['\n', '\r']).trim_end();
    let Some((end, _)) = text.char_indices().nth(max_chars) else {
        return sanitize(text).into_owned();
    };
    let (shown, rest) = text.split_at(end);
    format!("{}\n…({} more characters)", sanitize(shown), rest.chars().count())
}

/// The text of content blocks: one, a list of them, or a bare string. What is no text is
/// named. Not safe yet.
pub(super) fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => blocks.iter().map(text_of).collect(),
        Value::Object(block) => match block.get("type").and_then(Value::as_str) {
            None | Some("text") => {
                block.get("text").and_then(Value::as_str).unwrap_or_default().to_owned()
            }
            // Some agents wrap blocks once more.
            Some("content") => block.get("content").map(text_of).unwrap_or_default(),
            Some(_) => describe_block(&Json::of(content)).unwrap_or_default(),
        },
        _ => String::new(),
    }
}

/// What a piece of the answer adds to it; `added` is what its text adds. What is no text is a
/// paragraph of its own.
pub(super) fn answer_of(content: &Value, mut added: Option<String>) -> String {
    let blocks = match content {
        Value::Array(blocks) => blocks.as_slice(),
        one => std::slice::from_ref(one),
    };
    let of_block = |block: &Value| match block["type"].as_str() {
        None | Some("text") => added.take().unwrap_or_default(),
        Some("content") => text_of(block),
        Some(_) => format!("\n\n{}\n\n", text_of(block)),
    };
    blocks.iter().map(of_block).collect()
}
