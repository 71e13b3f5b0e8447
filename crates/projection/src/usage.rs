//! Tokens and money, under the many names they have.
//!
//! In: a `turn_ended` or a `usage_update`. Out: one set of numbers. A
//! number that no agent gave stays unknown; it is never taken for zero.

use serde::Serialize;

use wire::RawJson;
use wire::event::{Limit, LimitReached, TurnEnded};

use super::json::{Node, Object};

/// The tokens of one turn, named as the UI vocabulary names them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Usage {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thought_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cached_read_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cached_write_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_tokens: Option<u64>,
}

impl Usage {
    /// Looks where agents put it: `usage` of our own event or of the prompt's result, and
    /// Gemini's `_meta.quota.token_count`.
    pub fn of(ended: &TurnEnded<'_>) -> Option<Self> {
        fn members(raw: Option<RawJson<'_>>) -> Object<'_> {
            raw.map(|raw| Node::of(raw).object()).unwrap_or_default()
        }
        let result = members(ended.result);
        let meta = result.object("_meta");
        [
            members(ended.usage),
            result.object("usage"),
            meta.object("usage"),
            meta.object("quota").object("token_count"),
        ]
        .iter()
        .map(Self::read)
        .find(|usage| *usage != Self::default())
    }

    /// All tokens of the turn. Parts are only added where the sum is not told: whether the input
    /// has the cached part in it differs from agent to agent, so that is left out.
    pub fn total(&self) -> u64 {
        self.total_tokens.unwrap_or_else(|| {
            let (input, output) = (self.input_tokens, self.output_tokens);
            input.unwrap_or_default().saturating_add(output.unwrap_or_default())
        })
    }

    /// Whether no number in it is above zero.
    pub(crate) fn is_zero(&self) -> bool {
        let counts = [
            self.input_tokens,
            self.output_tokens,
            self.thought_tokens,
            self.cached_read_tokens,
            self.cached_write_tokens,
            self.total_tokens,
        ];
        counts.into_iter().flatten().all(|count| count == 0)
    }

    fn read(fields: &Object<'_>) -> Self {
        let first = |names: &[&str]| names.iter().find_map(|name| fields.count(name));
        Self {
            input_tokens: first(&["inputTokens", "input_tokens"]),
            output_tokens: first(&["outputTokens", "output_tokens"]),
            thought_tokens: first(&["thoughtTokens", "thought_tokens", "reasoningOutputTokens"]),
            cached_read_tokens: first(&[
                "cachedReadTokens",
                "cachedInputTokens",
                "cached_read_tokens",
                "cache_read_input_tokens",
            ]),
            cached_write_tokens: first(&[
                "cachedWriteTokens",
                "cached_write_tokens",
                "cache_creation_input_tokens",
            ]),
            total_tokens: first(&["totalTokens", "total_tokens"]),
        }
    }
}

/// What a session has used so far, from `usage_update`.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Context {
    /// How many tokens the model can see at once.
    pub(crate) window: Option<u64>,
    /// Cost of the whole session up to now, in US dollars.
    cost_usd: Option<f64>,
    cost_at_turn_start: f64,
}

impl Context {
    pub(crate) fn update(&mut self, update: &Object<'_>) {
        if let Some(size) = update.count("size").filter(|size| *size > 0) {
            self.window = Some(size);
        }
        let cost = update.object("cost");
        let is_usd = cost.text("currency").is_none_or(|c| c.eq_ignore_ascii_case("usd"));
        if let Some(amount) = cost.get("amount").and_then(Node::number)
            && is_usd
        {
            self.cost_usd = Some(amount);
        }
    }

    pub(crate) fn start_turn(&mut self) {
        self.cost_at_turn_start = self.cost_usd.unwrap_or_default();
    }

    /// What the running turn has cost. Agents report the sum of the session, so this is a
    /// difference; rounding hides what binary fractions add to it.
    pub(crate) fn turn_cost_usd(&self) -> Option<f64> {
        let cost = self.cost_usd? - self.cost_at_turn_start;
        // An agent that starts to count anew after a resume must not earn money.
        let cost = if cost < 0.0 { self.cost_usd? } else { cost };
        Some((cost * 1e9).round() / 1e9)
    }
}

/// `5300 of 5000 tokens are used`.
pub(crate) fn limit_words(reached: &LimitReached) -> String {
    let LimitReached { used, allowed, .. } = reached;
    match reached.limit {
        Limit::Turns => format!("{used} of {allowed} turns are used"),
        Limit::RunningSeconds => format!("{used} of {allowed} seconds of running time are used"),
        Limit::InactiveSeconds => format!("the agent has said nothing for {used} seconds"),
        Limit::Tokens => format!("{used} of {allowed} tokens are used"),
        Limit::CostUsd => format!("{used} of {allowed} US dollars are used"),
    }
}

#[cfg(test)]
mod tests;
