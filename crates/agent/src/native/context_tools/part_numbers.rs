//! Numbers of parts as models write them: `12`, `"3-7, 12"`, `[3, "5-7"]`.

use std::ops::RangeInclusive;

use crate::native::tool::ToolError;
use serde_json::Value;

/// Most ranges in one list: more is not a choice.
const MAX_RANGES: usize = 1000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PartNumbers(Vec<RangeInclusive<u64>>);

impl PartNumbers {
    /// Reads a list of ranges; none where nothing was given.
    pub(super) fn read(value: &Value) -> Result<Option<Self>, ToolError> {
        let mut ranges = Vec::new();
        collect(value, &mut ranges)?;
        Ok((!ranges.is_empty()).then_some(Self(ranges)))
    }

    pub(super) fn has(&self, number: u64) -> bool {
        self.0.iter().any(|range| range.contains(&number))
    }

    /// Single numbers that are not among `known`.
    pub(super) fn unknown(&self, known: impl Fn(u64) -> bool) -> Vec<u64> {
        let single = self.0.iter().filter(|range| range.start() == range.end());
        single.map(|range| *range.start()).filter(|number| !known(*number)).collect()
    }
}

impl std::fmt::Display for PartNumbers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let shown = self.0.iter().map(|range| match range.start() == range.end() {
            true => range.start().to_string(),
            false => format!("{}-{}", range.start(), range.end()),
        });
        f.write_str(&shown.collect::<Vec<_>>().join(", "))
    }
}

fn collect(value: &Value, ranges: &mut Vec<RangeInclusive<u64>>) -> Result<(), ToolError> {
    let bad = || {
        let shown: String = value.to_string().chars().take(60).collect();
        ToolError(format!("`{shown}` is no number of a part; write `12` or `3-7, 12`."))
    };
    if ranges.len() >= MAX_RANGES {
        return Err(ToolError(format!("More than {MAX_RANGES} numbers; give ranges.")));
    }
    match value {
        Value::Null => {}
        Value::Array(values) => {
            for value in values {
                // Lists in lists are nobody's way to write this.
                match value {
                    Value::Array(_) => return Err(bad()),
                    value => collect(value, ranges)?,
                }
            }
        }
        Value::Number(number) => {
            let number = number.as_u64().ok_or_else(bad)?;
            ranges.push(number..=number);
        }
        Value::String(text) => {
            let words = text.split(|c: char| c == ',' || c.is_whitespace());
            for word in words.filter(|word| !word.is_empty()).take(MAX_RANGES) {
                let (from, to) = word.split_once('-').unwrap_or((word, word));
                let from: u64 = from.parse().map_err(|_| bad())?;
                let to: u64 = to.parse().map_err(|_| bad())?;
                ranges.push(from.min(to)..=from.max(to));
            }
        }
        Value::Bool(_) | Value::Object(_) => return Err(bad()),
    }
    Ok(())
}

#[cfg(test)]
mod tests;
