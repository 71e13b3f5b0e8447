//! Parsers that Codex's two dialects share: items, errors, token counts.
//!
//! `codex exec` and `codex app-server` print the same data, the one in `snake_case`, the other in
//! `camelCase`; these parsers take both.

pub(super) mod errors;
pub(super) mod items;
mod patch;
mod shell_command;
pub(super) mod texts;

use serde_json::Value;

use super::TokenUsage;
use crate::tools;

/// Token usage from Codex's counts: cached tokens are part of the input, reasoning of the output.
pub(super) fn usage_of(counts: &Value) -> Option<TokenUsage> {
    let number = |snake: &str, camel: &str| either(counts, snake, camel).as_u64();
    let input = number("input_tokens", "inputTokens")?;
    let output = number("output_tokens", "outputTokens")?;
    let total = number("total_tokens", "totalTokens");
    Some(TokenUsage {
        total_tokens: total.unwrap_or_else(|| input.saturating_add(output)),
        input_tokens: input,
        output_tokens: output,
        thought_tokens: number("reasoning_output_tokens", "reasoningOutputTokens"),
        cached_read_tokens: number("cached_input_tokens", "cachedInputTokens"),
        cached_write_tokens: number("cache_write_input_tokens", "cacheWriteInputTokens"),
    })
}

/// A member that goes by one of two names.
fn either<'a>(value: &'a Value, snake: &str, camel: &str) -> &'a Value {
    match &value[snake] {
        Value::Null => &value[camel],
        found => found,
    }
}

/// A name without its case and separators: `in_progress` and `inProgress` are one.
fn plain(name: &Value) -> String {
    tools::plain_name(name.as_str().unwrap_or_default())
}

#[cfg(test)]
mod tests;
