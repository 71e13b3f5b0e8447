//! `make bench`: measures the cost of Switchyard beside other programs.
//!
//! In: the path of the binary, and the parts to run (all of them if none is named). Out: a
//! table for each. Absolute figures depend on the machine and on what else it does; ratios of
//! figures that were taken in turns less so, and the goals are ratios wherever they can be.

use std::path::PathBuf;

use clap::{Parser, ValueEnum};

mod acp;
mod bus;
mod daemon;
mod instructions;
mod native;

#[derive(Parser)]
#[command(about = "Measures Switchyard")]
struct Args {
    /// The binary to measure
    switchyard: PathBuf,
    parts: Vec<BenchPart>,
    /// The bus in less than a minute, and the daemon and the built-in agent in a few, less
    /// reliably
    #[arg(long)]
    quick: bool,
    /// The bus, the daemon and the built-in agent as JSON, instead of tables
    #[arg(long)]
    json: bool,
    /// How often measurements of the bus, and bursts and session starts of the daemon are
    /// repeated
    #[arg(long)]
    rounds: Option<usize>,
    /// The bus with these numbers of sessions only
    #[arg(long, value_delimiter = ',')]
    sessions: Vec<usize>,
    /// The bus with requests of these sizes only
    #[arg(long, value_delimiter = ',')]
    bytes: Vec<usize>,
    /// The bus over these only
    #[arg(long, value_delimiter = ',')]
    over: Vec<bus::BusTransport>,
    /// Ahead of everything else on the machine (chrt -f), for the bus; needs privileges
    #[arg(long)]
    fifo: bool,
    /// stdio Bus, to compare with
    #[arg(long, value_name = "PROGRAM")]
    stdio_bus: Option<PathBuf>,
    /// Where other daemons are installed, to compare with
    #[arg(long, value_name = "DIRECTORY")]
    daemon_peers: Option<PathBuf>,
    /// Where other coding agents are installed, to compare the built-in one with
    #[arg(long, value_name = "DIRECTORY")]
    native_peers: Option<PathBuf>,
    /// Keep today's instruction counts for comparison
    #[arg(long)]
    record: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum BenchPart {
    /// A turn through `switchyard acp` and `run`, against the agent on a bare pipe
    Acp,
    /// Round trips through `switchyard bus`, against a socket pair and other routers
    Bus,
    /// `switchyard serve`, against other daemons and the agent on a bare pipe
    Daemon,
    /// Instructions per message in the switch
    Instructions,
    /// The built-in agent between a model server and a client, against a plain reader of the
    /// same stream and other agents
    Native,
}

fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    let switchyard = args.switchyard.canonicalize()?;
    let is_asked = |part| args.parts.is_empty() || args.parts.contains(&part);
    if is_asked(BenchPart::Acp) && !args.json {
        acp::run(&switchyard);
    }
    if is_asked(BenchPart::Bus) {
        bus::run(&bus::Options {
            switchyard: switchyard.clone(),
            stdio_bus: args.stdio_bus.filter(|program| !program.as_os_str().is_empty()),
            is_quick: args.quick,
            is_json: args.json,
            is_fifo: args.fifo,
            n_rounds: args.rounds,
            n_sessions: or_all(args.sessions, &bus::SESSIONS),
            n_bytes: or_all(args.bytes, &bus::BYTES),
            over: or_all(args.over, &bus::BusTransport::ALL),
        })?;
    }
    if is_asked(BenchPart::Daemon) {
        daemon::run(&daemon::Options {
            switchyard: switchyard.clone(),
            peers: args.daemon_peers.filter(|directory| !directory.as_os_str().is_empty()),
            is_quick: args.quick,
            is_json: args.json,
            n_rounds: args.rounds,
        })?;
    }
    if is_asked(BenchPart::Native) {
        native::run(&native::Options {
            switchyard: switchyard.clone(),
            peers: args.native_peers.filter(|directory| !directory.as_os_str().is_empty()),
            is_quick: args.quick,
            is_json: args.json,
        })?;
    }
    if is_asked(BenchPart::Instructions) && !args.json {
        instructions::run(args.record)?;
    }
    Ok(())
}

fn or_all<T: Clone>(asked: Vec<T>, all: &[T]) -> Vec<T> {
    if asked.is_empty() { all.to_vec() } else { asked }
}
