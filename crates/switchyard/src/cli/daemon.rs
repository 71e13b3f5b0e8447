//! The command lines of `switchyard daemon`, `switchyard token` and `switchyard attach`.

use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};

use crate::cli::serve::ServeArgs;
use crate::time::parse_duration;

#[derive(Debug, Subcommand)]
#[command(after_help = "Examples:
  switchyard daemon start                  in the background, unless it runs
  switchyard daemon status --json
  switchyard daemon log -f
  switchyard daemon stop                   lets turns finish first")]
pub(crate) enum DaemonVerb {
    /// Start `switchyard serve` in the background
    Start(ServeArgs),
    /// Stop the daemon; running turns may finish first
    Stop {
        /// Do not wait for running turns
        #[arg(long)]
        now: bool,
    },
    /// Show whether a daemon runs, its addresses and its health; exit code 4 if none does
    Status {
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Print the log of the background daemon
    Log {
        /// Keep printing as the log grows
        #[arg(short, long)]
        follow: bool,
        /// How many lines from the end
        #[arg(short = 'n', long, default_value_t = 50)]
        lines: usize,
    },
}

#[derive(Debug, Subcommand)]
#[command(after_help = "Examples:
  switchyard token show                                the admin's, for scripts of your own
  switchyard token add phone --role operator --expires 30d
  switchyard token add wall --role observer
  switchyard token revoke phone                        also closes its connections
  switchyard token login                               a link for the browser")]
pub(crate) enum TokenVerb {
    /// Print the admin's token
    Show,
    /// Create a token; it is printed only this once
    Add(NewTokenArgs),
    /// List all tokens, without their secrets
    List {
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Revoke a token, and close every connection that it opened
    Revoke {
        /// Name of the token, as `switchyard token list` shows it
        name: String,
    },
    /// Give a token a new secret
    Rotate {
        /// `admin`, or the name of another token
        name: String,
    },
    /// Print a link that logs one browser in, once
    Login,
}

#[derive(Debug, Args)]
pub(crate) struct NewTokenArgs {
    /// Name of the token; the log names it with each decision of its clients
    pub(crate) name: String,
    /// Role: what its clients may do
    #[arg(long, value_enum, default_value_t = RoleName::Operator)]
    pub(crate) role: RoleName,
    /// How long it is valid, e.g. 12h or 30d; without it, until revoked
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    pub(crate) expires: Option<Duration>,
    /// Limit it to the sessions that were created with it
    #[arg(long)]
    pub(crate) own_sessions: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum RoleName {
    /// May only read
    Observer,
    /// May also create sessions, prompt, cancel and answer
    Operator,
    /// May also delete, and create tokens
    Admin,
}

#[derive(Debug, Args)]
#[command(after_help = "What you type is the next prompt; while the agent asks, it is the answer.
Ctrl-C stops a running turn, and leaves when none runs; Ctrl-D leaves. The session stays.")]
pub(crate) struct AttachArgs {
    /// Session id, the beginning of one, or `last`
    pub(crate) session: String,
    /// Show only events after this sequence number
    #[arg(long, value_name = "SEQ")]
    pub(crate) after: Option<u64>,
    /// Hide the agent's thinking
    #[arg(long)]
    pub(crate) hide_thinking: bool,
}
