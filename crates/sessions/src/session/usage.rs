//! The token counts of one turn, from whatever the agent counts.
//!
//! In: `usage` of an agent's answer to a prompt, and what its agent is known to count
//! ([`TokenScope`]). Out: the same members for this turn alone. Sums are kept in the session's
//! record, because one that goes on in another process must be told from one that begins anew.

use std::collections::BTreeMap;

use serde_json::Value;
use wire::event::UsageScope;
use wire::{Json, TokenScope};

/// The token sums that an agent reported last, by the names it gave.
pub(crate) type TokenSums = BTreeMap<String, u64>;

/// Counts that are kept: agents report half a dozen.
const MAX_COUNTS: usize = 16;
const MAX_NAME_BYTES: usize = 64;

/// The token counts and their scope for `turn_ended`, from the answer to a prompt.
pub(super) fn of_turn(
    told: &mut TokenSums,
    scope: TokenScope,
    result: &Value,
) -> (Option<Json>, Option<UsageScope>) {
    let usage = match (scope, &result["usage"]) {
        (_, Value::Null) => return (None, None),
        (TokenScope::Turn | TokenScope::LastCall, usage) => Json::of(usage),
        (TokenScope::Session | TokenScope::Process, usage) => Json::of(&turn_counts(told, usage)),
    };
    (Some(usage), (scope == TokenScope::LastCall).then_some(UsageScope::LastCall))
}

/// The difference between `sum` and the sums reported before, which it replaces.
fn turn_counts(told: &mut TokenSums, sum: &Value) -> Value {
    let is_kept = |(name, _): &(&String, u64)| name.len() <= MAX_NAME_BYTES;
    let counts = sum.as_object().into_iter().flatten();
    let counts = counts.filter_map(|(name, count)| Some((name, count.as_u64()?)));
    let now: TokenSums = counts
        .filter(is_kept)
        .take(MAX_COUNTS)
        .map(|(name, count)| (name.clone(), count))
        .collect();
    // An answer to a prompt that was cancelled early may say nothing but zeros.
    if now.values().all(|count| *count == 0) {
        return sum.clone();
    }
    let before = |name: &str| told.get(name).copied().unwrap_or_default();
    let goes_on = now.iter().all(|(name, count)| *count >= before(name));
    let mut turn = sum.clone();
    if let Value::Object(turn) = &mut turn
        && goes_on
    {
        for (name, count) in &now {
            turn.insert(name.clone(), (count - before(name)).into());
        }
    }
    *told = now;
    turn
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Map, json};

    #[test]
    fn sums_of_a_session_become_those_of_its_turns() {
        let mut told = TokenSums::new();
        let mut turn = |input: u64, output: u64| {
            let turn =
                turn_counts(&mut told, &json!({ "inputTokens": input, "outputTokens": output }));
            (turn["inputTokens"].as_u64().unwrap(), turn["outputTokens"].as_u64().unwrap())
        };
        assert_eq!(turn(1200, 34), (1200, 34));
        assert_eq!(turn(2400, 68), (1200, 34));
        // Cancelled before anything was counted.
        assert_eq!(turn(0, 0), (0, 0));
        assert_eq!(turn(3600, 102), (1200, 34));
        // Less than before: the agent has begun to count anew.
        assert_eq!(turn(1200, 34), (1200, 34));
        assert_eq!(turn(1300, 40), (100, 6));
    }

    #[test]
    fn what_is_no_count_stays_and_what_is_kept_is_bounded() {
        let mut told = TokenSums::new();
        let sum = json!({ "totalTokens": 5, "cost": { "amount": 1.0 } });
        assert_eq!(turn_counts(&mut told, &sum), sum);
        let again = json!({ "totalTokens": 7, "cost": { "amount": 2.0 } });
        let turn = json!({ "totalTokens": 2, "cost": { "amount": 2.0 } });
        assert_eq!(turn_counts(&mut told, &again), turn);
        let many: Map<String, Value> = (0..1000).map(|n| (format!("n{n}"), json!(1))).collect();
        turn_counts(&mut told, &Value::Object(many));
        assert!(told.len() <= MAX_COUNTS);
        assert_eq!(turn_counts(&mut told, &json!("nonsense")), json!("nonsense"));
    }
}
