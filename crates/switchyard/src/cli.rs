//! The command line, as it is typed.

pub(crate) mod bus;
pub(crate) mod chat;
pub(crate) mod daemon;
pub(crate) mod serve;
pub(crate) mod session;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::cli::session::{AgentArgs, LimitArgs, PermissionArgs, PermissionMode, WishArgs};

/// Options of every command stand behind its own.
const EVERYWHERE: &str = "Global options";

/// Connects any client to any coding agent, through a session that is never lost.
#[derive(Debug, Parser)]
#[command(version, propagate_version = true, max_term_width = 100)]
#[command(after_help = "Examples:
  switchyard run native \"explain this repository\"   the built-in agent, with any model endpoint
  switchyard run demo \"say hello\"                    the built-in demo agent
  switchyard chat                                    talk to an agent, full screen
  switchyard agents                                  what there is on this machine
  switchyard run claude \"fix the test\"               a named agent
  switchyard run \"fix the test\" -- opencode acp      any ACP command
  switchyard run demo \"go on\" -s SESSION             the next turn of a session
  switchyard acp codex                               be an ACP agent, for an editor
  switchyard sessions list                           what is in the log")]
pub(crate) struct Cli {
    /// More about what happens, on stderr (-v, -vv, -vvv)
    #[arg(short, long, global = true, action = clap::ArgAction::Count, help_heading = EVERYWHERE)]
    pub(crate) verbose: u8,
    /// Configuration file to use instead of the usual one; with `bus`, its file
    #[arg(long, global = true, value_name = "FILE", help_heading = EVERYWHERE)]
    pub(crate) config: Option<PathBuf>,
    /// Write what -v shows to this file instead; it is put aside when it has grown
    #[arg(long, global = true, value_name = "FILE", help_heading = EVERYWHERE)]
    pub(crate) log_file: Option<PathBuf>,
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Run one turn and show it as it happens
    Run(RunArgs),
    /// Talk to an agent, full screen
    Chat(crate::cli::chat::ChatArgs),
    /// Be an ACP agent on stdin and stdout, backed by another agent and logged
    Acp(AcpArgs),
    /// Be the daemon: sessions for many clients, over HTTP, WebSocket, TCP and unix sockets
    Serve(crate::cli::serve::ServeArgs),
    /// Start, stop and look at the daemon in the background
    #[command(subcommand)]
    Daemon(crate::cli::daemon::DaemonVerb),
    /// Who may talk to the daemon
    #[command(subcommand)]
    Token(crate::cli::daemon::TokenVerb),
    /// Take part in a session of the daemon
    Attach(crate::cli::daemon::AttachArgs),
    /// List, show, follow, export and delete sessions
    #[command(subcommand)]
    Sessions(SessionsVerb),
    /// Stop the running turn of a session, in whichever process it runs
    Cancel {
        /// Session id, the beginning of one, or `last`
        session: String,
    },
    /// What agents there are, what they can do, what is wrong and how to mend it
    Agents(AgentsArgs),
    /// Route JSON-RPC between clients and pools of workers
    Bus(crate::cli::bus::BusArgs),
    /// Turn what a CLI printed into another vocabulary
    Translate(TranslateArgs),
    /// Where the configuration is and what it says
    #[command(subcommand)]
    Config(ConfigVerb),
    /// A CLI as an ACP agent, without a log
    #[command(hide = true)]
    Adapter(AdapterArgs),
    /// The built-in agent alone, on stdin and stdout
    #[command(hide = true)]
    NativeAgent(crate::agents::native::Arguments),
}

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

