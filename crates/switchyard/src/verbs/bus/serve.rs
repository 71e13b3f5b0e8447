//! `switchyard bus -c FILE`: the bus as a process of its own.
//!
//! In: a file and a command line. Out: a bus that runs until its only client has left, a
//! signal ends it, or its workers have been drained.

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use bus::{Bus, BusToken, IoLimits, ListenAddress, ListenConfig};
use tokio::io::AsyncWriteExt as _;
use tokio::time::timeout;
use tokio_util::task::TaskTracker;

use super::listener::{BusAddress, BusListener};
use super::setup::{BusSetup, BusSource};
use super::{control, say, token, ws};
use crate::cli::bus::BusServeArgs;
use crate::config::Config;
use crate::daemon::session_context;
use crate::outcome::{ERROR, Failure, NOT_FOUND};
use crate::signals::{DaemonSignals, SignalAction};
use crate::{stdio, terminal};

/// How long killing everything may take.
const ABORT_WITHIN: Duration = Duration::from_secs(10);
/// How long the last WebSocket clients may take to go.
const CLOSE_GRACE: Duration = Duration::from_secs(2);

pub(super) async fn serve(
    path: PathBuf,
    args: BusServeArgs,
    config: Config,
) -> Result<ExitCode, Failure> {
    session_context::sweep(&config).await;
    let (source, first) = BusSource::open(&path, args.record.clone(), config).await?;
    let BusSetup { setup, mut listeners, token_file } = first;
    listeners.extend(BusListener::all_of(&args));
    if args.stdio {
        listeners.clear();
    }
    check_pool(args.pool.as_deref(), &setup)?;
    print_notes(&setup, listeners.is_empty());
    let token_file = args.token_file.clone().or(token_file);
    let token = match listeners.iter().any(|listener| listener.at.needs_token()) {
        true if !args.no_token => Some(token::open(token_file.as_deref(), &source.config)?),
        _ => None,
    };
    bus::raise_descriptor_limit();
    // Before the listeners: whoever can reach the bus can also end it in order.
    let signals = DaemonSignals::listen().context("listening for signals")?;
    let edges = setup.edges.clone();
    let bus = Bus::start(setup)?;
    let connections = TaskTracker::new();
    let mut addresses = Vec::new();
    for listener in &listeners {
        addresses.push(listen(&bus, listener, token.as_ref(), &edges, &connections).await?);
    }
    let source = Arc::new(source);
    let control = control::listen(&bus, &source, addresses.clone()).await?;
    // Whoever reads this may ask for its status at once.
    for address in &addresses {
        say(&format!("listening on {address}"));
    }
    let client = match listeners.is_empty() {
        true => {
            let port = bus.port(args.pool.as_deref()).await?;
            Some(port.into_stream().context("a port for stdin and stdout")?)
        }
        false => None,
    };
    let ended = run(&bus, &source, client, signals).await;
    // The file of its socket goes before we do.
    control.abort();
    let _aborted = control.await;
    let code = ended?;
    // Clients by WebSocket are told that it is over.
    connections.close();
    let _gone = timeout(CLOSE_GRACE, connections.wait()).await;
    Ok(code)
}

/// Runs until the bus has ended.
async fn run(
    bus: &Bus,
    source: &BusSource,
    client: Option<tokio::net::UnixStream>,
    mut signals: DaemonSignals,
) -> Result<ExitCode, Failure> {
    let has_client = client.is_some();
    let mut client = std::pin::pin!(bridge_stdio(client));
    let mut is_ending = false;
    let mut ended = std::pin::pin!(bus.ended());
    loop {
        let asked = tokio::select! {
            ended = &mut ended => return Ok(ended.map(|()| ExitCode::SUCCESS)?),
            asked = signals.next() => asked,
            () = &mut client, if has_client && !is_ending => SignalAction::Drain,
        };
        match asked {
            // With a client on stdio the signal means that its terminal is gone.
            SignalAction::Reload if !has_client => match source.reload(bus).await {
                Ok(note) => ["read its file again"].into_iter().chain(note).for_each(say),
                Err(failure) => say(&format!("goes on as before: {failure}")),
            },
            // It has no log file.
            SignalAction::ReopenLog => {}
            // If it cannot even do that, its workers' keepers see to them when it is gone.
            _ if is_ending => {
                return match timeout(ABORT_WITHIN, bus.abort()).await {
                    Ok(ended) => Ok(ended.map(|()| ExitCode::SUCCESS)?),
                    Err(_) => Err(Failure::new(ERROR, "the bus hangs and was left behind")),
                };
            }
            _ => {
                is_ending = true;
                let (bus, path) = (bus.clone(), source.path.clone());
                task::spawn(async move {
                    print_open_requests(&bus, &path).await;
                    bus.drain().await
                });
            }
        }
    }
}

