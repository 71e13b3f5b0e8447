//! The budget of a session: its limits, its use so far, and which limit is reached.
//!
//! In: starts and ends of turns, time, and the agent's reports of tokens and cost. Out:
//! which limit is reached. No I/O and no clock; kept in the session's [`SessionDetails`] so that it
//! counts over the session's whole life.
//!
//! Agents report their use in three shapes. `usage` at the end of a turn is the tokens of that
//! turn. `usage_update.used` is how full the context is, so the model has read at least that
//! much in this turn; the larger of the two counts, never their sum. `usage_update.cost` is
//! the sum of the session, or of the agent's process: less than before means that the agent
//! began anew. What is not reported is not counted, so tokens and cost are lower bounds.
//!
//! [`SessionDetails`]: crate::details::SessionDetails

mod limits;

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Number;
use serde_with::skip_serializing_none;
use wire::Json;
use wire::event::TurnEnded;

pub(crate) use limits::show_with_unit;
pub use limits::{BadLimit, BudgetLimits};
pub use wire::event::Limit;

use projection::TurnUsage;
use projection::json::JsonNode;

/// The use of a session so far: turns, time, tokens and cost.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct BudgetUse {
    /// Turns that were started.
    pub turns: u64,
    /// How long turns ran, without the waiting for a person.
    #[serde(rename = "runningSeconds", with = "limits::seconds")]
    pub running: Duration,
    pub tokens: u64,
    /// The cost that agents had reported before they began to count anew.
    pub cost_before: f64,
    /// The cost that the agent reported last.
    pub cost_told: f64,
    /// Tokens of the last turn that are counted already; none before the first.
    #[serde(skip)]
    turn_tokens: Option<u64>,
    /// The cost when the last turn began; none before the first.
    #[serde(skip)]
    cost_at_start: Option<f64>,
}

/// The limits of a session and its use of them.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Budget {
    /// The limits as set; a person who says "go on" grants the same amount once more.
    limits: BudgetLimits,
    /// The limits in force now, with what a person has granted since.
    allowed: BudgetLimits,
    used: BudgetUse,
    /// The limit at which a person chose to stop.
    stopped_at: Option<Limit>,
}

/// A limit that is reached.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{}", describe(*limit, used, allowed))]
pub struct ReachedLimit {
    pub limit: Limit,
    /// In the limit's own unit.
    pub used: Number,
    pub allowed: Number,
}

impl BudgetUse {
    /// The cost so far in US dollars, as the agents reported it.
    pub fn cost_usd(&self) -> f64 {
        // Rounded: sums of binary fractions add a little that nobody spent.
        ((self.cost_before + self.cost_told) * 1e9).round() / 1e9
    }

    /// Counts at least `tokens` for the running turn.
    fn raise_turn_tokens(&mut self, tokens: u64) {
        // Before the first turn an agent reports how full the context is that it got back.
        let Some(counted) = &mut self.turn_tokens else { return };
        self.tokens = self.tokens.saturating_add(tokens.saturating_sub(*counted));
        *counted = tokens.max(*counted);
    }

    fn count_cost(&mut self, amount: f64) {
        /// A larger amount is no cost of a session, and sums of such would not stay finite.
        const MOST: f64 = 1e12;
        if !(0.0..MOST).contains(&amount) {
            return;
        }
        if amount < self.cost_told {
            self.cost_before = MOST.min(self.cost_before + self.cost_told);
        }
        self.cost_told = amount;
    }
}

impl Budget {
    pub fn new(limits: BudgetLimits) -> Self {
        Self { limits, allowed: limits, ..Self::default() }
    }

    pub fn limits(&self) -> BudgetLimits {
        self.limits
    }

    /// The limits in force now: those that were set, and what a person granted since.
    pub fn allowed(&self) -> BudgetLimits {
        self.allowed
    }

    pub fn used(&self) -> &BudgetUse {
        &self.used
    }

    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    pub(crate) fn start_turn(&mut self) {
        let used = &mut self.used;
        used.turns = used.turns.saturating_add(1);
        used.turn_tokens = Some(0);
        used.cost_at_start = Some(used.cost_usd());
    }

    /// The cost of the last turn in US dollars, as far as the agent reported it.
    pub(crate) fn turn_cost_usd(&self) -> Option<f64> {
        let cost = self.used.cost_usd() - self.used.cost_at_start?;
        (cost > 0.0).then(|| (cost * 1e9).round() / 1e9)
    }

    pub(crate) fn add_running(&mut self, time: Duration) {
        self.used.running = self.used.running.saturating_add(time);
    }

    /// Counts the payload of a `usage_update`.
    pub(crate) fn count_update(&mut self, payload: &Json) {
        let update = JsonNode::of(payload).object().object("update");
        if let Some(used) = update.count("used") {
            self.used.raise_turn_tokens(used);
        }
        let cost = update.object("cost");
        let is_usd = cost.text("currency").is_none_or(|c| c.eq_ignore_ascii_case("usd"));
        if let Some(amount) = cost.get("amount").and_then(JsonNode::number).filter(|_| is_usd) {
            self.used.count_cost(amount);
        }
    }