Exit codes: 0 ok, 1 error, 2 usage, 3 timeout, 4 no such session or agent,
5 a permission was denied or a limit was reached and nobody was there to ask,
130 interrupted, 143 terminated"
)]
#[command(
    override_usage = "switchyard run [OPTIONS] [AGENT] PROMPT [-- COMMAND...]\n       switchyard run [OPTIONS] --stdin [AGENT] [-- COMMAND...]"
)]
pub(crate) struct RunArgs {
    /// [AGENT] PROMPT: the agent may be left out with --agent, --session or a command
    #[arg(required_unless_present = "stdin", num_args = 1.., value_names = ["AGENT", "PROMPT"])]
    pub(crate) words: Vec<String>,
    /// What other commands have; here it is a format.
    #[arg(long, hide = true)]
    pub(crate) json: bool,
    /// The agent's own command line
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
    #[command(flatten)]
    pub(crate) agent: AgentArgs,
    #[command(flatten)]
    pub(crate) permissions: PermissionArgs,
    #[command(flatten)]
    pub(crate) limits: LimitArgs,
    /// Go on with an earlier session: its id, the beginning of one, or `last`
    #[arg(short, long, value_name = "SESSION")]
    pub(crate) session: Option<String>,
    /// Take prompts from stdin, one a line, and give them to one session one after the other
    #[arg(long)]
    pub(crate) stdin: bool,
    /// How to show what happens
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
    /// Send a file along: an image or sound as such, anything else as a link (repeatable)
    #[arg(long, value_name = "FILE")]
    pub(crate) attach: Vec<PathBuf>,
    /// Cancel the turn after this long, e.g. 90s or 10m; without it a turn may take its time
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    pub(crate) timeout: Option<Duration>,
    #[command(flatten)]
    pub(crate) wishes: WishArgs,
    /// Instructions that the agent gets before the first prompt of a session
    #[arg(long, value_name = "TEXT", conflicts_with = "session")]
    pub(crate) system_prompt: Option<String>,
    /// Log in with this method of the agent first
    #[arg(long, value_name = "METHOD")]
    pub(crate) auth: Option<String>,
    /// Leave out what the agent thinks
    #[arg(long)]
    pub(crate) hide_thinking: bool,
    /// Run the agent here even if a daemon runs
    #[arg(long)]
    pub(crate) no_daemon: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "In an editor's agent settings:
  command: switchyard   args: [\"acp\"]               the built-in agent, `native`
  command: switchyard   args: [\"acp\", \"claude\"]
  command: switchyard   args: [\"acp\", \"--\", \"opencode\", \"acp\"]")]
pub(crate) struct AcpArgs {
    /// Name of the agent; without one, the built-in agent
    #[arg(value_name = "AGENT")]
    pub(crate) name: Option<String>,
    /// The agent's own command line
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
    #[command(flatten)]
    pub(crate) agent: AgentArgs,
    #[command(flatten)]
    pub(crate) permissions: PermissionArgs,
    /// Run the agent here even if a daemon runs
    #[arg(long)]
    pub(crate) no_daemon: bool,
}

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

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  switchyard agents                      what is installed, as it is found
  switchyard agents show claude          everything about one
  switchyard agents doctor               only what is wrong, and what to do
  switchyard agents --json | jq -r '.[] | select(.isUsable) | .id'")]
pub(crate) struct AgentsArgs {
    #[command(subcommand)]
    pub(crate) verb: Option<AgentsVerb>,
    /// As JSON
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Look again instead of believing what was found before
    #[arg(long, global = true)]
    pub(crate) refresh: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AgentsVerb {
    /// What is installed (also without a verb)
    List {
        /// Also those that are not installed
        #[arg(long)]
        all: bool,
    },
    /// Everything about one agent: path, version, command line, models, login, resume; exit
    /// code 4 if it is not installed, 1 if it cannot be used
    Show {
        /// Name of the agent
        agent: String,
    },
    /// Only what is wrong, with what to do about it; exit code 1 if something cannot be used
    Doctor,
}

#[derive(Debug, Args)]
#[command(after_help = "The CLI's stdout is read from stdin.

Examples:
  switchyard translate --dialect claude-stream-json --to text < stdout.jsonl
  codex exec --json \"hi\" | switchyard translate --dialect codex-exec --to acp

Exit codes: 0 ok, 1 the CLI reported an error, 2 usage")]
pub(crate) struct TranslateArgs {
    /// What the CLI speaks: acp, claude-stream-json, codex-exec, gemini-stream-json, …
    #[arg(long)]
    pub(crate) dialect: String,
    /// What to turn it into
    #[arg(long, value_enum)]
    pub(crate) to: Vocabulary,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Vocabulary {
    /// ACP messages, one a line
    Acp,
    /// UI events, one a line
    Ui,
    /// Session envelopes, one a line
    Envelopes,
    /// For people
    Text,
    /// Events of the log, one a line
    Json,
}

#[derive(Debug, Args)]
pub(crate) struct AdapterArgs {
    /// Name of the agent
    pub(crate) agent: String,
    /// The CLI's executable
    #[arg(long)]
    pub(crate) program: PathBuf,
    /// Which of the definition's forms to speak
    #[arg(long)]
    pub(crate) form: usize,
    /// What the CLI was found to have (repeatable)
    #[arg(long = "feature")]
    pub(crate) features: Vec<String>,
    /// The CLI's version
    #[arg(long = "cli-version")]
    pub(crate) cli_version: Option<String>,
    /// What may be done without asking
    #[arg(long, value_enum)]
    pub(crate) permissions: PermissionMode,
    /// Where running workers are noted
    #[arg(long)]
    pub(crate) records: Option<PathBuf>,
    /// Where temporary files are put
    #[arg(long)]
    pub(crate) scratch: Option<PathBuf>,
}

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
        /// How many to show
        #[arg(long, default_value_t = 20)]
        limit: usize,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Show what a session is and what was said in it
    Show {
        /// Session id, the beginning of one, or `last`
        session: String,
        /// As JSON, without the conversation
        #[arg(long)]
        json: bool,
        /// Also what a reader rarely needs
        #[arg(long)]
        all: bool,
    },
    /// Show a session's events and follow it as it goes on, until interrupted
    Watch {
        /// Session id, the beginning of one, or `last`
        session: String,
        /// Only events after this number
        #[arg(long, default_value_t = 0, value_name = "SEQ")]
        after: u64,
        /// How to show the events
        #[arg(long, value_enum, default_value_t = Format::Text)]
        format: Format,
    },
    /// Write out a session's whole log
    Export {
        /// Session id, the beginning of one, or `last`
        session: String,
        /// How to write the events
        #[arg(long, value_enum, default_value_t = Format::Json)]
        format: Format,
        /// File to write instead of stdout
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Who allowed what, when and by which rule, in all sessions
    Audit(AuditArgs),
    /// Delete sessions for good
    Delete {
        /// Session ids, beginnings of ids, or `last`
        #[arg(required = true)]
        sessions: Vec<String>,
        /// Do not ask
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
        /// Do not ask
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
    /// Not before this
    #[arg(long, value_name = "T", value_parser = crate::verbs::sessions::audit::parse_time)]
    pub(crate) since: Option<wire::Millis>,
    /// Before this
    #[arg(long, value_name = "T", value_parser = crate::verbs::sessions::audit::parse_time)]
    pub(crate) until: Option<wire::Millis>,
    /// How to show the decisions
    #[arg(long, value_enum, default_value_t = AuditFormat::Text)]
    pub(crate) format: AuditFormat,
    /// File to write instead of stdout
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum AuditFormat {
    /// For people
    Text,
    /// One decision a line
    Json,
    /// For spreadsheets
    Csv,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigVerb {
    /// Where the configuration, the log and the sockets are
    Path,
    /// The configuration in effect
    Show,
    /// Whether the configuration can be read
    Check,
}

/// `90s`, `10m`, `1h30m`, `30d`, or a number of seconds.
pub(crate) fn parse_duration(text: &str) -> Result<Duration, String> {
    const DAY: u64 = 24 * 60 * 60;
    let text = text.trim();
    if let Ok(seconds) = text.parse::<u64>() {
        return Ok(Duration::from_secs(seconds));
    }
    let days = text.strip_suffix('d').and_then(|days| days.trim().parse::<u64>().ok());
    if let Some(seconds) = days.and_then(|days| days.checked_mul(DAY)) {
        return Ok(Duration::from_secs(seconds));
    }
    let bad = |_| "write it as 90s, 10m, 1h30m or 30d".to_owned();
    let duration = text.parse::<jiff::SignedDuration>().map_err(bad)?;
    Duration::try_from(duration).map_err(|_| "a duration cannot be negative".to_owned())
}

/// What was typed, with `help --help` as everybody means it.
pub(crate) fn words(typed: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut words: Vec<OsString> = typed.collect();
    if let [_, verb, flag] = &words[..]
        && verb == "help"
        && (flag == "--help" || flag == "-h")
    {
        words.remove(1);
    }
    words
}
