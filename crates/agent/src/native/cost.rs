//! The cost of an answer.
//!
//! In: what endpoints tell beside an answer, and prices per million tokens. Out: billionths of a
//! US dollar. Nothing is guessed: where neither is known there is no cost.
//!
//! | who | where |
//! |---|---|
//! | OpenRouter; LiteLLM with `include_cost_in_streaming_usage` | `usage.cost`, in dollars |
//! | xAI | `usage.cost_in_usd_ticks`, ten billion to the dollar |
//! | Perplexity | `usage.cost.total_cost` |
//! | DeepInfra | `usage.estimated_cost` |
//! | LiteLLM, for answers that are not streamed | the header `x-litellm-response-cost` |

use reqwest::header::HeaderMap;
use serde::Deserialize;
use serde_json::Value;

use super::chat::TokenUsage;

const NANOS: f64 = 1e9;
const TICKS_OF_A_NANO: f64 = 10.0;
/// A higher amount is no cost of an answer but a mistake.
const MOST_USD: f64 = 1e6;

/// US dollars per million tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    pub input: f64,
    pub output: f64,
    /// For input that the endpoint had cached; as other input if nothing is said.
    #[serde(default)]
    pub cached: Option<f64>,
}

impl Price {
    /// Whether all of these are plausible prices.
    pub fn is_sound(self) -> bool {
        let is_price = |price: f64| (0.0..=MOST_USD).contains(&price);
        is_price(self.input) && is_price(self.output) && self.cached.is_none_or(is_price)
    }

    /// The cost of an answer in billionths of a dollar.
    pub fn of(self, usage: TokenUsage) -> u64 {
        #[allow(clippy::cast_precision_loss, reason = "counts beyond 2^53 are nonsense")]
        let millions = |tokens: u64| tokens as f64 / 1e6;
        let cached = usage.cached.min(usage.input);
        let dollars = millions(usage.input - cached) * self.input
            + millions(cached) * self.cached.unwrap_or(self.input)
            + millions(usage.output) * self.output;
        nanos(dollars).unwrap_or(0)
    }
}

/// The cost in the `usage` of an answer.
pub(super) fn of_usage(usage: &Value) -> Option<u64> {
    if let Some(ticks) = amount(&usage["cost_in_usd_ticks"]) {
        return nanos(ticks / TICKS_OF_A_NANO / NANOS);
    }
    let dollars = match usage.get("cost").or(usage.get("estimated_cost"))? {
        Value::Object(parts) => amount(parts.get("total_cost")?)?,
        told => amount(told)?,
    };
    // Who brings a key of their own pays its provider, and OpenRouter a fee.
    let upstream = amount(&usage["cost_details"]["upstream_inference_cost"]);
    let upstream = upstream.filter(|_| usage["is_byok"] == true);
    nanos(dollars + upstream.unwrap_or(0.0))
}

/// The cost in the headers before an answer. A stream has no cost when it begins, and `LiteLLM` may
/// say then that it is zero.
pub(super) fn of_headers(headers: &HeaderMap) -> Option<u64> {
    let told = headers.get("x-litellm-response-cost")?.to_str().ok()?;
    nanos(told.trim().parse().ok()?).filter(|nanos| *nanos > 0)
}

/// The price in an entry of a list of models: dollars per token, as `OpenRouter` has them.
pub(super) fn of_listing(entry: &Value) -> Option<Price> {
    let per_million = |name: &str| amount(&entry["pricing"][name]).map(|price| price * 1e6);
    let price = Price {
        input: per_million("prompt")?,
        output: per_million("completion")?,
        cached: per_million("input_cache_read"),
    };
    price.is_sound().then_some(price)
}

/// A number, also where it came as text.
fn amount(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    }
}

fn nanos(dollars: f64) -> Option<u64> {
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "checked to be a small positive number"
    )]
    (0.0..=MOST_USD).contains(&dollars).then(|| (dollars * NANOS).round() as u64)
}

#[cfg(test)]
mod tests;
