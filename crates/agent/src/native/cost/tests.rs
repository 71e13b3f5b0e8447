//! Figures of endpoints as they send them, and prices.

use serde_json::json;

use super::*;

fn used(input: u64, output: u64, cached: u64) -> TokenUsage {
    TokenUsage { input, output, cached, ..TokenUsage::default() }
}

#[test]
fn a_price_is_per_million_tokens_and_what_was_kept_is_cheaper() {
    let price = Price { input: 3.0, output: 15.0, cached: Some(0.3) };
    assert_eq!(price.of(used(1_000_000, 0, 0)), 3_000_000_000);
    assert_eq!(price.of(used(1000, 100, 0)), 3_000_000 + 1_500_000);
    assert_eq!(price.of(used(1000, 0, 400)), 1_800_000 + 120_000);
    // More kept than sent is nonsense, and costs no more than all of it.
    assert_eq!(price.of(used(1000, 0, 4000)), 300_000);
    let no_discount = Price { cached: None, ..price };
    assert_eq!(no_discount.of(used(1000, 0, 400)), 3_000_000);
    assert_eq!(price.of(used(u64::MAX, u64::MAX, 0)), 0, "no sum of money");
}

#[test]
fn what_is_no_price_is_not_sound() {
    for bad in [-1.0, f64::NAN, f64::INFINITY, 1e9] {
        assert!(!Price { input: bad, output: 1.0, cached: None }.is_sound(), "{bad}");
        assert!(!Price { input: 1.0, output: bad, cached: None }.is_sound(), "{bad}");
        assert!(!Price { input: 1.0, output: 1.0, cached: Some(bad) }.is_sound(), "{bad}");
    }
    assert!(Price::default().is_sound(), "some are free");
}

#[test]
fn endpoints_tell_what_they_charged_in_their_own_ways() {
    for (usage, nanos) in [
        (json!({ "cost": 0.0014 }), Some(1_400_000)),
        (json!({ "cost": "0.0014" }), Some(1_400_000)),
        (json!({ "cost": 0 }), Some(0)),
        (json!({ "cost_in_usd_ticks": 37_756_000 }), Some(3_775_600)),
        (json!({ "cost": { "input_tokens_cost": 0.001, "total_cost": 0.006 } }), Some(6_000_000)),
        (json!({ "estimated_cost": 0.000_002 }), Some(2000)),
        (
            json!({
                "cost": 0.05, "is_byok": true,
                "cost_details": { "upstream_inference_cost": 0.95 },
            }),
            Some(1_000_000_000),
        ),
        (
            json!({
                "cost": 0.95, "is_byok": false,
                "cost_details": { "upstream_inference_cost": 0.95 },
            }),
            Some(950_000_000),
        ),
        (json!({ "prompt_tokens": 3 }), None),
        (json!({ "cost": null }), None),
        (json!({ "cost": "much" }), None),
        (json!({ "cost": -3 }), None),
        (json!({ "cost": {} }), None),
    ] {
        assert_eq!(of_usage(&usage), nanos, "{usage}");
    }
}

#[test]
fn a_header_that_says_nothing_yet_is_no_cost() {
    let told = |value: &'static str| {
        let mut headers = HeaderMap::new();
        headers.insert("x-litellm-response-cost", value.parse().unwrap());
        of_headers(&headers)
    };
    assert_eq!(told("2.85e-05"), Some(28_500));
    assert_eq!(told("0.0"), None);
    assert_eq!(told("None"), None);
    assert_eq!(of_headers(&HeaderMap::new()), None);
}

#[test]
fn a_list_may_tell_prices_per_token() {
    let entry = json!({ "id": "m", "pricing": {
        "prompt": "0.0000005", "completion": "0.0000015", "input_cache_read": "0.00000005",
    } });
    let price = of_listing(&entry).unwrap();
    assert_eq!(price.of(used(2_000_000, 1_000_000, 1_000_000)), 2_050_000_000);
    // One that differs from request to request.
    let any = json!({ "id": "auto", "pricing": { "prompt": "-1", "completion": "-1" } });
    assert_eq!(of_listing(&any), None);
    assert_eq!(of_listing(&json!({ "id": "m" })), None);
}
