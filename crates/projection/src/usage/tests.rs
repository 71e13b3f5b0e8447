use serde_json::{Value, json};
use wire::Json;

use super::*;
use crate::json::JsonNode;

fn usage_of(payload: &Value) -> Option<TurnUsage> {
    let payload = Json::of(payload);
    TurnUsage::of(&payload.read().unwrap())
}

#[test]
fn tokens_are_found_where_each_agent_puts_them() {
    for payload in [
        json!({ "usage": { "inputTokens": 3, "outputTokens": 4 } }),
        json!({ "usage": null, "result": { "usage": { "inputTokens": 3, "outputTokens": 4 } } }),
        json!({ "result": { "_meta": { "quota": { "token_count": { "input_tokens": 3, "output_tokens": 4 } } } } }),
    ] {
        let usage = usage_of(&payload).unwrap();
        assert_eq!((usage.input_tokens, usage.output_tokens), (Some(3), Some(4)), "{payload}");
    }
    assert_eq!(usage_of(&json!({ "usage": { "inputTokens": "many" } })), None);
}

fn context(updates: &[Value]) -> UsageTracker {
    let mut context = UsageTracker::default();
    for update in updates {
        context.usage.update(&JsonNode::of(&Json::of(update)).object());
    }
    context
}

#[test]
fn the_cost_of_a_turn_is_what_the_session_has_cost_more_than_before() {
    let mut context = context(&[json!({ "cost": { "amount": 0.1, "currency": "USD" } })]);
    context.start_turn();
    context.usage.update(&JsonNode::of(&Json::of(&json!({ "cost": { "amount": 0.3 } }))).object());

    assert_eq!(context.turn_cost_usd(), Some(0.2));
}

#[test]
fn a_cost_in_another_currency_is_not_taken_for_dollars() {
    let context = context(&[json!({ "size": 5, "cost": { "amount": 9, "currency": "EUR" } })]);

    assert_eq!(context.turn_cost_usd(), None);
    assert_eq!(context.usage.window(), Some(5));
}

#[test]
fn a_window_once_known_is_not_forgotten() {
    let context = context(&[json!({ "size": 5 }), json!({ "size": 0 }), json!({ "used": 1 })]);

    assert_eq!(context.usage.window(), Some(5));
}
