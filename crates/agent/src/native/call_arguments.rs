//! Arguments of a tool call, as models really write them.
//!
//! In: text that should be a JSON object. Out: the object, or a sentence that tells the model
//! what is wrong. Repaired is only what can be meant in one way: nothing at all, a fence
//! around it, JSON inside a JSON string, the same object twice, commas too many, line breaks and
//! backslashes that were not escaped, closing brackets that were forgotten. A string or a number
//! that was cut off is not made whole: half a file must not be written.

mod repair;

use serde_json::{Map, Value};

/// Longer arguments are refused: it is more than a file that a tool would write.
const MAX_BYTES: usize = 16 << 20;
/// JSON in a string in a string: some gateways encode twice.
const MAX_NESTED: usize = 3;
const EXCERPT_CHARS: usize = 60;

fn bad(why: impl std::fmt::Display) -> String {
    format!("The arguments could not be read: {why}. Call the tool again with one JSON object.")
}

/// Parses the arguments of a call; an error is a sentence for the model.
pub(super) fn parse(text: &str) -> Result<Map<String, Value>, String> {
    if text.len() > MAX_BYTES {
        return Err(bad(format!("they are longer than {MAX_BYTES} bytes")));
    }
    nested(text, MAX_NESTED)
}

fn nested(text: &str, depth: usize) -> Result<Map<String, Value>, String> {
    let text =
        unfenced(text.trim_matches(|c: char| c.is_whitespace() || c == '\u{feff}' || c == '\0'));
    if text.is_empty() {
        return Ok(Map::new());
    }
    let value = match serde_json::from_str(text) {
        Ok(value) => value,
        Err(error) => match only_object(text) {
            Some(value) => value,
            None => repaired(text, &error)?,
        },
    };
    match value {
        Value::Object(object) => Ok(object),
        Value::Null => Ok(Map::new()),
        Value::String(inner) if depth > 0 && looks_like_object(&inner) => nested(&inner, depth - 1),
        Value::String(_) => Err(bad("they are a string")),
        Value::Array(_) => Err(bad("they are a list")),
        Value::Bool(_) | Value::Number(_) => {
            Err(bad(format!("they are only `{}`", excerpt(text, 0))))
        }
    }
}

fn looks_like_object(text: &str) -> bool {
    let text = text.trim();
    text.is_empty() || text.starts_with(['{', '"']) || text.starts_with("```")
}

/// The text without the one Markdown fence that is around all of it.
fn unfenced(text: &str) -> &str {
    let inside = text.strip_prefix("```").and_then(|text| text.strip_suffix("```"));
    let Some((tag, inside)) = inside.and_then(|text| text.split_once('\n')) else { return text };
    let is_tag = tag.trim().chars().all(char::is_alphanumeric);
    if is_tag && !inside.contains("\n```") { inside.trim() } else { text }
}

/// Several objects in a row: some endpoints begin with an empty one, or say the same twice.
fn only_object(text: &str) -> Option<Value> {
    let mut only: Option<Value> = None;
    let mut empty = None;
    for value in serde_json::Deserializer::from_str(text).into_iter::<Value>() {
        let value = value.ok()?;
        let object = value.as_object()?;
        if object.is_empty() {
            empty = Some(value);
            continue;
        }
        if only.as_ref() == Some(&value) {
            continue;
        }
        if only.is_some() {
            return None;
        }
        only = Some(value);
    }
    only.or(empty)
}

fn repaired(text: &str, error: &serde_json::Error) -> Result<Value, String> {
    let repaired = repair::repair(text).map_err(|broken| match broken {
        repair::RepairError::InString => bad(
            "they end in the middle of a string, so they were probably cut off because the answer \
             was too long; use shorter arguments, for example several smaller edits",
        ),
        repair::RepairError::InValue => {
            bad("they end in the middle, so they were probably cut off")
        }
        repair::RepairError::Brackets => explained(text, error),
    })?;
    serde_json::from_str(&repaired).map_err(|_| explained(text, error))
}

fn explained(text: &str, error: &serde_json::Error) -> String {
    let at = offset(text, error.line(), error.column());
    bad(format!("{error}, near `{}`", excerpt(text, at)))
}

/// The byte offset of a line and a column; both are counted from 1, columns in bytes.
fn offset(text: &str, line: usize, column: usize) -> usize {
    let before: usize = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    before + column.saturating_sub(1)
}

/// The text around an offset, for errors.
fn excerpt(text: &str, at: usize) -> String {
    let mut start = at.saturating_sub(EXCERPT_CHARS / 2).min(text.len());
    while !text.is_char_boundary(start) {
        start -= 1;
    }
    let around = text.get(start..).unwrap_or_default().chars().take(EXCERPT_CHARS);
    around.map(|c| if c.is_control() { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests;
