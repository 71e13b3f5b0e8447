//! The command line: commands, options and help texts, as clap parses and prints them.

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
pub(crate) mod store;
pub(crate) mod translate;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Parser, Subcommand};

/// Help heading of the options that every command has; they stand behind its own.
const GLOBAL_OPTIONS: &str = "Global options";

/// Connects any client to any coding agent, through a session that is never lost.
#[derive(Debug, Parser)]
#[command(version, propagate_version = true, max_term_width = 100)]
#[command(after_help = "Examples:
  switchyard run native \"explain this repository\"   the built-in agent, with any model endpoint
  switchyard run demo \"say hello\"                    the built-in demo agent
  switchyard chat                                    talk to an agent, full screen
  switchyard agents                                  the agents installed on this machine
  switchyard run claude \"fix the test\"               a named agent
  switchyard run \"fix the test\" -- opencode acp      any command that speaks ACP
  switchyard run demo \"go on\" -s SESSION             the next turn of a session
  switchyard acp codex                               serve ACP on stdio, for an editor
  switchyard sessions list                           the sessions in the log")]
pub(crate) struct Cli {
    /// Log more on stderr (-v, -vv, -vvv)
    #[arg(short, long, global = true, action = clap::ArgAction::Count, help_heading = GLOBAL_OPTIONS)]
    pub(crate) verbose: u8,
    /// Configuration file to use instead of the default one; with `bus`, the bus file
    #[arg(long, global = true, value_name = "FILE", help_heading = GLOBAL_OPTIONS)]
    pub(crate) config: Option<PathBuf>,
    /// Write the log that -v shows to this file instead; it is rotated by size
    #[arg(long, global = true, value_name = "FILE", help_heading = GLOBAL_OPTIONS)]
    pub(crate) log_file: Option<PathBuf>,
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Prompt an agent and show the turn as it happens
    Run(run::RunArgs),
    /// Chat with an agent, full screen
    Chat(chat::ChatArgs),
    /// Serve ACP on stdin and stdout, for editors: any agent, with its sessions in the log
    Acp(acp::AcpArgs),
    /// Run the daemon: sessions for many clients, over HTTP, WebSocket, TCP and unix sockets
    Serve(serve::ServeArgs),
    /// Start, stop and inspect the background daemon
    #[command(subcommand)]
    Daemon(daemon::DaemonVerb),
    /// Manage the tokens by which clients authenticate to the daemon
    #[command(subcommand)]
    Token(daemon::TokenVerb),
    /// Join a session: follow it, prompt it and answer its approval requests
    Attach(daemon::AttachArgs),
    /// List, show, follow, export and delete sessions
    #[command(subcommand)]
    Sessions(sessions::SessionsVerb),
    /// Check, back up, restore, repair and compact the log
    #[command(subcommand)]
    Store(store::StoreVerb),
    /// Stop the running turn of a session, in whichever process it runs
    Cancel {
        /// Session id, the beginning of one, or `last`
        session: String,
    },
    /// List installed agents, what they can do, what is wrong with them and how to fix it
    Agents(agents::AgentsArgs),
    /// Route JSON-RPC between clients and pools of workers
    Bus(bus::BusArgs),
    /// Translate the output of an agent CLI into another event format
    Translate(translate::TranslateArgs),
    /// Show and check the configuration
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
    /// Print the paths of the configuration, the log and the sockets
    Path,
    /// Print the configuration in effect
    Show,
    /// Check that the configuration is valid
    Check,
}

/// The typed command line, with `help --help` read as `--help`.
pub(crate) fn normalized_args(typed: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut words: Vec<OsString> = typed.collect();
    if let [_, verb, flag] = &words[..]
        && verb == "help"
        && (flag == "--help" || flag == "-h")
    {
        words.remove(1);
    }
    words
}
