//! What `run` and `chat` let a session use, and what becomes of a limit when nobody is there to ask.

use std::time::Duration;

use clap::Args;
use sessions::budget::{Limit, Limits};
use wire::Event;

use crate::cli::parse_duration;
use crate::outcome::{DENIED, Failure};

#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct LimitArgs {
    /// Pause the session after so many turns, and ask
    #[arg(long = "max-turns", value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    turns: Option<u64>,
    /// Pause the session when its turns have run for so long, e.g. 90s or 2h, and ask
    #[arg(long = "max-time", value_name = "DURATION", value_parser = parse_time)]
    time: Option<Duration>,
    /// Pause a turn in which the agent has said nothing for so long, and ask
    #[arg(long = "max-inactivity", value_name = "DURATION", value_parser = parse_time)]
    inactivity: Option<Duration>,
    /// Pause the session when it has used so many tokens, and ask
    #[arg(long = "max-tokens", value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    tokens: Option<u64>,
    /// Pause the session when it has cost so many US dollars, and ask
    #[arg(long = "max-cost", value_name = "USD", value_parser = parse_money)]
    cost: Option<f64>,
}

impl LimitArgs {
    pub(crate) fn limits(&self) -> Limits {
        Limits {
            turns: self.turns,
            running: self.time,
            inactive: self.inactivity,
            tokens: self.tokens,
            cost_usd: self.cost,
        }
    }
}

fn parse_time(text: &str) -> Result<Duration, String> {
    match parse_duration(text)? {
        Duration::ZERO => Err("a limit is above zero".to_owned()),
        time => Ok(time),
    }
}

fn parse_money(text: &str) -> Result<f64, String> {
    let amount: f64 = text.trim_start_matches('$').parse().map_err(|_| "not a number")?;
    match amount.is_finite() && amount > 0.0 {
        true => Ok(amount),
        false => Err("a limit is above zero".to_owned()),
    }
}

/// The limit that `event` asks about, if it asks whether the session may go on beyond one.
pub(crate) fn limit_asked(event: &Event) -> Option<Limit> {
    event.own()?.asked()?.limit
}

/// A turn was stopped at a limit.
pub(crate) fn nobody_to_ask(limit: Limit) -> Failure {
    let flag = flag(limit);
    Failure::new(DENIED, "a limit is reached, and nobody was there to ask")
        .hint(format!("go on with a higher {flag}, or at a terminal"))
}

/// What raises a limit.
pub(crate) fn flag(limit: Limit) -> &'static str {
    match limit {
        Limit::Turns => "--max-turns",
        Limit::RunningSeconds => "--max-time",
        Limit::InactiveSeconds => "--max-inactivity",
        Limit::Tokens => "--max-tokens",
        Limit::CostUsd => "--max-cost",
    }
}
