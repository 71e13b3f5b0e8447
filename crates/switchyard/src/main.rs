//! The `switchyard` command: reads the command line and configuration, calls the crates
//! that know how, and shows the result. Knows words for people, and nothing else.

mod acp;
mod adapter;
mod agents;
mod agents_verbs;
mod allowance;
mod ask;
mod attach;
mod audit;
mod bus;
mod cli;
mod cli_bus;
mod cli_daemon;
mod cli_serve;
mod config;
mod config_serve;
mod control;
mod daemon_verbs;
mod follow;
mod format;
mod home;
mod launching;
mod outcome;
mod paint;
mod prompt;
mod reach;
mod reached;
mod run;
mod serve;
mod sessions_verbs;
mod signals;
mod stdio;
mod terminal;
mod token_verbs;
mod translate;
mod world;

use std::process::ExitCode;

use clap::Parser;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::prelude::*;

use cli::{Cli, Verb};
use outcome::Failure;

fn main() -> ExitCode {
    let mut args = std::env::args_os().skip(1);
    let first = args.next();
    if first.as_deref().is_some_and(|verb| verb == world::KEEPER_VERB) {
        // Before any thread: a keeper must be the only thing in its process.
        return ::bus::keeper::main();
    }
    // One protocol on one pair of pipes: handing messages from thread to thread would cost
    // more than it gains. The log has threads of its own.
    let is_protocol = first.as_deref().is_some_and(|verb| {
        verb == "acp" || verb == world::ADAPTER_VERB || verb == world::DEMO_VERB
    });
    let mut builder = match is_protocol {
        true => tokio::runtime::Builder::new_current_thread(),
        false => tokio::runtime::Builder::new_multi_thread(),
    };
    let runtime = builder.worker_threads(2).enable_all().build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => return Failure::from(anyhow::Error::from(error)).report(),
    };
    if first.as_deref().is_some_and(|verb| verb == world::DEMO_VERB) {
        return runtime.block_on(demo_agent(args.collect()));
    }
    let cli = Cli::parse();
    start_logging(cli.verbose);
    let ended = runtime.block_on(dispatch(cli));
    // A thread may still wait for a line that nobody will type.
    runtime.shutdown_background();
    match ended {
        Ok(code) => code,
        Err(failure) => failure.report(),
    }
}

async fn dispatch(cli: Cli) -> Result<ExitCode, Failure> {
    let is_adapter = matches!(cli.verb, Verb::Adapter(_));
    // `--config` of the bus is its own file, as with stdio Bus.
    let is_bus = matches!(cli.verb, Verb::Bus(_));
    // Whoever started an adapter has read the file, if there is one.
    let config = config::load(cli.config.as_deref().filter(|_| !is_bus), is_adapter)?;
    match cli.verb {
        Verb::Run(args) => run::run(args, config).await,
        Verb::Acp(args) => acp::serve(args, config).await,
        Verb::Serve(args) => serve::serve(args, config).await,
        Verb::Daemon(verb) => daemon_verbs::dispatch(verb, config).await,
        Verb::Token(verb) => token_verbs::dispatch(verb, config).await,
        Verb::Attach(args) => attach::attach(args, config).await,
        Verb::Sessions(verb) => sessions_verbs::dispatch(verb, config).await,
        Verb::Cancel { session } => sessions_verbs::cancel(&session, config).await,
        Verb::Adapter(args) => adapter::serve(args, config).await,
        Verb::Agents(args) => agents_verbs::dispatch(args, config).await,
        Verb::Translate(args) => translate::translate(&args),
        Verb::Bus(args) => bus::dispatch(args, cli.config, config).await,
        Verb::Config(verb) => config::dispatch(&verb, &config),
    }
}

async fn demo_agent(args: Vec<std::ffi::OsString>) -> ExitCode {
    if args.iter().any(|arg| arg == "--help" || arg == "-h") {
        let about = "switchyard demo-agent: the demo agent alone, on stdin and stdout";
        let _ = format::print(&format!("{about}\n\n{}\n", agent::demo::USAGE));
        return ExitCode::SUCCESS;
    }
    match agent::demo::Options::from_args(&args) {
        Ok(options) => agent::demo::serve(options).await,
        Err(why) => {
            terminal::say(&format!("switchyard demo-agent: {why}"));
            ExitCode::from(outcome::USAGE)
        }
    }
}

/// Logs go to stderr; stdout belongs to the answer or the protocol.
fn start_logging(n_verbose: u8) {
    let level = match n_verbose {
        0 => None,
        1 => Some("info"),
        2 => Some("debug"),
        _ => Some("trace"),
    };
    let wanted = match (level, std::env::var("SWITCHYARD_LOG")) {
        (Some(level), _) => level.to_owned(),
        (None, Ok(wanted)) => wanted,
        (None, Err(_)) => String::new(),
    };
    let errors = Targets::new().with_default(tracing::Level::ERROR);
    let filter = wanted.parse::<Targets>().ok().filter(|_| !wanted.is_empty()).unwrap_or(errors);
    let to_stderr = tracing_subscriber::fmt::layer().with_writer(std::io::stderr);
    tracing_subscriber::registry().with(to_stderr.with_filter(filter)).init();
}
