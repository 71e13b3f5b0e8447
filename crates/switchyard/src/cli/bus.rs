//! The command line of `switchyard bus`, as it is typed.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Args)]
#[command(override_usage = "switchyard bus -c FILE [OPTIONS]\n       switchyard bus <COMMAND>")]
#[command(after_help = "FILE is a bus.toml, or a stdio Bus configuration in JSON; see docs/bus.md.
Without a listener, here or in FILE, there is one client, on stdin and stdout, and the bus ends
after that client's last request was answered.

Signals: TERM and INT let running requests end, then stop the workers and exit with 0; a second
one ends at once. HUP reads FILE again.

Examples:
  switchyard bus -c bus.toml                                  one client, on stdin and stdout
  switchyard bus -c bus.toml --unix ~/.bus.sock               clients of this user
  switchyard bus -c bus.toml --tcp 127.0.0.1:9000             clients that send the token
  switchyard bus --config stdio-bus.json --tcp 127.0.0.1:9000 --no-token
  switchyard bus check -c bus.toml                            is the file valid?
  switchyard bus status --json | jq .pools

Exit codes: 0 ok, 1 error, 2 usage, 4 no such pool, or no bus runs")]
pub(crate) struct BusArgs {
    #[command(subcommand)]
    pub(crate) verb: Option<BusVerb>,
    /// The bus.toml or stdio Bus configuration (also --config); with status, reload, drain,
    /// recover and restart it selects the bus, if several run
    #[arg(short = 'c', global = true, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// With status, reload, drain, recover and restart: select the bus with this process id
    #[arg(long, global = true, value_name = "PID")]
    pub(crate) pid: Option<u32>,
    #[command(flatten)]
    pub(crate) serve: BusServeArgs,
}

#[derive(Debug, Args)]
pub(crate) struct BusServeArgs {
    /// TCP listen address; port 0 takes any free port (repeatable)
    #[arg(long, value_name = "ADDR", value_parser = parse_address)]
    pub(crate) tcp: Vec<SocketAddr>,
    /// Listen on a unix socket, for clients of this user (repeatable)
    #[arg(long, value_name = "PATH")]
    pub(crate) unix: Vec<PathBuf>,
    /// Listen address for WebSocket clients (repeatable)
    #[arg(long, value_name = "ADDR", value_parser = parse_address)]
    pub(crate) ws: Vec<SocketAddr>,
    /// Serve one client on stdin and stdout; the default where there is no listener
    #[arg(long, conflicts_with_all = ["tcp", "unix", "ws"])]
    pub(crate) stdio: bool,
    /// Pool for the client on stdin, or for clients of the listeners given here
    #[arg(long, value_name = "POOL")]
    pub(crate) pool: Option<String>,
    /// Accept TCP and WebSocket clients without a token; loopback addresses only
    #[arg(long, conflicts_with = "token_file")]
    pub(crate) no_token: bool,
    /// File with the token that TCP and WebSocket clients must send
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// Record all input with its time in this file, so that the run can be replayed
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,
}

impl BusServeArgs {
    /// A flag of serving that was given; subcommands refuse it.
    pub(crate) fn given_flag(&self) -> Option<&'static str> {
        let Self { tcp, unix, ws, stdio, pool, no_token, token_file, record } = self;
        let flags = [
            (!tcp.is_empty(), "--tcp"),
            (!unix.is_empty(), "--unix"),
            (!ws.is_empty(), "--ws"),
            (*stdio, "--stdio"),
            (pool.is_some(), "--pool"),
            (*no_token, "--no-token"),
            (token_file.is_some(), "--token-file"),
            (record.is_some(), "--record"),
        ];
        flags.into_iter().find(|(is_given, _)| *is_given).map(|(_, flag)| flag)
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum BusVerb {
    /// Check that a file is valid and that everything it names exists; exit code 1 if not
    #[command(after_help = "Examples:
  switchyard bus check -c bus.toml
  switchyard bus check -c stdio-bus.json
  switchyard bus check -c bus.toml --json | jq .problems

Exit codes: 0 it is fine (warnings may be shown), 1 there are problems, 2 it cannot be read")]
    Check {
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Show pools, workers, clients, sessions and counters of the running bus
    #[command(after_help = "Examples:
  switchyard bus status
  switchyard bus status --json | jq '.pools[] | {name, state}'
  switchyard bus status --prometheus > switchyard_bus.prom")]
    Status {
        /// As JSON, with all counters and limits
        #[arg(long, conflicts_with = "prometheus")]
        json: bool,
        /// In the Prometheus text format
        #[arg(long)]
        prometheus: bool,
    },
    /// Make the running bus reload its file; what did not change is not touched
    Reload,
    /// Take no more requests for a pool, let those that run end, then stop its workers
    Drain {
        /// Name of the pool
        pool: String,
    },
    /// Restart a drained pool, or a failed one without waiting for its next try
    Recover {
        /// Name of the pool
        pool: String,
    },
    /// Replace the workers of a pool one by one, each after its requests have ended
    Restart {
        /// Name of the pool
        pool: String,
    },
}

/// `127.0.0.1:9000`, `[::1]:9000` or `localhost:9000`. Other names are not looked up: what
/// one listens on should not depend on a name server.
pub(crate) fn parse_address(text: &str) -> Result<SocketAddr, String> {
    if let Ok(address) = text.parse() {
        return Ok(address);
    }
    let port = text.strip_prefix("localhost:").and_then(|port| port.parse().ok());
    match port {
        Some(port) => Ok((Ipv4Addr::LOCALHOST, port).into()),
        None => Err(format!(
            "{text:?} is no address; write it like \"127.0.0.1:9000\" or \"[::1]:9000\""
        )),
    }
}
