//! Token counts and costs, under the many names that agents give them.
//!
//! In: a `turn_ended` or a `usage_update`. Out: one set of numbers. A
//! number that no agent gave stays unknown; it is never taken for zero.

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use utoipa::ToSchema;

use wire::RawJson;
use wire::event::{Limit, LimitReached, TurnEnded};

use super::json::{JsonNode, JsonObject};

/// The tokens of one turn, named as the UI vocabulary names them.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct TurnUsage {
    pub input_tokens: Option<u64>,
    pub output_tokens: Option<u64>,
    pub thought_tokens: Option<u64>,
    pub cached_read_tokens: Option<u64>,
    pub cached_write_tokens: Option<u64>,
    pub total_tokens: Option<u64>,
}

impl TurnUsage {
    /// Looks where agents put it: `usage` of our own event or of the prompt's result, and
    /// Gemini's `_meta.quota.token_count`.
    pub fn of(ended: &TurnEnded<'_>) -> Option<Self> {
        fn members(raw: Option<RawJson<'_>>) -> JsonObject<'_> {
            raw.map(|raw| JsonNode::of(raw).object()).unwrap_or_default()
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

    /// All tokens of the turn. Parts are only added where there is no sum: whether the input has
    /// the cached part in it differs from agent to agent, so that is left out.
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

    fn read(fields: &JsonObject<'_>) -> Self {
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

/// Tokens, context window and cost of a session, as its agent reports them.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConversationUsage {
    /// Tokens in the model's context now.
    #[schema(nullable = false)]
    pub used: Option<u64>,
    /// Size of the model's context window in tokens.
    #[schema(nullable = false)]
    pub size: Option<u64>,
    #[schema(nullable = false)]
    pub cost: Option<ConversationCost>,
    /// Sum of the costs that were reported before the agent began to count anew.
    pub cost_before: f64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ConversationCost {
    pub amount: f64,
    pub currency: String,
}

/// The usage of a session so far, and its cost before the running turn.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct UsageTracker {
    pub(crate) usage: ConversationUsage,
    cost_at_turn_start: f64,
}

impl UsageTracker {
    pub(crate) fn start_turn(&mut self) {
        self.cost_at_turn_start = self.usage.cost_usd().unwrap_or_default();
    }

    /// The cost of the running turn. Agents report the sum of the session, so this is a difference;
    /// rounding hides what binary fractions add to it.
    pub(crate) fn turn_cost_usd(&self) -> Option<f64> {
        let told = self.usage.cost_usd()?;
        let cost = told - self.cost_at_turn_start;
        // An agent that starts to count anew after a resume must not make a cost negative.
        let cost = if cost < 0.0 { told } else { cost };
        Some((cost * 1e9).round() / 1e9)
    }
}

impl ConversationUsage {
    /// Takes in a `usage_update`.
    pub(crate) fn update(&mut self, update: &JsonObject<'_>) {
        self.used = update.count("used").or(self.used);
        self.size = update.count("size").filter(|size| *size > 0).or(self.size);
        let cost = update.object("cost");
        if let Some(amount) = cost.get("amount").and_then(JsonNode::number) {
            let told = self.cost.as_ref().map_or(0.0, |cost| cost.amount);
            // Less than before: the agent began to count anew.
            if amount < told {
                self.cost_before += told;
            }
            let currency = cost.text("currency").map_or_else(|| "USD".into(), Into::into);
            self.cost = Some(ConversationCost { amount, currency });
        }
    }

    /// How many tokens the model can see at once.
    pub fn window(&self) -> Option<u64> {
        self.size
    }

    /// Cost of the whole session up to now, in US dollars.
    pub fn cost_usd(&self) -> Option<f64> {
        let cost = self.cost.as_ref()?;
        cost.currency.eq_ignore_ascii_case("usd").then_some(cost.amount)
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
