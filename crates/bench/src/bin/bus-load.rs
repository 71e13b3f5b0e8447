//! `bus-load`: puts a bus, or a bare worker, under load and prints what it found as JSON.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use bench::load::{Connections, LoadTarget, Options, run};
use clap::Parser;

#[derive(Parser)]
#[command(about = "Round trips through a bus: how many, and how long they take")]
struct Args {
    #[command(flatten)]
    to: Target,
    /// Sessions, each with one request outstanding
    #[arg(long, default_value_t = 1)]
    sessions: usize,
    /// Length of a request with its newline
    #[arg(long, default_value_t = 200)]
    bytes: usize,
    /// All sessions over one connection, instead of one for each
    #[arg(long)]
    mux: bool,
    #[arg(long, default_value_t = 500)]
    warm_ms: u64,
    #[arg(long, default_value_t = 3000)]
    measure_ms: u64,
    /// Process id of the bus, to report its CPU time and memory
    #[arg(long)]
    bus: Option<u32>,
}

#[derive(clap::Args)]
#[group(required = true, multiple = false)]
struct Target {
    #[arg(long)]
    tcp: Option<SocketAddr>,
    #[arg(long)]
    unix: Option<PathBuf>,
    /// Start this worker and talk to it without a bus
    #[arg(long)]
    worker: Option<PathBuf>,
}

#[allow(clippy::print_stdout, reason = "the report is the result")]
fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    bench::peer::allow_many()?;
    let to = match args.to {
        Target { tcp: Some(address), .. } => LoadTarget::Tcp(address),
        Target { unix: Some(path), .. } => LoadTarget::Unix(path),
        Target { worker, .. } => LoadTarget::Worker(worker.unwrap_or_default()),
    };
    let report = run(&Options {
        to,
        n_sessions: args.sessions.max(1),
        n_bytes: args.bytes,
        connections: if args.mux { Connections::OneForAll } else { Connections::OneForEach },
        warm: Duration::from_millis(args.warm_ms),
        measure: Duration::from_millis(args.measure_ms),
        bus: args.bus,
    })?;
    println!("{}", serde_json::to_string(&report)?);
    Ok(())
}
