//! The `switchyard` command: reads the command line and configuration, calls the crates
//! that do the work, and shows the result. Only what people type and read is made here.

mod agents;
mod cli;
mod command_daemon;
mod config;
mod daemon;
mod home;
mod logging;
mod outcome;
mod session_info;
mod signals;
mod stdio;
mod terminal;
mod this_process;
mod time;
mod traces;
mod verbs;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::Parser;

use agents::{demo, native};
use cli::daemon::DaemonVerb;
use cli::{Cli, Verb};
use daemon::activation::{self, ActivationError, InheritedListeners};
use daemon::serve;
use daemon::service::DaemonService;
use home::make_private_dir;
use logging::Logging;
use outcome::Failure;
use verbs::{acp, adapter, attach, bus, chat, run, translate};

/// The wait at the end of a daemon for its last tasks, with which the log is closed and its
/// write-ahead log emptied: that takes milliseconds. After it a thread hangs in a call to the disk.
const LOG_CLOSES_WITHIN: Duration = Duration::from_secs(1);

fn main() -> ExitCode {
    let mut args = std::env::args_os().skip(1);
    let first = args.next().unwrap_or_default();
    let verb = first.to_str().unwrap_or_default();
    if verb == ::bus::keeper::VERB {
        // Before any thread: a keeper must be the only thing in its process.
        return ::bus::keeper::main();
    }
    if verb == agent::native::sandbox::LAUNCHER_VERB {
        let args: Vec<std::ffi::OsString> = args.collect();
        return agent::native::sandbox::launcher_main(&args);
    }
    hide_environment();
    ::bus::give_large_memory_back();
    // Also before any thread: takes inherited sockets, and their variables out of the environment.
    let inherited = activation::inherited();
    // One protocol on one pair of pipes: handing messages from thread to thread would cost
    // more than it gains. The log has threads of its own.
    let protocols = ["acp", agents::command::ADAPTER_VERB, demo::VERB, native::VERB];
    let mut builder = match protocols.contains(&verb) {
        true => tokio::runtime::Builder::new_current_thread(),
        false => tokio::runtime::Builder::new_multi_thread(),
    };
    let runtime = builder.worker_threads(2).enable_all().build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => return Failure::from(anyhow::Error::from(error)).report(),
    };
    if verb == demo::VERB {
        return runtime.block_on(demo::serve(args.collect()));
    }
    let cli = Cli::parse_from(cli::normalized_args(std::env::args_os()));
    let logging = logging::start(cli.verbose);
    let is_daemon = matches!(cli.verb, Verb::Serve(_));
    let ended = runtime.block_on(dispatch(cli, &logging, inherited));
    if is_daemon {
        runtime.shutdown_timeout(LOG_CLOSES_WITHIN);
    } else {
        // A thread may still wait for a line that nobody will type.
        runtime.shutdown_background();
    }
    logging.flush();
    match ended {
        Ok(code) => code,
        Err(failure) => failure.report(),
    }
}

/// Makes this process undumpable: agents and their commands run as the same user, and must not
/// read keys from its environment.
fn hide_environment() {
    use rustix::process::{DumpableBehavior, set_dumpable_behavior};
    // A failure leaves things as they were, and logging has not started yet.
    let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
}

async fn dispatch(
    cli: Cli,
    logging: &Logging,
    inherited: Result<InheritedListeners, ActivationError>,
) -> Result<ExitCode, Failure> {
    // `--config` of the bus is its own file, as with stdio Bus.
    let is_bus = matches!(cli.verb, Verb::Bus(_));
    let named = cli.config.as_deref().filter(|_| !is_bus);
    if let Some(path) = named.filter(|path| !path.exists()) {
        return Err(Failure::usage(format!("there is no file {}", path.display())));
    }
    let mut config = match config::load(named) {
        Ok(config) => config,
        Err(error) => fallback_config(&cli.verb, named, error.into()).await?,
    };
    let service = match (&cli.verb, cli.log_file) {
        (Verb::Serve(_), path) => {
            let inherited = inherited.map_err(anyhow::Error::from)?;
            Some(DaemonService::begin(logging.clone(), path, &config.file.log, inherited)?)
        }
        (_, Some(path)) => {
            logging.to_file(path)?;
            None
        }
        // The chat has the whole screen, so its log goes to a file.
        (Verb::Chat(args), None) if chat::is_full_screen(args) => {
            make_private_dir(&config.home.state)?;
            logging.to_file(config.home.state.join("chat.log"))?;
            None
        }
        (_, None) => None,
    };
    logging.secrets().register_environment(config.secret_variables());
    let has_sessions =
        matches!(cli.verb, Verb::Run(_) | Verb::Chat(_) | Verb::Acp(_) | Verb::Serve(_));
    let traces = match has_sessions {
        true => traces::start(&config.file.traces, logging.secrets())?,
        false => None,
    };
    if let Some(traces) = &traces {
        config.observers = config.observers.and(traces.observer.clone());
    }
    let ended = Box::pin(run_verb(cli.verb, cli.config, config, service)).await;
    if let Some(traces) = traces {
        traces.finish().await;
    }
    ended
}

/// The fallback for commands that work without a usable configuration: managing a daemon needs no
/// more than its address, and may be necessary before the file can be mended.
async fn fallback_config(
    verb: &Verb,
    named: Option<&std::path::Path>,
    failure: Failure,
) -> Result<config::Config, Failure> {
    match verb {
        Verb::Daemon(verb) if !matches!(verb, DaemonVerb::Start(_)) => {
            let config = config::defaults(named)?;
            terminal::say(&format!("switchyard: going on without the configuration: {failure}"));
            Ok(config)
        }
        Verb::Acp(_) => {
            let stop = tokio_util::sync::CancellationToken::new();
            signals::stop_on_signals(&stop)?;
            Err(acp::refuse(failure, &stop).await)
        }
        _ => Err(failure),
    }
}

async fn run_verb(
    verb: Verb,
    named: Option<std::path::PathBuf>,
    config: config::Config,
    service: Option<DaemonService>,
) -> Result<ExitCode, Failure> {
    match verb {
        Verb::Serve(args) => match service {
            Some(service) => serve::serve(args, Arc::new(config), service).await,
            None => Err(Failure::usage("the daemon was started without its service")),
        },
        Verb::Run(args) => run::run(args, Arc::new(config)).await,
        Verb::Chat(args) => chat::chat(args, Arc::new(config)).await,
        Verb::Acp(args) => acp::serve(args, Arc::new(config)).await,
        Verb::Daemon(verb) => verbs::daemon::dispatch(verb, config).await,
        Verb::Token(verb) => verbs::token::dispatch(verb, config).await,
        Verb::Attach(args) => attach::attach(args, Arc::new(config)).await,
        Verb::Sessions(verb) => verbs::sessions::dispatch(verb, Arc::new(config)).await,
        Verb::Store(verb) => verbs::store::dispatch(verb, config).await,
        Verb::Cancel { session } => verbs::sessions::cancel(&session, Arc::new(config)).await,
        Verb::NativeAgent(args) => native::serve(args, config).await,
        Verb::Adapter(args) => adapter::serve(args, config).await,
        Verb::Agents(args) => verbs::agents::dispatch(args, config).await,
        Verb::Translate(args) => translate::translate(&args),
        Verb::Bus(args) => Box::pin(bus::dispatch(args, named, config)).await,
        Verb::Config(verb) => verbs::config::dispatch(&verb, &config),
    }
}
