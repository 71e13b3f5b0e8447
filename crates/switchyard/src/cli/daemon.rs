//! The command lines around the daemon: itself, its tokens, its sessions.

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
    /// End the daemon; turns may finish first
    Stop {
        /// Do not wait for turns
        #[arg(long)]
        now: bool,
    },
    /// Whether a daemon runs, where, and how it is; exit code 4 if none does
    Status {
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// What the daemon in the background wrote about itself
    Log {
        /// Go on as it grows
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
  switchyard token revoke phone                        also ends what it has open
  switchyard token login                               a link for the browser")]
pub(crate) enum TokenVerb {
    /// Print the admin's token
    Show,
    /// Make a token; it is printed this once
    Add(NewTokenArgs),
    /// All tokens, without their secrets
    List {
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// End a token, and every connection that it opened
    Revoke {
        /// As `switchyard token list` shows it
        name: String,
    },
    /// Give a token a new secret
    Rotate {
        /// `admin`, or the name of another one
        name: String,
    },
    /// A link that logs one browser in, once
    Login,
}

#[derive(Debug, Args)]
pub(crate) struct NewTokenArgs {
    /// What to call it; decisions in the log name it
    pub(crate) name: String,
    /// What it may do
    #[arg(long, value_enum, default_value_t = RoleName::Operator)]
    pub(crate) role: RoleName,
    /// For how long, e.g. 12h or 30d
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    pub(crate) expires: Option<Duration>,
    /// It sees only the sessions that it makes
    #[arg(long)]
    pub(crate) own_sessions: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum RoleName {
    /// Reads
    Observer,
    /// Also creates sessions, prompts, cancels and answers
    Operator,
    /// Also deletes, and makes tokens
    Admin,
}

#[derive(Debug, Args)]
#[command(after_help = "What you type is the next prompt; while the agent asks, it is the answer.
Ctrl-C stops a running turn, and leaves when none runs; Ctrl-D leaves. The session stays.")]
pub(crate) struct AttachArgs {
    /// Session id, the beginning of one, or `last`
    pub(crate) session: String,
    /// Only events after this number
    #[arg(long, value_name = "SEQ")]
    pub(crate) after: Option<u64>,
    /// Leave out what the agent thinks
    #[arg(long)]
    pub(crate) hide_thinking: bool,
}
