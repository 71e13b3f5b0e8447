//! Arithmetic of token counts. A CLI may print any number, so sums saturate.

use super::TokenUsage;

/// The sum of some counts.
pub(super) fn sum(counts: &[u64]) -> u64 {
    counts.iter().fold(0, |sum, count| sum.saturating_add(*count))
}

/// Adds to a count that stays absent while it is 0.
pub(super) fn add(sum: &mut Option<u64>, count: u64) {
    if count > 0 {
        *sum = Some(sum.unwrap_or_default().saturating_add(count));
    }
}

impl TokenUsage {
    pub(super) fn plus(&self, other: &Self) -> Self {
        self.combine(other, u64::saturating_add)
    }

    /// The tokens used since `before` was counted.
    pub(super) fn minus(&self, before: &Self) -> Self {
        self.combine(before, u64::saturating_sub)
    }

    fn combine(&self, other: &Self, with: fn(u64, u64) -> u64) -> Self {
        let maybe = |a: Option<u64>, b: Option<u64>| match (a, b) {
            (None, None) => None,
            (a, b) => Some(with(a.unwrap_or_default(), b.unwrap_or_default())),
        };
        Self {
            total_tokens: with(self.total_tokens, other.total_tokens),
            input_tokens: with(self.input_tokens, other.input_tokens),
            output_tokens: with(self.output_tokens, other.output_tokens),
            thought_tokens: maybe(self.thought_tokens, other.thought_tokens),
            cached_read_tokens: maybe(self.cached_read_tokens, other.cached_read_tokens),
            cached_write_tokens: maybe(self.cached_write_tokens, other.cached_write_tokens),
        }
    }

    /// Adds the tokens of one more request to the model.
    pub(super) fn add(&mut self, more: &TokenUsage) {
        self.total_tokens = self.total_tokens.saturating_add(more.total_tokens);
        self.input_tokens = self.input_tokens.saturating_add(more.input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(more.output_tokens);
        add(&mut self.thought_tokens, more.thought_tokens.unwrap_or_default());
        add(&mut self.cached_read_tokens, more.cached_read_tokens.unwrap_or_default());
        add(&mut self.cached_write_tokens, more.cached_write_tokens.unwrap_or_default());
    }
}
