//! Arguments of tools: their schemas for models, and reading what models write. Nearly right
//! counts.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value, json};

use super::ToolError;

/// One argument, as it is described to models.
#[derive(Debug)]
pub(in crate::native) struct Argument {
    name: &'static str,
    schema: Value,
    is_required: bool,
}

impl Argument {
    /// The same argument, without which a call cannot be made.
    pub(in crate::native) fn required(self) -> Self {
        Self { is_required: true, ..self }
    }
}

/// An argument with a schema of its own.
pub(in crate::native) fn any(name: &'static str, schema: Value) -> Argument {
    Argument { name, schema, is_required: false }
}

/// A string argument. `about` may be empty, here and below.
pub(in crate::native) fn string(name: &'static str, about: &str) -> Argument {
    any(name, described(json!({ "type": "string" }), about))
}

pub(in crate::native) fn integer(name: &'static str, about: &str) -> Argument {
    any(name, described(json!({ "type": "integer" }), about))
}

pub(in crate::native) fn boolean(name: &'static str, about: &str) -> Argument {
    any(name, described(json!({ "type": "boolean" }), about))
}

/// An argument that is one of a few words.
pub(in crate::native) fn word(name: &'static str, words: &[&str], about: &str) -> Argument {
    any(name, described(json!({ "type": "string", "enum": words }), about))
}

fn described(mut schema: Value, about: &str) -> Value {
    if !about.is_empty() {
        schema["description"] = json!(about);
    }
    schema
}

/// The schema of all arguments of a tool.
pub(in crate::native) fn schema(arguments: impl IntoIterator<Item = Argument>) -> Value {
    let (mut properties, mut required) = (Map::new(), Vec::new());
    for argument in arguments {
        required.extend(argument.is_required.then_some(argument.name));
        properties.insert(argument.name.to_owned(), argument.schema);
    }
    let mut schema = json!({ "type": "object", "properties": properties });
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema
}

/// Reads the arguments of `tool`; members that it does not know are ignored.
pub(super) fn read<T: DeserializeOwned>(tool: &str, arguments: Value) -> Result<T, ToolError> {
    let read = match arguments {
        // Some give nothing where nothing is needed.
        Value::Null => serde_json::from_value(Value::Object(Map::new())),
        Value::Object(_) => serde_json::from_value(arguments),
        _ => Err(serde::de::Error::custom("the arguments are not a JSON object")),
    };
    read.map_err(|error: serde_json::Error| {
        ToolError(format!(
            "`{tool}` cannot be called like this: {error}. Call it again with arguments as its \
             schema has them"
        ))
    })
}

/// A whole number, also as a string or a fraction; negative ones are 0.
pub(in crate::native) fn number<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<usize>, D::Error> {
    let value = Value::deserialize(deserializer)?;
    let number = match &value {
        Value::Null => return Ok(None),
        Value::String(text) if text.trim().is_empty() => return Ok(None),
        Value::String(text) => text.trim().parse::<f64>().ok(),
        value => value.as_f64(),
    };
    match number {
        // Saturates, which is what is wanted of both ends.
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        Some(number) => Ok(Some(number as usize)),
        None => Err(serde::de::Error::custom(format_args!("{value} is not a number"))),
    }
}

/// A truth value, also as a string.
pub(in crate::native) fn flag<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<bool, D::Error> {
    let value = Value::deserialize(deserializer)?;
    match &value {
        Value::Null => Ok(false),
        Value::Bool(flag) => Ok(*flag),
        Value::String(text) if text.eq_ignore_ascii_case("true") => Ok(true),
        Value::String(text) if text.eq_ignore_ascii_case("false") || text.is_empty() => Ok(false),
        _ => Err(serde::de::Error::custom(format_args!("{value} is neither true nor false"))),
    }
}

#[cfg(test)]
mod tests;
