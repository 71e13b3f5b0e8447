//! What a session has used, as far as its agent tells.

use serde_json::Value;
use wire::event::TurnEnded;

#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Usage {
    /// Tokens of all turns.
    pub(crate) tokens: u64,
    /// Tokens that the model sees now, and how many it can see.
    pub(crate) context: Option<(u64, u64)>,
    pub(crate) cost_usd: Option<f64>,
}

impl Usage {
    pub(super) fn update(&mut self, update: &Value) {
        if let (Some(used), Some(size)) = (update["used"].as_u64(), update["size"].as_u64())
            && size > 0
        {
            self.context = Some((used, size));
        }
        let cost = &update["cost"];
        let is_usd = cost["currency"].as_str().is_none_or(|c| c.eq_ignore_ascii_case("usd"));
        if let Some(amount) = cost["amount"].as_f64().filter(|_| is_usd) {
            self.cost_usd = Some(amount);
        }
    }

    /// How full the context is, as far as that can be; agents count more than fits.
    pub(crate) fn percent(&self) -> Option<u8> {
        let (used, size) = self.context?;
        let percent = u128::from(used) * 100 / u128::from(size.max(1));
        Some(u8::try_from(percent.min(100)).unwrap_or(100))
    }

    pub(super) fn turn_ended(&mut self, ended: &TurnEnded<'_>) {
        let tokens = projection::Usage::of(ended).map(|usage| usage.total());
        self.tokens = self.tokens.saturating_add(tokens.unwrap_or_default());
    }
}
