//! The control socket of a bus: other processes ask for its status, or tell it what to do.
//!
//! Each bus listens on a unix socket of its own, in a directory that only its user may
//! enter. One JSON line in, one out.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use bus::Bus;
use bus::switch::{BusCommand, PoolState, PoolStatus};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use server::guard::Peer;
use server::limits::HttpLimits;
use server::listen::{BoundSocket, Listener, UnixKind};
use tokio::io::{
    AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, BufReader,
};
use tokio_util::task::AbortOnDropHandle;

use super::setup::BusSource;
use super::status;
use crate::daemon::in_process::remove_dead_sockets;
use crate::outcome::{ERROR, Failure, NOT_FOUND};

const ANSWER_WITHIN: Duration = Duration::from_secs(5);
/// An order is one short line.
const MAX_ORDER_BYTES: u64 = 4096;
/// The state of a bus with thousands of clients is one long line.
const MAX_ANSWER_BYTES: u64 = 16 << 20;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "do")]
pub(super) enum ControlRequest {
    Status,
    Reload,
    Drain { pool: String },
    Recover { pool: String },
    Restart { pool: String },
}

/// Answers other processes of this user until it is dropped. `addresses` are the addresses at which
/// the bus listens for clients.
pub(super) async fn listen(
    bus: &Bus,
    source: &Arc<BusSource>,
    addresses: Vec<String>,
) -> Result<AbortOnDropHandle<()>> {
    let dir = dir(&source.config.home.run);
    remove_dead_sockets(&dir);
    let socket = dir.join(format!("{}.sock", std::process::id()));
    let listener =
        Listener::new(BoundSocket::unix(&socket, UnixKind::Private).await?, HttpLimits::default());
    let (bus, source, addresses) = (bus.clone(), source.clone(), Arc::new(addresses));
    let listening = async move {
        loop {
            let connection = listener.next().await;
            let own_uid = rustix::process::getuid().as_raw();
            if !matches!(connection.peer(), Peer::Private { uid, .. } if uid == own_uid) {
                continue;
            }
            let (bus, source, addresses) = (bus.clone(), source.clone(), addresses.clone());
            task::spawn(async move {
                let (mut stream, _arrival) = connection.secure().await?;
                let order = read_line(&mut stream, MAX_ORDER_BYTES).await?;
                let answer = carry_out(order, &bus, &source, &addresses).await;
                let answer = answer.unwrap_or_else(
                    |failure| json!({ "error": failure.message, "exitCode": failure.code }),
                );
                write_line(&mut stream, &answer).await
            });
        }
    };
    Ok(AbortOnDropHandle::new(task::spawn(listening)))
}

/// Sends a request to the bus behind a control socket.
async fn ask(socket: &Path, order: &ControlRequest) -> Result<Value> {
    let answer = async {
        let mut stream = client::connect(socket).await?;
        write_line(&mut stream, order).await?;
        read_line(stream, MAX_ANSWER_BYTES).await.context("it ended meanwhile")
    };
    tokio::time::timeout(ANSWER_WITHIN, answer).await.context("it does not answer")?
}

async fn read_line<T: DeserializeOwned>(from: impl AsyncRead + Unpin, max: u64) -> Result<T> {
    let mut line = String::new();
    BufReader::new(from.take(max)).read_line(&mut line).await?;
    Ok(serde_json::from_str(&line)?)
}

async fn write_line(to: &mut (impl AsyncWrite + Unpin), words: &impl Serialize) -> Result<()> {
    let line = format!("{}\n", wire::Json::of(words).as_str());
    to.write_all(line.as_bytes()).await?;
    Ok(to.flush().await?)
}

/// The sockets of buses that may still run.
fn sockets(dir: &Path) -> Vec<PathBuf> {
    remove_dead_sockets(dir);
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let is_socket = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "sock");
    entries.map(|entry| entry.path()).filter(is_socket).collect()
}

fn dir(run_dir: &Path) -> PathBuf {
    run_dir.join("bus")
}

