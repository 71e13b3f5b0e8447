//! Arithmetic of token counts. A CLI may print any number, so sums saturate.

use super::TokenUsage;

/// The sum of some counts.
pub(super) fn sum(counts: &[u64]) -> u64 {
    counts.iter().fold(0, |sum, count| sum.saturating_add(*count))
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

    /// Adds the tokens of one more request to the model. A count stays absent while it is 0.
    pub(super) fn add(&mut self, more: &Self) {
        let counted = |count: Option<u64>| count.filter(|count| *count > 0);
        *self = self.plus(&Self {
            thought_tokens: counted(more.thought_tokens),
            cached_read_tokens: counted(more.cached_read_tokens),
            cached_write_tokens: counted(more.cached_write_tokens),
            ..*more
        });
    }

    /// Input, output and what was cached, for CLIs that count each of them apart.
    pub(super) fn sum_of_parts(&self) -> u64 {
        let cached = [self.cached_read_tokens, self.cached_write_tokens];
        let [read, write] = cached.map(Option::unwrap_or_default);
        sum(&[self.input_tokens, self.output_tokens, read, write])
    }
}
