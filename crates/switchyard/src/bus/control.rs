//! How another process asks a running bus how it does, or tells it what to do.
//!
//! Each bus listens on a unix socket of its own, in a directory that only its user may
//! enter. One JSON line in, one out.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use bus::Bus;
use bus::switch::Command;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::serve::Source;
use super::status;
use crate::control::{Listening, ask, listen_at, sockets};
use crate::outcome::{ERROR, Failure, NOT_FOUND};

const PATIENCE: Duration = Duration::from_secs(30);

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
    listen_at(&dir(source.run_dir()), move |order: Order| {
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
            reloaded.map_err(|failure| Refused { code: ERROR, why: failure.to_string() })?;
            return Ok(json!({}));
        }
        Order::Drain { pool: name } => Command::DrainPool(pool(name)?),
        Order::Recover { pool: name } => Command::RecoverPool(pool(name)?),
        Order::Restart { pool: name } => Command::RestartPool(pool(name)?),
    };
    bus.command(command).await.map_err(Refused::by_bus)?;
    Ok(json!({}))
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

/// The answer of the bus that was started with `file`, or of the only one that runs.
pub(super) async fn send(
    run_dir: &Path,
    file: Option<&Path>,
    order: &Order,
) -> Result<Value, Failure> {
    let mut found = Vec::new();
    for socket in sockets(&dir(run_dir)) {
        // One that does not answer has just ended, or is another user's.
        if let Ok(status) = ask::<Value>(&socket, &Order::Status, PATIENCE).await {
            found.push((socket, status));
        }
    }
    if let Some(file) = file {
        let file = std::path::absolute(file).context("cannot tell where this is")?;
        found.retain(|(_, status)| status["file"].as_str().is_some_and(|f| Path::new(f) == file));
    }
    let socket = match found.as_slice() {
        [] => {
            return Err(Failure::new(
                NOT_FOUND,
                match file {
                    None => "no bus runs".to_owned(),
                    Some(file) => format!("no bus runs with {}", file.display()),
                },
            )
            .hint("`switchyard bus -c FILE` starts one"));
        }
        [(_, status)] if *order == Order::Status => return Ok(status.clone()),
        [(socket, _)] => socket,
        several => {
            let files = several.iter().filter_map(|(_, status)| status["file"].as_str());
            let files: Vec<_> = files.collect();
            return Err(Failure::usage(format!("{} buses run", several.len()))
                .hint(format!("say which with -c: {}", files.join(", "))));
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
