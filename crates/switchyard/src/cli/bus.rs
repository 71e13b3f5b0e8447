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
  switchyard bus -c bus.toml --tcp 127.0.0.1:9000             clients that know the token
  switchyard bus --config stdio-bus.json --tcp 127.0.0.1:9000 --no-token
  switchyard bus check -c bus.toml                            is it right, is everything there?
  switchyard bus status --json | jq .pools

Exit codes: 0 ok, 1 error, 2 usage, 4 no such pool, or no bus runs")]
pub(crate) struct BusArgs {
    #[command(subcommand)]
    pub(crate) verb: Option<BusVerb>,
    /// The bus.toml or stdio Bus configuration (also --config); with status, reload, drain,
    /// recover and restart, which bus is meant if several run
    #[arg(short = 'c', global = true, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// With status, reload, drain, recover and restart: the bus with this process id
    #[arg(long, global = true, value_name = "PID")]
    pub(crate) pid: Option<u32>,
    #[command(flatten)]
    pub(crate) serve: ServeArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// Listen on TCP; port 0 takes any that is free (repeatable)
    #[arg(long, value_name = "ADDR", value_parser = parse_address)]
    pub(crate) tcp: Vec<SocketAddr>,
    /// Listen on a unix socket, for clients of this user (repeatable)
    #[arg(long, value_name = "PATH")]
    pub(crate) unix: Vec<PathBuf>,
    /// Listen for clients by WebSocket (repeatable)
    #[arg(long, value_name = "ADDR", value_parser = parse_address)]
    pub(crate) ws: Vec<SocketAddr>,
    /// One client on stdin and stdout; what is done without any listener
    #[arg(long, conflicts_with_all = ["tcp", "unix", "ws"])]
    pub(crate) stdio: bool,
    /// Pool of the clients of stdin and of the listeners given here
    #[arg(long, value_name = "POOL")]
    pub(crate) pool: Option<String>,
    /// Let anybody on this machine in by TCP and WebSocket; loopback addresses only
    #[arg(long, conflicts_with = "token_file")]
    pub(crate) no_token: bool,
    /// File with the token that clients of TCP and WebSocket must know
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// Write down everything that comes in, with the time, so that the run can be replayed
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,
}

impl ServeArgs {
    /// A flag that was given although it is for serving alone.
    pub(crate) fn given(&self) -> Option<&'static str> {
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
    /// Whether a file is right and everything in it is there; exit code 1 if not
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
    /// Pools, workers, clients, sessions and counters of the bus that runs
    #[command(after_help = "Examples:
  switchyard bus status
  switchyard bus status --json | jq '.pools[] | {name, state}'
  switchyard bus status --prometheus > switchyard_bus.prom")]
    Status {
        /// As JSON, with all counters and limits
        #[arg(long, conflicts_with = "prometheus")]
        json: bool,
        /// As Prometheus reads it
        #[arg(long)]
        prometheus: bool,
    },
    /// Make the bus that runs read its file again; what did not change is not touched
    Reload,
    /// Let the requests of a pool end, take no more, stop its workers
    Drain {
        /// Name of the pool
        pool: String,
    },
    /// Serve again: a pool that was drained, or that failed and need not wait any longer
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
