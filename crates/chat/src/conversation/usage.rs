//! Tokens, context and cost of a session, as far as its agent reports them.

use projection::TurnEnd;
use projection::items::ConversationUsage;

#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct UsageTotals {
    /// Tokens of all turns.
    pub(crate) tokens: u64,
    /// Tokens that the model sees now, and how many it can see.
    pub(crate) context: Option<(u64, u64)>,
    pub(crate) cost_usd: Option<f64>,
}

impl UsageTotals {
    pub(super) fn update(&mut self, usage: &ConversationUsage) {
        self.context = usage.used.zip(usage.window());
        self.cost_usd = usage.cost_usd();
    }

    /// How full the context is, as far as that can be; agents count more than fits.
    pub(crate) fn percent(&self) -> Option<u8> {
        let (used, size) = self.context?;
        let percent = u128::from(used) * 100 / u128::from(size.max(1));
        Some(u8::try_from(percent.min(100)).unwrap_or(100))
    }

    pub(super) fn turn_ended(&mut self, end: &TurnEnd) {
        let tokens = end.usage.as_ref().map(projection::TurnUsage::total);
        self.tokens = self.tokens.saturating_add(tokens.unwrap_or_default());
    }
}
