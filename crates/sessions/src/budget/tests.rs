use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use wire::Json;
use wire::event::Limit;

fn budget(limits: BudgetLimits) -> Budget {
    Budget::new(limits)
}

fn tokens(n: u64) -> BudgetLimits {
    BudgetLimits { tokens: Some(n), ..BudgetLimits::default() }
}

fn usage_update(members: &Value) -> Json {
    Json::of(&json!({ "sessionId": "s", "update": members }))
}

fn told(used: Option<u64>, cost: Option<f64>) -> Json {
    let cost = cost.map(|amount| json!({ "amount": amount, "currency": "USD" }));
    usage_update(&json!({ "sessionUpdate": "usage_update", "used": used, "cost": cost }))
}

fn ended(total: Option<u64>) -> Json {
    Json::of(&match total {
        Some(total) => json!({
            "stopReason": "end_turn",
            "usage": { "totalTokens": total },
            "result": { "stopReason": "end_turn", "usage": { "totalTokens": total } },
        }),
        None => json!({ "stopReason": "end_turn" }),
    })
}

fn end_turn(budget: &mut Budget, payload: &Json) {
    budget.end_turn(&payload.read().unwrap());
}

/// What happens in a session, as a test makes it up.
#[derive(Debug, Clone)]
enum Step {
    Start,
    Run(u64),
    Told(Option<u64>, Option<u32>),
    End(Option<u64>),
    /// The record is written and read again, by another process.
    Reopen,
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        2 => Just(Step::Start),
        2 => (0..100_000u64).prop_map(Step::Run),
        4 => (prop::option::of(0..50_000u64), prop::option::of(0..10_000u32))
            .prop_map(|(used, cents)| Step::Told(used, cents)),
        2 => prop::option::of(0..100_000u64).prop_map(Step::End),
        1 => Just(Step::Reopen),
    ]
}

/// Too simple to be wrong: everything is remembered, and counted at the end.
#[derive(Debug, Default)]
struct Model {
    /// What was told in each turn.
    turns: Vec<Vec<u64>>,
    is_reopened: bool,
    millis: u64,
    costs: Vec<u32>,
}

impl Model {
    fn tokens(&self) -> u64 {
        self.turns.iter().map(|told| told.iter().copied().max().unwrap_or_default()).sum()
    }

    /// The peaks before each fall, and the last.
    fn cents(&self) -> u32 {
        let falls = self.costs.windows(2).filter(|pair| pair[1] < pair[0]).map(|pair| pair[0]);
        falls.sum::<u32>() + self.costs.last().copied().unwrap_or_default()
    }
}

proptest! {
    #[test]
    fn counting_agrees_with_the_model(steps in prop::collection::vec(any_step(), 0..60)) {
        let mut budget = budget(BudgetLimits::default());
        let mut model = Model::default();
        for step in steps {
            match step {
                Step::Start => {
                    budget.start_turn();
                    model.turns.push(Vec::new());
                    model.is_reopened = false;
                }
                Step::Run(millis) => {
                    budget.add_running(Duration::from_millis(millis));
                    model.millis += millis;
                }
                Step::Told(used, cents) => {
                    budget.count_update(&told(used, cents.map(|cents| f64::from(cents) / 100.0)));
                    if let (Some(turn), false) = (model.turns.last_mut(), model.is_reopened) {
                        turn.extend(used);
                    }
                    model.costs.extend(cents);
                }
                Step::End(total) => {
                    end_turn(&mut budget, &ended(total));
                    if let (Some(turn), false) = (model.turns.last_mut(), model.is_reopened) {
                        turn.extend(total);
                    }
                }
                Step::Reopen => {
                    let written = Json::of(&budget);
                    budget = written.read().unwrap();
                    model.is_reopened = true;
                }
            }
        }

        let used = budget.used();
        prop_assert_eq!(used.turns, model.turns.len() as u64);
        prop_assert_eq!(used.running, Duration::from_millis(model.millis));
        prop_assert_eq!(used.tokens, model.tokens());
        prop_assert!((used.cost_usd() - f64::from(model.cents()) / 100.0).abs() < 1e-6);
    }

    #[test]
    fn nothing_that_an_agent_tells_does_harm(text in ".{0,80}", used in any::<u64>(), amount in any::<f64>()) {
        let mut budget = budget(tokens(10));
        budget.start_turn();

        budget.count_update(&told(Some(used), Some(amount)));
        budget.count_update(&usage_update(&json!({ "used": text, "cost": { "amount": text } })));
        budget.count_update(&usage_update(&json!({ "used": -5, "cost": -5 })));
        end_turn(&mut budget, &Json::of(&json!({ "usage": { "totalTokens": text }, "result": text })));
        budget.count_update(&told(Some(u64::MAX), None));

        prop_assert!(budget.used().cost_usd() >= 0.0 && budget.used().cost_usd().is_finite());
        prop_assert!(budget.reached_in_turn().is_some());
    }

    #[test]
    fn the_same_again_is_counted_from_where_the_session_stands(n in 1..1_000_000u64, used in 0..2_000_000u64) {
        let mut budget = budget(tokens(n));
        budget.start_turn();
        budget.count_update(&told(Some(used), None));
        prop_assert_eq!(budget.reached_in_turn().is_some(), used >= n);

        budget.grant(Limit::Tokens);

        prop_assert_eq!(budget.reached_in_turn(), None);
        budget.count_update(&told(Some(used + n - 1), None));
        prop_assert_eq!(budget.reached_in_turn(), None);
        budget.count_update(&told(Some(used + n), None));
        prop_assert!(budget.reached_in_turn().is_some());
    }
}

