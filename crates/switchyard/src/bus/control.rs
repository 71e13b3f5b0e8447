//! How another process asks a running bus how it does, or tells it what to do.
//!
//! Each bus listens on a unix socket of its own, in a directory that only its user may
//! enter. One JSON line in, one out.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use bus::Bus;
use bus::switch::{Command, PoolState, PoolStatus};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::serve::Source;
use super::status;
use crate::control::{Listening, ask, listen_at, sockets};
use crate::outcome::{ERROR, Failure, NOT_FOUND};

const PATIENCE: Duration = Duration::from_secs(5);

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "do")]
pub(super) enum Order {
    Status,
    Reload,
    Drain { pool: String },
    Recover { pool: String },
    Restart { pool: String },
}

/// `places` is where it listens for clients.
pub(super) fn listen(bus: &Bus, source: &Arc<Source>, places: Vec<String>) -> Result<Listening> {
    let (bus, source, places) = (bus.clone(), Arc::clone(source), Arc::new(places));
    listen_at(&dir(source.run_dir()), move |order: Order, _| {
        let (bus, source, places) = (bus.clone(), Arc::clone(&source), Arc::clone(&places));
        async move {
            let answer = carry_out(order, &bus, &source, &places).await;
            answer.unwrap_or_else(|refused| json!({"error": refused.why, "exitCode": refused.code}))
        }
    })
}

fn dir(run_dir: &Path) -> PathBuf {
    run_dir.join("bus")
}

async fn carry_out(
    order: Order,
    bus: &Bus,
    source: &Source,
    places: &[String],
) -> Result<Value, Refused> {
    let picture = bus.picture().await.map_err(Refused::by_bus)?;
    let pool = |name: String| {
        let names: Vec<&str> = picture.status.pools.iter().map(|pool| &*pool.name).collect();
        match names.contains(&name.as_str()) {
            true => Ok(Arc::from(name)),
            false => Err(Refused {
                code: NOT_FOUND,
                why: format!("there is no pool `{name}`; there is: {}", names.join(", ")),
            }),
        }
    };
    let command = match order {
        Order::Status => {
            let mut shown = status::json(&picture);
            shown["pid"] = json!(std::process::id());
            shown["file"] = json!(source.path);
            shown["listeners"] = json!(places);
            return Ok(shown);
        }
        Order::Reload => {
            let reloaded = source.reload(bus).await;
            let notes = reloaded.map_err(|failure| Refused {
                code: ERROR,
                why: format!("{failure}; the bus goes on as before"),
            })?;
            return Ok(json!({ "notes": notes }));
        }
        Order::Drain { pool: name } => Command::DrainPool(pool(name)?),
        Order::Recover { pool: name } => Command::RecoverPool(pool(name)?),
        Order::Restart { pool: name } => {
            let name = pool(name)?;
            let of_pool = |pool: &&PoolStatus| pool.name == name;
            if let Some(PoolState::Stopped) =
                picture.status.pools.iter().find(of_pool).map(|pool| pool.state)
            {
                let why = format!("pool `{name}` is drained; `bus recover {name}` starts it");
                return Err(Refused { code: ERROR, why });
            }
            Command::RestartPool(name)
        }
    };
    bus.command(command).await.map_err(Refused::by_bus)?;
    Ok(json!({}))
}

fn nobody(which: &Which, all: &[String], mute: &[String]) -> Failure {
    let what = match which {
        Which { pid: Some(pid), .. } => format!("no bus runs with pid {pid}"),
        Which { file: Some(file), .. } => format!("no bus runs with {}", file.display()),
        Which { .. } => "no bus runs".to_owned(),
    };
    match (mute, all) {
        ([], []) => Failure::new(NOT_FOUND, what).hint("`switchyard bus -c FILE` starts one"),
        ([], all) => Failure::new(NOT_FOUND, what).hint(format!("there is: {}", all.join("; "))),
        (mute, _) => {
            let mute = mute.join(", ");
            Failure::new(ERROR, format!("the bus with pid {mute} does not answer"))
                .hint("it is stopped or has too much to do; `kill` ends it")
        }
    }
}

fn in_short(status: &Value) -> String {
    let listeners: Vec<&str> =
        status["listeners"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
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

/// Why an order was not carried out, and what its sender ends with.
struct Refused {
    code: u8,
    why: String,
}

impl Refused {
    fn by_bus(error: bus::BusError) -> Self {
        Self { code: ERROR, why: error.to_string() }
    }
}

/// Which of the buses that run is meant: the only one, if nothing is said.
#[derive(Debug, Default)]
pub(super) struct Which {
    pub(super) file: Option<PathBuf>,
    pub(super) pid: Option<u32>,
}

/// The answer of the bus that is meant.
pub(super) async fn send(run_dir: &Path, which: &Which, order: &Order) -> Result<Value, Failure> {
    let (mut found, mut mute) = (Vec::new(), Vec::new());
    for socket in sockets(&dir(run_dir)) {
        match ask::<Value>(&socket, &Order::Status, PATIENCE).await {
            Ok(status) => found.push((socket, status)),
            Err(_) => mute.extend(socket.file_stem().map(|pid| pid.to_string_lossy().into_owned())),
        }
    }
    let all: Vec<String> = found.iter().map(|(_, status)| in_short(status)).collect();
    if let Some(file) = &which.file {
        let real = |path: &Path| path.canonicalize().or_else(|_| std::path::absolute(path)).ok();
        let file = real(file);
        found.retain(|(_, status)| status["file"].as_str().map(Path::new).and_then(real) == file);
    }
    if let Some(pid) = which.pid {
        found.retain(|(_, status)| status["pid"] == pid);
    }
    let socket = match found.as_slice() {
        [] => return Err(nobody(which, &all, &mute)),
        [(_, status)] if *order == Order::Status => return Ok(status.clone()),
        [(socket, _)] => socket,
        several => {
            let several: Vec<_> = several.iter().map(|(_, status)| in_short(status)).collect();
            return Err(Failure::usage(format!("{} buses run", several.len()))
                .hint(format!("say which with -c FILE or --pid PID: {}", several.join("; "))));
        }
    };
    let answer: Value = ask(socket, order, PATIENCE).await?;
    match answer["error"].as_str() {
        Some(why) => {
            let code = answer["exitCode"].as_u64().and_then(|code| u8::try_from(code).ok());
            Err(Failure::new(code.unwrap_or(ERROR), why))
        }
        None => Ok(answer),
    }
}
