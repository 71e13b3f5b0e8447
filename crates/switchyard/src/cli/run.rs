//! The command line of `switchyard run`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::format::OutputFormat;
use super::session::{AgentArgs, InitialOptionArgs, LimitArgs, PermissionArgs};
use crate::time::parse_duration;

#[derive(Debug, Args)]
#[command(
    after_help = "The prompt is text, or `-` to read it from stdin. With --stdin there is none:
every line on stdin is a prompt.

Examples:
  switchyard run native \"explain this repository\"
  switchyard run native \"fix the test\" --permissions accept-edits --model qwen3
  switchyard run demo \"say hello\"
  switchyard run claude \"fix the test\" --model opus --effort high --add-dir ../lib
  echo \"explain this repository\" | switchyard run - -- opencode acp
  switchyard run demo help --format json | jq .kind
  switchyard run -s last \"and now the tests\"
  printf 'say one\\nsay two\\n' | switchyard run demo --stdin --format envelopes

Exit codes: 0 ok, 1 error, 2 usage, 3 timeout, 4 no such session or agent, or the agent is not
installed, 5 a permission was denied or a limit was reached and nobody was there to ask,
130 interrupted, 143 terminated"
)]
#[command(
    override_usage = "switchyard run [OPTIONS] [AGENT] PROMPT [-- COMMAND...]\n       switchyard run [OPTIONS] --stdin [AGENT] [-- COMMAND...]"
)]
pub(crate) struct RunArgs {
    /// [AGENT] PROMPT: the agent may be left out with --agent, --session or a command
    #[arg(required_unless_present = "stdin", num_args = 1.., value_names = ["AGENT", "PROMPT"])]
    pub(crate) words: Vec<String>,
    /// Refused with a hint at `--format`: other commands have `--json`.
    #[arg(long, hide = true)]
    pub(crate) json: bool,
    /// Command line of an agent that speaks ACP
    #[arg(last = true, value_name = "COMMAND", conflicts_with = "session")]
    pub(crate) command: Vec<OsString>,
    #[command(flatten)]
    pub(crate) agent: AgentArgs,
    #[command(flatten)]
    pub(crate) permissions: PermissionArgs,
    #[command(flatten)]
    pub(crate) limits: LimitArgs,
    /// Continue an earlier session: its id, the beginning of one, or `last`
    #[arg(short, long, value_name = "SESSION")]
    pub(crate) session: Option<String>,
    /// Read prompts from stdin, one a line, and run them one after the other in one session
    #[arg(long)]
    pub(crate) stdin: bool,
    /// Output format
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    pub(crate) format: OutputFormat,
    /// Attach a file: an image or audio by content, anything else as a link (repeatable)
    #[arg(long, value_name = "FILE")]
    pub(crate) attach: Vec<PathBuf>,
    /// Cancel a turn after this long, e.g. 90s or 10m; without it there is no limit
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    pub(crate) timeout: Option<Duration>,
    #[command(flatten)]
    pub(crate) initial_options: InitialOptionArgs,
    /// Instructions that the agent gets before the first prompt of a session
    #[arg(long, value_name = "TEXT", conflicts_with = "session")]
    pub(crate) system_prompt: Option<String>,
    /// Authenticate with this method of the agent first
    #[arg(long, value_name = "METHOD")]
    pub(crate) auth: Option<String>,
    /// Hide the agent's thinking
    #[arg(long)]
    pub(crate) hide_thinking: bool,
    /// Run the agent in this process even if a daemon runs
    #[arg(long)]
    pub(crate) no_daemon: bool,
}
