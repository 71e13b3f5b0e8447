//! Arguments as models write them: nearly right counts.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::ToolError;

/// Reads the arguments of `tool`; members that it does not know are ignored.
pub(in crate::native) fn read<T: DeserializeOwned>(
    tool: &str,
    arguments: Value,
) -> Result<T, ToolError> {
    let read = match arguments {
        // Some give nothing where nothing is needed.
        Value::Null => serde_json::from_value(Value::Object(serde_json::Map::new())),
        Value::Object(_) => serde_json::from_value(arguments),
        _ => Err(serde::de::Error::custom("the arguments are not a JSON object")),
    };
    read.map_err(|error: serde_json::Error| {
        ToolError::new(format_args!(
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
