//! How events can be shown.

use clap::ValueEnum;

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people
    Text,
    /// One event a line
    Json,
    /// One session envelope a line
    Envelopes,
    /// One UI event a line
    Ui,
    /// The answer and nothing else
    Quiet,
}
