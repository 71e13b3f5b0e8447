//! Token counts. Codex counts over the whole thread; a turn's share is a difference.

use serde_json::Value;

use super::either;
use crate::dialect::Usage;

/// Counts as Codex gives them: cached tokens are part of the input, reasoning of the output.
pub(in crate::dialect) fn read(counts: &Value) -> Option<Usage> {
    let number = |snake: &str, camel: &str| either(counts, snake, camel).as_u64();
    let input = number("input_tokens", "inputTokens")?;
    let output = number("output_tokens", "outputTokens")?;
    let total = number("total_tokens", "totalTokens");
    Some(Usage {
        total_tokens: total.unwrap_or_else(|| input.saturating_add(output)),
        input_tokens: input,
        output_tokens: output,
        thought_tokens: number("reasoning_output_tokens", "reasoningOutputTokens"),
        cached_read_tokens: number("cached_input_tokens", "cachedInputTokens"),
        cached_write_tokens: number("cache_write_input_tokens", "cacheWriteInputTokens"),
    })
}

/// What was used between two counts.
pub(in crate::dialect) fn since(now: &Usage, before: &Usage) -> Usage {
    let less = |now: Option<u64>, before: Option<u64>| {
        now.map(|now| now.saturating_sub(before.unwrap_or_default()))
    };
    Usage {
        total_tokens: now.total_tokens.saturating_sub(before.total_tokens),
        input_tokens: now.input_tokens.saturating_sub(before.input_tokens),
        output_tokens: now.output_tokens.saturating_sub(before.output_tokens),
        thought_tokens: less(now.thought_tokens, before.thought_tokens),
        cached_read_tokens: less(now.cached_read_tokens, before.cached_read_tokens),
        cached_write_tokens: less(now.cached_write_tokens, before.cached_write_tokens),
    }
}