async fn carry_out(
    order: ControlRequest,
    bus: &Bus,
    source: &BusSource,
    addresses: &[String],
) -> Result<Value, Failure> {
    let picture = bus.snapshot().await?;
    let pool = |name: String| {
        let names: Vec<&str> = picture.pools.iter().map(|pool| &*pool.name).collect();
        match names.contains(&name.as_str()) {
            true => Ok(Arc::from(name)),
            false => {
                let why = format!("there is no pool `{name}`; known: {}", names.join(", "));
                Err(Failure::new(NOT_FOUND, why))
            }
        }
    };
    let command = match order {
        ControlRequest::Status => {
            let mut shown = json!(picture);
            shown["pid"] = json!(std::process::id());
            shown["file"] = json!(source.path);
            shown["listeners"] = json!(addresses);
            return Ok(shown);
        }
        ControlRequest::Reload => {
            let reloaded = source.reload(bus).await;
            let note = reloaded.map_err(|failure| {
                Failure::new(ERROR, format!("{failure}; the bus goes on as before"))
            })?;
            return Ok(json!({ "notes": note.as_slice() }));
        }
        ControlRequest::Drain { pool: name } => BusCommand::DrainPool(pool(name)?),
        ControlRequest::Recover { pool: name } => BusCommand::RecoverPool(pool(name)?),
        ControlRequest::Restart { pool: name } => {
            let name = pool(name)?;
            let of_pool = |pool: &&PoolStatus| pool.name == name;
            if let Some(PoolState::Stopped) =
                picture.pools.iter().find(of_pool).map(|pool| pool.state)
            {
                let why = format!("pool `{name}` is drained; `bus recover {name}` starts it");
                return Err(Failure::new(ERROR, why));
            }
            BusCommand::RestartPool(name)
        }
    };
    bus.command(command).await?;
    Ok(json!({}))
}

fn no_bus_found(which: &BusSelector, all: &[String], mute: &[String]) -> Failure {
    let what = match which {
        BusSelector { pid: Some(pid), .. } => format!("no bus runs with pid {pid}"),
        BusSelector { file: Some(file), .. } => format!("no bus runs with {}", file.display()),
        BusSelector { .. } => "no bus runs".to_owned(),
    };
    match (mute, all) {
        ([], []) => Failure::new(NOT_FOUND, what).hint("`switchyard bus -c FILE` starts one"),
        ([], all) => Failure::new(NOT_FOUND, what).hint(format!("known: {}", all.join("; "))),
        (mute, _) => {
            let mute = mute.join(", ");
            Failure::new(ERROR, format!("the bus with pid {mute} does not answer"))
                .hint("it is stopped or has too much to do; `kill` ends it")
        }
    }
}

fn summary(status: &Value) -> String {
    let listeners = status::strings(&status["listeners"]);
    let file = status["file"].as_str().unwrap_or_default();
    format!(
        "pid {} with {file} on {}",
        status["pid"],
        match listeners.is_empty() {
            true => "stdin".to_owned(),
            false => listeners.join(", "),
        }
    )
}

/// Selects one of the running buses: the only one, if nothing is said.
#[derive(Debug, Default)]
pub(super) struct BusSelector {
    pub(super) file: Option<PathBuf>,
    pub(super) pid: Option<u32>,
}

/// Sends a request to the selected bus, and returns its answer.
pub(super) async fn send(
    run_dir: &Path,
    which: &BusSelector,
    order: &ControlRequest,
) -> Result<Value, Failure> {
    let (mut found, mut mute) = (Vec::new(), Vec::new());
    for socket in sockets(&dir(run_dir)) {
        match ask(&socket, &ControlRequest::Status).await {
            Ok(status) => found.push((socket, status)),
            Err(_) => mute.extend(socket.file_stem().map(|pid| pid.to_string_lossy().into_owned())),
        }
    }
    let all: Vec<String> = found.iter().map(|(_, status)| summary(status)).collect();
    if let Some(file) = &which.file {
        let real = |path: &Path| path.canonicalize().or_else(|_| std::path::absolute(path)).ok();
        let file = real(file);
        found.retain(|(_, status)| status["file"].as_str().map(Path::new).and_then(real) == file);
    }
    if let Some(pid) = which.pid {
        found.retain(|(_, status)| status["pid"] == pid);
    }
    let socket = match found.as_slice() {
        [] => return Err(no_bus_found(which, &all, &mute)),
        [(_, status)] if *order == ControlRequest::Status => return Ok(status.clone()),
        [(socket, _)] => socket,
        several => {
            let several: Vec<_> = several.iter().map(|(_, status)| summary(status)).collect();
            return Err(Failure::usage(format!("{} buses run", several.len()))
                .hint(format!("say which with -c FILE or --pid PID: {}", several.join("; "))));
        }
    };
    let answer = ask(socket, order).await?;
    match answer["error"].as_str() {
        Some(why) => {
            let code = answer["exitCode"].as_u64().and_then(|code| u8::try_from(code).ok());
            Err(Failure::new(code.unwrap_or(ERROR), why))
        }
        None => Ok(answer),
    }
}
