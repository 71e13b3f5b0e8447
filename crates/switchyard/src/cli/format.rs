//! The output formats for a session's events.

use clap::ValueEnum;

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    /// Text for people
    Text,
    /// JSON, one log event a line
    Json,
    /// JSON, one session envelope a line
    Envelopes,
    /// JSON, one UI event a line
    Ui,
    /// Only the agent's answer
    Quiet,
}
