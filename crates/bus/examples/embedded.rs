//! A bus inside another program: one pool, one client, one question.
//!
//! ```text
//! cargo run -p bus --example embedded -- opencode acp
//! ```
#![allow(clippy::print_stdout, reason = "an example shows what it got")]

use std::error::Error;
use std::process::ExitCode;

use bus::switch::{PoolPlan, SwitchLimits};
use bus::{Bus, IoLimits, KernelSetup, Launch, PoolSetup};

fn main() -> ExitCode {
    let mut args = std::env::args_os().skip(1);
    let Some(program) = args.next() else {
        println!("usage: embedded COMMAND [ARGS...]");
        return ExitCode::from(2);
    };
    // Every worker runs below a keeper, which is this program once more. It must come before
    // anything else, above all before threads.
    if program == "__keeper" {
        return bus::keeper::main();
    }
    let mut launch = Launch::new(program, ".");
    launch.args = args.collect();
    let ended = tokio::runtime::Runtime::new()
        .map_err(Into::into)
        .and_then(|runtime| runtime.block_on(ask(launch)));
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("{error}");
            ExitCode::FAILURE
        }
    }
}

async fn ask(launch: Launch) -> Result<(), Box<dyn Error>> {
    let bus = Bus::start(KernelSetup {
        pools: vec![PoolSetup::new(PoolPlan::fixed("agents", "", 1), launch)],
        limits: SwitchLimits::default(),
        edges: IoLimits::default(),
        record: None,
    })?;
    let mut port = bus.port(Some("agents")).await?;
    let initialize = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{}}}"#;
    port.sender.send(initialize.as_bytes()).await?;
    match port.receiver.receive().await? {
        Some(answer) => println!("{}", String::from_utf8_lossy(&answer)),
        None => println!("the bus closed the port"),
    }
    bus.drain().await?;
    Ok(())
}
