//! `bus-instructions`: plays a fixed load through the switch, to be run under callgrind.

use bench::switch_load::{Kind, SwitchLoad};
use clap::Parser;

#[derive(Parser)]
#[command(about = "A fixed load through the switch, for counting its instructions")]
struct Args {
    /// Notifications of the worker, instead of requests and answers
    #[arg(long)]
    updates: bool,
    #[arg(long)]
    bytes: usize,
    /// How many batches are made
    #[arg(long)]
    made: usize,
    /// How many of them are played
    #[arg(long)]
    played: usize,
}

#[allow(clippy::print_stdout, reason = "the number of messages is the result")]
fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    let kind = if args.updates { Kind::Updates } else { Kind::RoundTrips };
    let mut load = SwitchLoad::new(kind, args.bytes, args.made)?;
    load.run(args.played);
    println!("{}", load.n_messages() * args.played);
    Ok(())
}