#[test]
fn the_context_and_the_turn_are_not_added_up() {
    let mut budget = budget(tokens(1_000));
    budget.start_turn();

    budget.count_update(&told(Some(500), None));
    budget.count_update(&told(Some(600), None));
    end_turn(&mut budget, &ended(Some(900)));
    // Late, and about the turn that has ended.
    budget.count_update(&told(Some(650), None));
    assert_eq!(budget.used().tokens, 900);

    budget.start_turn();
    budget.count_update(&told(Some(650), None));
    assert_eq!(budget.used().tokens, 1_550);
}

#[test]
fn a_context_that_was_given_back_is_no_use_of_tokens() {
    let mut budget = budget(tokens(1_000));
    budget.count_update(&told(Some(5_000), None));
    assert_eq!(budget.reached_before_turn(), None);
}

#[test]
fn parts_are_added_where_the_sum_is_not_told() {
    let mut budget = budget(BudgetLimits::default());
    budget.start_turn();
    let usage = json!({ "inputTokens": 100, "outputTokens": 20, "cachedReadTokens": 90 });
    end_turn(
        &mut budget,
        &Json::of(&json!({ "stopReason": "error", "result": { "usage": usage } })),
    );
    assert_eq!(budget.used().tokens, 120);
}

#[test]
fn money_in_another_currency_is_not_counted() {
    let mut budget = budget(BudgetLimits::default());
    let cost = json!({ "amount": 5, "currency": "EUR" });
    budget.count_update(&usage_update(&json!({ "cost": cost })));
    assert!(budget.used().cost_usd().abs() < f64::EPSILON);
}

#[test]
fn the_turn_limit_lets_the_running_turn_finish() {
    let mut budget = budget(BudgetLimits { turns: Some(1), ..BudgetLimits::default() });
    assert_eq!(budget.reached_before_turn(), None);
    budget.start_turn();
    assert_eq!(budget.reached_in_turn(), None);
    let reached = budget.reached_before_turn().unwrap();
    assert_eq!(reached.to_string(), "the session has used 1 of 1 turn");
}

#[test]
fn after_a_stop_prompts_are_refused_until_the_limit_is_raised() {
    let mut budget = budget(tokens(1_000));
    budget.start_turn();
    budget.count_update(&told(Some(5_300), None));
    assert_eq!(budget.refusal(), None, "nobody has said stop yet");

    budget.stop(Limit::Tokens);
    let mut later: Budget = Json::of(&budget).read().unwrap();
    let why = later.refusal().unwrap().to_string();
    assert_eq!(why, "the session has used 5300 of 1000 tokens");

    later.set(tokens(2_000));
    assert!(later.refusal().is_some(), "still not enough");
    later.set(tokens(6_000));
    assert_eq!((later.refusal(), later.reached_before_turn()), (None, None));
}

#[test]
fn a_limit_that_was_lifted_does_not_come_back() {
    let mut budget = budget(BudgetLimits { cost_usd: Some(0.5), ..tokens(10) });
    budget.start_turn();
    budget.count_update(&told(Some(1_000), Some(0.75)));
    budget.lift(Limit::Tokens);
    let reached = budget.reached_in_turn().unwrap();
    assert_eq!(reached.to_string(), "the session has used $0.75 of $0.5");
    budget.lift(Limit::CostUsd);
    budget.grant(Limit::CostUsd);
    assert_eq!(budget.reached_before_turn(), None);
    assert!(budget.limits().is_empty());
}

#[track_caller]
fn check_written(limits: BudgetLimits, expect: &Value) {
    let written = Json::of(&limits);
    assert_eq!(written.read::<Value>().unwrap(), *expect);
    assert_eq!(written.read::<BudgetLimits>().unwrap(), limits);
}

#[test]
fn limits_are_written_in_the_units_of_their_names() {
    check_written(BudgetLimits::default(), &json!({}));
    let limits = BudgetLimits {
        turns: Some(3),
        running: Some(Duration::from_mins(2)),
        inactive: Some(Duration::from_secs(30)),
        tokens: Some(4),
        cost_usd: Some(0.5),
    };
    let written = json!({
        "turns": 3, "runningSeconds": 120, "inactiveSeconds": 30, "tokens": 4, "costUsd": 0.5,
    });
    check_written(limits, &written);
    let limits =
        BudgetLimits { running: Some(Duration::from_millis(1_500)), ..BudgetLimits::default() };
    check_written(limits, &json!({ "runningSeconds": 1.5 }));
}

#[test]
fn limits_of_nothing_are_refused_by_name() {
    for (bad, name) in [
        (json!({ "turns": 0 }), "turns"),
        (json!({ "tokens": 0 }), "tokens"),
        (json!({ "runningSeconds": 0 }), "runningSeconds"),
        (json!({ "runningSeconds": -3 }), "runningSeconds"),
        (json!({ "runningSeconds": 1e300 }), "runningSeconds"),
        (json!({ "inactiveSeconds": 0 }), "inactiveSeconds"),
        (json!({ "inactiveSeconds": 0.0004 }), "inactiveSeconds"),
        (json!({ "costUsd": 0.0 }), "costUsd"),
        (json!({ "costUsd": -1 }), "costUsd"),
    ] {
        let error = Json::of(&bad).read::<BudgetLimits>().unwrap_err().to_string();
        assert!(error.contains(&format!("`{name}`")), "{bad}: {error}");
    }
}

#[test]
fn limits_that_are_left_open_stay_as_they_were() {
    let earlier = BudgetLimits { turns: Some(1), ..tokens(2) };
    let merged = tokens(9).or(earlier);
    assert_eq!((merged.turns, merged.tokens), (Some(1), Some(9)));
}
