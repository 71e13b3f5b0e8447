//! What a session has used, as far as its agent tells.

use projection::TurnEnd;
use projection::json::{Node, Object};

#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Usage {
    /// Tokens of all turns.
    pub(crate) tokens: u64,
    /// Tokens that the model sees now, and how many it can see.
    pub(crate) context: Option<(u64, u64)>,
    pub(crate) cost_usd: Option<f64>,
}

impl Usage {
    pub(super) fn update(&mut self, update: &Object<'_>) {
        if let (Some(used), Some(size)) = (update.count("used"), update.count("size"))
            && size > 0
        {
            self.context = Some((used, size));
        }
        let cost = update.object("cost");
        let is_usd = cost.text("currency").is_none_or(|c| c.eq_ignore_ascii_case("usd"));
        if let Some(amount) = cost.get("amount").and_then(Node::number).filter(|_| is_usd) {
            self.cost_usd = Some(amount);
        }
    }

    /// How full the context is, as far as that can be; agents count more than fits.
    pub(crate) fn percent(&self) -> Option<u8> {
        let (used, size) = self.context?;
        let percent = u128::from(used) * 100 / u128::from(size.max(1));
        Some(u8::try_from(percent.min(100)).unwrap_or(100))
    }

    pub(super) fn turn_ended(&mut self, end: &TurnEnd) {
        let tokens = end.usage.as_ref().map(projection::Usage::total);
        self.tokens = self.tokens.saturating_add(tokens.unwrap_or_default());
    }
}