async fn listen(
    bus: &Bus,
    listener: &BusListener,
    token: Option<&BusToken>,
    edges: &IoLimits,
    connections: &TaskTracker,
) -> Result<String, Failure> {
    let pool: Option<Arc<str>> = listener.pool.as_deref().map(Into::into);
    let token = token.cloned();
    let at = match &listener.at {
        BusAddress::Tcp(address) => {
            let at = ListenAddress::Tcp(*address);
            let became = bus.listen(ListenConfig { at, token, pool }).await?;
            BusAddress::Tcp(became.unwrap_or(*address))
        }
        BusAddress::Unix(path, mode) => {
            let at = ListenAddress::Unix { path: path.clone(), mode: *mode };
            // Its file says who may connect.
            bus.listen(ListenConfig { at, token: None, pool }).await?;
            listener.at.clone()
        }
        BusAddress::Ws(address) => {
            let door = ws::WsListener {
                bus: bus.clone(),
                token,
                pool,
                max_line_bytes: edges.max_client_line_bytes,
                max_unfinished_bytes: edges.max_unfinished_bytes,
                connections: connections.clone(),
            };
            BusAddress::Ws(ws::listen(door, *address).await?)
        }
    };
    Ok(at.to_string())
}

fn check_pool(pool: Option<&str>, setup: &bus::KernelSetup) -> Result<(), Failure> {
    let names: Vec<&str> = setup.pools.iter().map(|pool| &*pool.plan.name).collect();
    match pool {
        Some(pool) if !names.contains(&pool) => {
            Err(Failure::new(NOT_FOUND, format!("there is no pool `{pool}`"))
                .hint(format!("known: {}", names.join(", "))))
        }
        _ => Ok(()),
    }
}

/// Prints what somebody would otherwise wonder about: a missing program, an unused stdin.
fn print_notes(setup: &bus::KernelSetup, is_on_stdio: bool) {
    for pool in &setup.pools {
        if let Err(error) = pool.launch.find_program() {
            say(&format!("pool `{}` cannot start: {error}", pool.plan.name));
        }
    }
    let stdin = rustix::stdio::stdin();
    if is_on_stdio && rustix::termios::isatty(stdin) {
        say("serves one client, on stdin and stdout; --unix, --tcp and --ws are for others");
    }
    let is_piped = rustix::fs::fstat(stdin)
        .is_ok_and(|stat| rustix::fs::FileType::from_raw_mode(stat.st_mode).is_fifo());
    if !is_on_stdio && is_piped {
        say("does not read stdin, because there are listeners; --stdio serves stdin alone");
    }
}

async fn print_open_requests(bus: &Bus, path: &Path) {
    let n_open = bus.snapshot().await.map_or(0, |picture| picture.n_open);
    if n_open > 0 {
        say(&format!(
            "ends; waits for {n_open} requests, as long as `drain_timeout` in {} allows; \
             a second signal ends it at once",
            path.display()
        ));
    }
}

/// The client on stdin and stdout, until the bus has nothing more to tell it.
async fn bridge_stdio(client: Option<tokio::net::UnixStream>) {
    let Some(client) = client else { return };
    let (mut from_bus, mut to_bus) = client.into_split();
    let (mut stdin, mut stdout) = stdio::open();
    let said = async {
        let _client_gone = tokio::io::copy(&mut stdin, &mut to_bus).await;
        let _bus_gone = to_bus.shutdown().await;
    };
    let heard = async {
        let _client_gone: io::Result<u64> = tokio::io::copy(&mut from_bus, &mut stdout).await;
        let _client_gone = stdout.flush().await;
    };
    // Its answers may take longer than its questions, unless nobody is there to read them.
    tokio::select! {
        ((), ()) = async { tokio::join!(said, heard) } => {}
        () = terminal::reader_gone() => {}
    }
}