    pub(crate) fn end_turn(&mut self, ended: &TurnEnded<'_>) {
        if let Some(usage) = TurnUsage::of(ended) {
            self.used.raise_turn_tokens(usage.total());
        }
    }

    /// The limit that does not let a running turn go on.
    pub fn reached_in_turn(&self) -> Option<ReachedLimit> {
        [Limit::RunningSeconds, Limit::Tokens, Limit::CostUsd]
            .into_iter()
            .find_map(|limit| self.reached(limit))
    }

    /// The limit that does not let another turn start.
    pub fn reached_before_turn(&self) -> Option<ReachedLimit> {
        self.reached(Limit::Turns).or_else(|| self.reached_in_turn())
    }

    pub(crate) fn reached(&self, limit: Limit) -> Option<ReachedLimit> {
        let (BudgetLimits { turns, running, tokens, cost_usd, .. }, used) =
            (self.allowed, &self.used);
        let (is_reached, used, allowed) = match limit {
            Limit::Turns => (used.turns >= turns?, used.turns.into(), turns?.into()),
            Limit::RunningSeconds => (
                used.running >= running?,
                limits::seconds::number(used.running),
                limits::seconds::number(running?),
            ),
            // Needs the time of the agent's last message: see `silence`.
            Limit::InactiveSeconds => return None,
            Limit::Tokens => (used.tokens >= tokens?, used.tokens.into(), tokens?.into()),
            Limit::CostUsd => {
                let cost = used.cost_usd();
                (cost >= cost_usd?, limits::number(cost), limits::number(cost_usd?))
            }
        };
        is_reached.then_some(ReachedLimit { limit, used, allowed })
    }

    /// The limit on inactivity, if the agent has been silent for so long.
    pub(crate) fn silence(&self, silent: Duration) -> Option<ReachedLimit> {
        let allowed = self.allowed.inactive.filter(|allowed| silent >= *allowed)?;
        let (used, allowed) = (limits::seconds::number(silent), limits::seconds::number(allowed));
        Some(ReachedLimit { limit: Limit::InactiveSeconds, used, allowed })
    }

    /// How long a turn may still run.
    pub(crate) fn running_left(&self) -> Option<Duration> {
        Some(self.allowed.running?.saturating_sub(self.used.running))
    }

    /// Grants the set amount of a limit once more, counted from now.
    pub(crate) fn grant(&mut self, limit: Limit) {
        let (set, used, allowed) = (self.limits, &self.used, &mut self.allowed);
        match limit {
            Limit::Turns => allowed.turns = set.turns.map(|n| n.saturating_add(used.turns)),
            Limit::RunningSeconds => {
                allowed.running = set.running.map(|time| time.saturating_add(used.running));
            }
            // A silence begins anew with every sign of life.
            Limit::InactiveSeconds => {}
            Limit::Tokens => allowed.tokens = set.tokens.map(|n| n.saturating_add(used.tokens)),
            Limit::CostUsd => allowed.cost_usd = set.cost_usd.map(|cost| cost + used.cost_usd()),
        }
        self.stopped_at = None;
    }

    /// Removes a limit.
    pub(crate) fn lift(&mut self, limit: Limit) {
        for limits in [&mut self.limits, &mut self.allowed] {
            match limit {
                Limit::Turns => limits.turns = None,
                Limit::RunningSeconds => limits.running = None,
                Limit::InactiveSeconds => limits.inactive = None,
                Limit::Tokens => limits.tokens = None,
                Limit::CostUsd => limits.cost_usd = None,
            }
        }
        self.stopped_at = None;
    }

    /// Stops the session at a limit: no prompt is taken until the limit is raised.
    pub(crate) fn stop(&mut self, limit: Limit) {
        self.stopped_at = Some(limit);
    }

    /// Replaces the limits, which count from the session's beginning like those before.
    pub(crate) fn set(&mut self, limits: BudgetLimits) {
        (self.limits, self.allowed) = (limits, limits);
        self.stopped_at = self.stopped_at.filter(|limit| self.reached(*limit).is_some());
    }

    /// The limit for which no prompt is taken: a person chose to stop there.
    pub fn refusal(&self) -> Option<ReachedLimit> {
        self.reached(self.stopped_at?)
    }
}

fn describe(limit: Limit, used: &Number, allowed: &Number) -> String {
    let used = limits::show(limit, used);
    match limit {
        Limit::InactiveSeconds => format!("the agent has said nothing for {used} s"),
        _ => format!("the session has used {used} of {}", limits::show_with_unit(limit, allowed)),
    }
}

#[cfg(test)]
mod tests;
