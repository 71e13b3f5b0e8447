//! The command line of `switchyard translate`.

use clap::{Args, ValueEnum};

#[derive(Debug, Args)]
#[command(after_help = "The CLI's stdout is read from stdin.

Examples:
  switchyard translate --dialect claude-stream-json --to text < stdout.jsonl
  codex exec --json \"hi\" | switchyard translate --dialect codex-exec --to acp

Exit codes: 0 ok, 1 the CLI reported an error, 2 usage")]
pub(crate) struct TranslateArgs {
    /// Output format of the CLI: acp, claude-stream-json, codex-exec, gemini-stream-json, …
    #[arg(long)]
    pub(crate) dialect: String,
    /// Event format to translate it into
    #[arg(long, value_enum)]
    pub(crate) to: Vocabulary,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Vocabulary {
    /// ACP messages, one a line
    Acp,
    /// JSON, one UI event a line
    Ui,
    /// JSON, one session envelope a line
    Envelopes,
    /// Text for people
    Text,
    /// JSON, one log event a line
    Json,
}
