//! The options that describe a session: its directories, permissions and limits, and the agent's
//! model, mode and other options.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use sessions::budget::BudgetLimits;
use sessions::options::InitialOptions;
use sessions::permission::PermissionMode;

use crate::time::parse_duration;

#[derive(Debug, Args)]
pub(crate) struct AgentArgs {
    /// Name of the agent, instead of as the first word
    #[arg(long, value_name = "AGENT", env = "SWITCHYARD_AGENT")]
    pub(crate) agent: Option<String>,
    /// Working directory of the session
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// A further directory that the agent may use (repeatable)
    #[arg(long, value_name = "DIR")]
    pub(crate) add_dir: Vec<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct InitialOptionArgs {
    /// Model to use, as the agent names it
    #[arg(long)]
    pub(crate) model: Option<String>,
    /// Reasoning effort, as the agent names it
    #[arg(long)]
    effort: Option<String>,
    /// Session mode of the agent, as the agent names it
    #[arg(long)]
    mode: Option<String>,
    /// Another option of the agent's own, e.g. tools=off (repeatable)
    #[arg(long = "option", value_name = "NAME=VALUE", value_parser = parse_option)]
    options: Vec<(String, String)>,
}

impl InitialOptionArgs {
    /// The initial options of the session; of one that is given twice the last value counts.
    pub(crate) fn initial_options(&self) -> InitialOptions {
        InitialOptions {
            model: self.model.clone(),
            effort: self.effort.clone(),
            mode: self.mode.clone(),
            options: self.options.iter().cloned().collect(),
        }
    }
}

fn parse_option(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("write it like tools=off".to_owned()),
    }
}

#[derive(Debug, Args)]
pub(crate) struct PermissionArgs {
    /// Approve every request of the agent, each only once
    #[arg(long, conflicts_with_all = ["deny_all", "permissions"])]
    approve_all: bool,
    /// Approve what only reads; ask for the rest
    #[arg(long, conflicts_with_all = ["approve_all", "deny_all"])]
    pub(crate) approve_reads: bool,
    /// Deny everything the agent asks for
    #[arg(long)]
    deny_all: bool,
    /// Permission mode: what happens to approval requests that no rule decides
    #[arg(long, value_name = "MODE", value_parser = permission_modes(), conflicts_with = "deny_all")]
    permissions: Option<PermissionMode>,
    /// File with permission rules, which decide approval requests
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Option<PathBuf>,
}

impl PermissionArgs {
    pub(crate) fn mode(&self) -> Option<PermissionMode> {
        match (self.approve_all, self.deny_all) {
            (true, _) => Some(PermissionMode::Auto),
            (_, true) => Some(PermissionMode::DenyAll),
            _ => self.permissions,
        }
    }
}

/// The permission modes, each with its help.
pub(crate) fn permission_modes() -> impl TypedValueParser<Value = PermissionMode> {
    let value = |mode: PermissionMode| {
        PossibleValue::new(mode.name()).help(match mode {
            PermissionMode::Ask => "Ask a person; reject when nobody is there",
            PermissionMode::AcceptEdits => {
                "Allow reads and edits inside the working directories, ask for the rest"
            }
            PermissionMode::Auto => "Allow everything, each request only once",
            PermissionMode::ReadOnly => "Allow reads, deny the rest",
            PermissionMode::DenyAll => "Deny everything",
        })
    };
    PossibleValuesParser::new(PermissionMode::ALL.map(value))
        .try_map(|name| PermissionMode::named(&name).ok_or("unknown permission mode"))
}

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
    pub(crate) fn limits(&self) -> BudgetLimits {
        BudgetLimits {
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
