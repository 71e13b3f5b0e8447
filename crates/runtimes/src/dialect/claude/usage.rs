//! Counts of tokens and cost.
//!
//! Claude reports the tokens of each turn and the cost of the process so far; Qwen reports the
//! tokens of the whole conversation, earlier processes included. Out: the tokens of one turn,
//! how full the context is, and the cost so far.

use std::collections::BTreeMap;

use serde_json::Value;

use super::super::{Outputs, TokenUsage};
use super::StreamJsonFlavour;
use crate::update::{Cost, SessionUpdate};

#[derive(Debug, Default)]
pub(super) struct UsageCounter {
    model: Option<String>,
    /// Context windows, by model; only a `result` has them.
    windows: BTreeMap<String, u64>,
    /// The usage of the last message: that much is in the context now.
    message: TokenUsage,
    message_id: Option<String>,
    /// The usage of all earlier messages of this turn.
    messages: TokenUsage,
    /// The conversation's total before this turn, if known.
    pub(super) before: Option<TokenUsage>,
    turn: Option<TokenUsage>,
    cost: Option<f64>,
    /// The last update that was emitted (used, size, cost), so that none is emitted twice.
    last_emitted: Option<(u64, u64, Option<f64>)>,
}

impl UsageCounter {
    pub(super) fn begin(&mut self) {
        self.messages = TokenUsage::default();
        self.turn = None;
        self.message_id = None;
    }

    pub(super) fn model(&mut self, model: Option<&str>) {
        if let Some(model) = model.filter(|model| !model.starts_with('<')) {
            self.model = Some(model.to_owned());
        }
    }

    pub(super) fn message_start(&mut self, message: &Value) {
        self.count();
        self.message_id = message["id"].as_str().map(str::to_owned);
        self.model(message["model"].as_str());
        self.message = usage_of(&message["usage"]);
    }

    /// Updates the totals of the message that is streamed; some deltas have only some of them.
    pub(super) fn message_delta(&mut self, usage: &Value, out: &mut Outputs) {
        let last = usage_of(usage);
        let newer = |new: u64, old: u64| if new > 0 { new } else { old };
        self.message.input_tokens = newer(last.input_tokens, self.message.input_tokens);
        self.message.output_tokens = newer(last.output_tokens, self.message.output_tokens);
        self.message.cached_read_tokens =
            last.cached_read_tokens.or(self.message.cached_read_tokens);
        self.message.cached_write_tokens =
            last.cached_write_tokens.or(self.message.cached_write_tokens);
        self.message.total_tokens = self.message.sum_of_parts();
        self.emit(out);
    }

    /// Counts a whole message, or one of several lines of it with the same usage.
    pub(super) fn message(&mut self, message: &Value) {
        let usage = usage_of(&message["usage"]);
        if usage.total_tokens == 0 {
            return;
        }
        self.model(message["model"].as_str());
        let id = message["id"].as_str().map(str::to_owned);
        // Without deltas this is the only usage; with them it is older than theirs.
        if id != self.message_id && self.message.total_tokens > 0 && self.message_id.is_some() {
            self.count();
        }
        if self.message.total_tokens < usage.total_tokens {
            self.message = usage;
        }
        self.message_id = id;
    }

    fn count(&mut self) {
        let message = std::mem::take(&mut self.message);
        self.messages = self.messages.plus(&message);
    }

    pub(super) fn result(&mut self, result: &Value, flavour: StreamJsonFlavour) {
        let used = self.message;
        let messages = self.messages.plus(&used);
        let told = usage_of(&result["usage"]);
        self.turn = match (flavour, self.before) {
            _ if told.total_tokens == 0 => Some(messages),
            (StreamJsonFlavour::Claude, _) => Some(told),
            (StreamJsonFlavour::Qwen, Some(before)) => Some(told.minus(&before)),
            (StreamJsonFlavour::Qwen, None) if messages.total_tokens > 0 => Some(messages),
            (StreamJsonFlavour::Qwen, None) => Some(told),
        };
        if told.total_tokens > 0 {
            self.before = Some(told);
        }
        for (model, about) in result["modelUsage"].as_object().into_iter().flatten() {
            if let Some(window) = about["contextWindow"].as_u64().filter(|window| *window > 0) {
                self.windows.insert(model.clone(), window);
            }
        }
        self.cost = result["total_cost_usd"].as_f64().or(self.cost);
    }

    pub(super) fn turn_usage(&mut self) -> Option<TokenUsage> {
        self.count();
        self.turn.take().or(Some(self.messages)).filter(|usage| usage.total_tokens > 0)
    }

    /// Emits how full the context is, once its size is known.
    pub(super) fn emit(&mut self, out: &mut Outputs) {
        let used = self.message.total_tokens;
        let Some(size) = self.window().filter(|_| used > 0) else { return };
        let now = (used, size, self.cost);
        if self.last_emitted != Some(now) {
            self.last_emitted = Some(now);
            let cost = self.cost.map(Cost::usd);
            out.update(SessionUpdate::UsageUpdate { used, size, cost });
        }
    }

    fn window(&self) -> Option<u64> {
        let model = self.model.as_deref()?;
        // A model has its plain name in messages and a variant's suffix in the `result`.
        let variant = || self.windows.iter().find(|(name, _)| name.starts_with(model));
        let only = || self.windows.iter().next().filter(|_| self.windows.len() == 1);
        self.windows.get(model).or_else(|| variant().or_else(only).map(|(_, size)| size)).copied()
    }
}

fn usage_of(value: &Value) -> TokenUsage {
    let number = |name: &str| value[name].as_u64();
    let thought = value["output_tokens_details"]["thinking_tokens"].as_u64();
    let mut usage = TokenUsage {
        total_tokens: 0,
        input_tokens: number("input_tokens").unwrap_or_default(),
        output_tokens: number("output_tokens").unwrap_or_default(),
        thought_tokens: thought.filter(|thought| *thought > 0),
        cached_read_tokens: number("cache_read_input_tokens"),
        cached_write_tokens: number("cache_creation_input_tokens"),
    };
    usage.total_tokens = number("total_tokens").unwrap_or_else(|| usage.sum_of_parts());
    usage
}
