//! The command line, as it is typed.

pub(crate) mod acp;
pub(crate) mod agents;
pub(crate) mod bus;
pub(crate) mod chat;
pub(crate) mod daemon;
pub(crate) mod format;
pub(crate) mod hidden;
pub(crate) mod run;
pub(crate) mod serve;
pub(crate) mod session;
pub(crate) mod sessions;
pub(crate) mod translate;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Parser, Subcommand};

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
    Run(run::RunArgs),
    /// Talk to an agent, full screen
    Chat(chat::ChatArgs),
    /// Be an ACP agent on stdin and stdout, backed by another agent and logged
    Acp(acp::AcpArgs),
    /// Be the daemon: sessions for many clients, over HTTP, WebSocket, TCP and unix sockets
    Serve(serve::ServeArgs),
    /// Start, stop and look at the daemon in the background
    #[command(subcommand)]
    Daemon(daemon::DaemonVerb),
    /// Who may talk to the daemon
    #[command(subcommand)]
    Token(daemon::TokenVerb),
    /// Take part in a session of the daemon
    Attach(daemon::AttachArgs),
    /// List, show, follow, export and delete sessions
    #[command(subcommand)]
    Sessions(sessions::SessionsVerb),
    /// Stop the running turn of a session, in whichever process it runs
    Cancel {
        /// Session id, the beginning of one, or `last`
        session: String,
    },
    /// What agents there are, what they can do, what is wrong and how to mend it
    Agents(agents::AgentsArgs),
    /// Route JSON-RPC between clients and pools of workers
    Bus(bus::BusArgs),
    /// Turn what a CLI printed into another vocabulary
    Translate(translate::TranslateArgs),
    /// Where the configuration is and what it says
    #[command(subcommand)]
    Config(ConfigVerb),
    /// A CLI as an ACP agent, without a log
    #[command(hide = true)]
    Adapter(hidden::AdapterArgs),
    /// The built-in agent alone, on stdin and stdout
    #[command(hide = true)]
    NativeAgent(hidden::NativeAgentArgs),
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
