//! The command line of `switchyard sessions`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::format::OutputFormat;
use crate::time::parse_time;

#[derive(Debug, Subcommand)]
pub(crate) enum SessionsVerb {
    /// List sessions, the most recently used first
    List {
        /// Only sessions of this agent
        #[arg(long)]
        agent: Option<String>,
        /// Only sessions of this directory
        #[arg(long, value_name = "DIR")]
        cwd: Option<PathBuf>,
        /// How many sessions to list
        #[arg(long, default_value_t = 20)]
        limit: usize,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Show a session and its conversation
    Show {
        /// Session id, the beginning of one, or `last`
        session: String,
        /// As JSON, without the conversation
        #[arg(long)]
        json: bool,
        /// Also show thinking and other details
        #[arg(long)]
        all: bool,
    },
    /// Show a session's events and follow it as it goes on, until interrupted
    Watch {
        /// Session id, the beginning of one, or `last`
        session: String,
        /// Show only events after this sequence number
        #[arg(long, default_value_t = 0, value_name = "SEQ")]
        after: u64,
        /// Output format
        #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
        format: OutputFormat,
    },
    /// Export a session's whole log
    Export {
        /// Session id, the beginning of one, or `last`
        session: String,
        /// Output format
        #[arg(long, value_enum, default_value_t = OutputFormat::Json)]
        format: OutputFormat,
        /// File to write instead of stdout
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// List permission decisions of all sessions: who allowed what, when and by which rule
    Audit(AuditArgs),
    /// Delete sessions for good
    Delete {
        /// Session ids, beginnings of ids, or `last`
        #[arg(required = true)]
        sessions: Vec<String>,
        /// Do not ask for confirmation
        #[arg(short, long)]
        yes: bool,
    },
    /// Delete sessions that were not used for a while
    Prune {
        /// Not used for so many days
        #[arg(long, value_name = "DAYS")]
        older_than: u32,
        /// Keep so many of the most recent ones in any case
        #[arg(long, default_value_t = 0)]
        keep: usize,
        /// Do not ask for confirmation
        #[arg(short, long)]
        yes: bool,
    },
}

#[derive(Debug, Args)]
#[command(
    after_help = "T is a time (2026-11-03T09:00:00Z), a day (2026-11-03), or how long ago (90m, 7d).

Examples:
  switchyard sessions audit --since 7d
  switchyard sessions audit --since 2026-11-01 --until 2026-12-01 --format csv -o november.csv
  switchyard sessions audit --format json | jq 'select(.by == \"rule\")'"
)]
pub(crate) struct AuditArgs {
    /// Only this session: its id, the beginning of one, or `last`
    #[arg(long)]
    pub(crate) session: Option<String>,
    /// Only decisions from this time on
    #[arg(long, value_name = "T", value_parser = parse_time)]
    pub(crate) since: Option<wire::Millis>,
    /// Only decisions before this time
    #[arg(long, value_name = "T", value_parser = parse_time)]
    pub(crate) until: Option<wire::Millis>,
    /// Output format
    #[arg(long, value_enum, default_value_t = AuditFormat::Text)]
    pub(crate) format: AuditFormat,
    /// File to write instead of stdout
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum AuditFormat {
    /// Text for people
    Text,
    /// JSON, one decision a line
    Json,
    /// CSV, for spreadsheets
    Csv,
}
