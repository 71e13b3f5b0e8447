//! Token counts. What a CLI prints may be any number, so sums stop at the largest.

use super::Usage;

/// The sum of some counts.
pub(super) fn sum(counts: &[u64]) -> u64 {
    counts.iter().fold(0, |sum, count| sum.saturating_add(*count))
}

/// Adds to a count that is told only if there is one.
pub(super) fn add(sum: &mut Option<u64>, count: u64) {
    if count > 0 {
        *sum = Some(sum.unwrap_or_default().saturating_add(count));
    }
}

impl Usage {
    /// Adds what one more request to the model took.
    pub(super) fn add(&mut self, more: &Usage) {
        self.total_tokens = self.total_tokens.saturating_add(more.total_tokens);
        self.input_tokens = self.input_tokens.saturating_add(more.input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(more.output_tokens);
        add(&mut self.thought_tokens, more.thought_tokens.unwrap_or_default());
        add(&mut self.cached_read_tokens, more.cached_read_tokens.unwrap_or_default());
        add(&mut self.cached_write_tokens, more.cached_write_tokens.unwrap_or_default());
    }
}
