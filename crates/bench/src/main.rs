//! `make bench`: what Switchyard costs, measured beside what it is compared with.

use std::path::PathBuf;

use clap::Parser;

mod acp;

#[derive(Parser)]
#[command(about = "Measures Switchyard")]
struct Args {
    /// The binary to measure
    switchyard: PathBuf,
}

fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    acp::run(&args.switchyard.canonicalize()?);
    Ok(())
}
