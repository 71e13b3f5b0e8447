//! The limits of a session, as they are written: `{turns, runningSeconds,
//! inactiveSeconds, tokens, costUsd}`.
//!
//! Always true of limits that were read: each is above zero. A limit of zero would allow
//! nothing, and granting it once more would allow nothing again.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Number;
use serde_with::skip_serializing_none;
use wire::event::Limit;

pub(super) fn show(limit: Limit, amount: &Number) -> String {
    let number = amount.as_f64().unwrap_or_default();
    match limit {
        Limit::Turns | Limit::Tokens => amount.to_string(),
        Limit::RunningSeconds | Limit::InactiveSeconds => {
            format!("{}", (number * 10.0).round() / 10.0)
        }
        Limit::CostUsd => format!("${}", (number * 1e4).round() / 1e4),
    }
}

pub(crate) fn show_with_unit(limit: Limit, amount: &Number) -> String {
    let shown = show(limit, amount);
    let is_one = shown == "1";
    match limit {
        Limit::Turns if is_one => format!("{shown} turn"),
        Limit::Turns => format!("{shown} turns"),
        Limit::RunningSeconds => format!("{shown} s of running time"),
        Limit::InactiveSeconds => format!("{shown} s of silence"),
        Limit::Tokens => format!("{shown} tokens"),
        Limit::CostUsd => shown,
    }
}

/// A finite amount as a JSON number.
pub(super) fn number(amount: f64) -> Number {
    Number::from_f64(amount).unwrap_or_else(|| 0.into())
}

/// Limits on the use of a session over its whole life.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(into = "LimitsJson", try_from = "LimitsJson")]
pub struct BudgetLimits {
    pub turns: Option<u64>,
    /// Without the time that a turn waits for a person.
    pub running: Option<Duration>,
    /// How long the agent may say nothing in a turn; not a sum like the others.
    pub inactive: Option<Duration>,
    pub tokens: Option<u64>,
    pub cost_usd: Option<f64>,
}

#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("the limit `{0}` has to be a number above zero")]
pub struct BadLimit(&'static str);

impl BudgetLimits {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// These limits, and those of `earlier` that these leave open.
    #[must_use]
    pub fn or(self, earlier: Self) -> Self {
        Self {
            turns: self.turns.or(earlier.turns),
            running: self.running.or(earlier.running),
            inactive: self.inactive.or(earlier.inactive),
            tokens: self.tokens.or(earlier.tokens),
            cost_usd: self.cost_usd.or(earlier.cost_usd),
        }
    }

    /// In the limit's own unit.
    pub fn value(&self, limit: Limit) -> Option<Number> {
        match limit {
            Limit::Turns => self.turns.map(Number::from),
            Limit::RunningSeconds => self.running.map(seconds::number),
            Limit::InactiveSeconds => self.inactive.map(seconds::number),
            Limit::Tokens => self.tokens.map(Number::from),
            Limit::CostUsd => self.cost_usd.map(number),
        }
    }
}

#[skip_serializing_none]
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct LimitsJson {
    turns: Option<u64>,
    running_seconds: Option<Number>,
    inactive_seconds: Option<Number>,
    tokens: Option<u64>,
    cost_usd: Option<f64>,
}

impl From<BudgetLimits> for LimitsJson {
    fn from(limits: BudgetLimits) -> Self {
        let BudgetLimits { turns, running, inactive, tokens, cost_usd } = limits;
        let (running_seconds, inactive_seconds) =
            (running.map(seconds::number), inactive.map(seconds::number));
        Self { turns, running_seconds, inactive_seconds, tokens, cost_usd }
    }
}

impl TryFrom<LimitsJson> for BudgetLimits {
    type Error = BadLimit;

    fn try_from(written: LimitsJson) -> Result<Self, BadLimit> {
        let count = |count: Option<u64>, limit: Limit| match count {
            Some(0) => Err(BadLimit(limit.as_str())),
            count => Ok(count),
        };
        let time = |number: Option<Number>, limit: Limit| {
            let read = |number: Number| {
                let time = Duration::try_from_secs_f64(number.as_f64()?).ok();
                // Times are written in whole milliseconds.
                time.filter(|time| time.as_millis() > 0)
            };
            number.map(|number| read(number).ok_or(BadLimit(limit.as_str()))).transpose()
        };
        if written.cost_usd.is_some_and(|cost| !cost.is_finite() || cost <= 0.0) {
            return Err(BadLimit(Limit::CostUsd.as_str()));
        }
        Ok(Self {
            turns: count(written.turns, Limit::Turns)?,
            running: time(written.running_seconds, Limit::RunningSeconds)?,
            inactive: time(written.inactive_seconds, Limit::InactiveSeconds)?,
            tokens: count(written.tokens, Limit::Tokens)?,
            cost_usd: written.cost_usd,
        })
    }
}

/// A time as a number of seconds.
pub(super) mod seconds {
    use super::{Deserialize, Duration, Number};
    use serde::{Deserializer, Serialize as _, Serializer};

    /// Whole seconds without a fraction, others to the millisecond.
    pub(in crate::budget) fn number(time: Duration) -> Number {
        let millis = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        match millis % 1000 {
            0 => (millis / 1000).into(),
            // Exact up to many thousand years.
            #[expect(clippy::cast_precision_loss)]
            _ => super::number(millis as f64 / 1000.0),
        }
    }

    pub(in crate::budget) fn serialize<S: Serializer>(
        time: &Duration,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        number(*time).serialize(serializer)
    }

    pub(in crate::budget) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Duration, D::Error> {
        let number = f64::deserialize(deserializer)?;
        // We wrote it ourselves; a record that was tampered with starts at zero.
        Ok(Duration::try_from_secs_f64(number).unwrap_or_default())
    }
}
