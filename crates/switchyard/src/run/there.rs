//! `switchyard run` with a session of the daemon.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

use serde::Deserialize;
use serde_json::{Value, json};
use wire::{Json, Seq, SessionId};

use super::{Messages, Reached, Turns};
use crate::cli::RunArgs;
use crate::config::Config;
use crate::outcome::{ERROR, Failure};
use crate::reach::Daemon;
use crate::signals::Signals;
use crate::spinner::Spinner;
use crate::worker::is_worker;
use crate::world;

#[derive(Deserialize)]
struct Made {
    id: String,
}

pub(super) async fn run(
    args: &RunArgs,
    config: &Config,
    daemon: Daemon,
    name: Option<&str>,
    text: &str,
    messages: Option<Messages>,
    signals: &mut Signals,
) -> Result<ExitCode, Failure> {
    let log = world::open_log(config)?;
    let id = tokio::select! {
        id = session(args, &*log, &daemon, name) => id?,
        signal = signals.next() => return Ok(ExitCode::from(signal)),
    };
    let attachments = upload(args, &daemon, id).await?;
    let cursor = log.session(id).await?.map_or(Seq(0), |record| record.head);
    let cursor = if args.session.is_some() { cursor } else { Seq(0) };
    let blocks = json!([{ "type": "text", "text": text }]);
    let mut params = json!({ "prompt": blocks });
    if !attachments.is_empty() {
        params["attachments"] = json!(attachments);
    }
    let can_ask = super::can_ask(args);
    let session = Reached::There { daemon, id };
    let is_denied = AtomicBool::new(false);
    let turns = Turns { args, log: &*log, session, cursor, can_ask, is_denied, wishes: None };
    turns.take(Json::of(&params), messages, signals).await
}

/// The session that was named, or a new one.
async fn session(
    args: &RunArgs,
    log: &dyn store::EventLog,
    daemon: &Daemon,
    name: Option<&str>,
) -> Result<SessionId, Failure> {
    if let Some(named) = &args.session {
        let record = world::find_session(log, named).await?;
        super::check_same(args, name, &record)?;
        let wishes = wishes(args);
        if wishes.as_object().is_some_and(|wishes| !wishes.is_empty()) {
            let path = format!("/v1/sessions/{}", record.id);
            daemon.patch::<Value>(&path, &wishes).await?;
        }
        return Ok(record.id);
    }
    let cwd = world::working_directory(args.agent.cwd.as_deref())?;
    let mut order = wishes(args);
    order["cwd"] = json!(cwd);
    order["agent"] = json!(name.map(str::to_owned));
    order["env"] = json!(environment());
    order["additionalDirectories"] = json!(args.agent.add_dirs()?);
    if !args.command.is_empty() {
        let words = args.command.iter().map(|word| word.to_string_lossy().into_owned());
        order["command"] = json!(words.collect::<Vec<_>>());
    }
    order["limits"] = json!(args.limits.limits());
    if let Some(mode) = args.permissions.mode() {
        order["permissions"] = json!(mode);
    }
    if let Some(text) = &args.system_prompt {
        order["systemPrompt"] = json!(text);
    }
    let waiting = Spinner::start(format!("starting {} …", name.unwrap_or("the agent")));
    let made: Made = daemon.post("/v1/sessions", &order).await?;
    drop(waiting);
    SessionId::parse(&made.id).map_err(|_| Failure::new(ERROR, "the daemon named no session"))
}

fn wishes(args: &RunArgs) -> Value {
    let mut wishes = json!({});
    for (name, wanted) in [("model", &args.model), ("effort", &args.effort), ("mode", &args.mode)] {
        if let Some(wanted) = wanted {
            wishes[name] = json!(wanted);
        }
    }
    let options = args.options.by_id();
    if !options.is_empty() {
        wishes["options"] = json!(options);
    }
    wishes
}

/// What differs from one shell to the next and means nothing to an agent; workers are kept
/// ready for an environment.
const OF_THE_SHELL: [&str; 5] = ["_", "OLDPWD", "PWD", "SHLVL", "WINDOWID"];

/// The agent sees what this shell has set, not what the daemon was started with; an agent that
/// starts another cannot choose that.
pub(crate) fn environment() -> Option<BTreeMap<String, String>> {
    if is_worker() {
        return None;
    }
    let all = std::env::vars_os();
    let texts =
        all.filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    let is_meant = |name: &str| !name.starts_with("SWITCHYARD_") && !OF_THE_SHELL.contains(&name);
    Some(texts.filter(|(name, _)| is_meant(name)).collect())
}

async fn upload(args: &RunArgs, daemon: &Daemon, id: SessionId) -> Result<Vec<String>, Failure> {
    let mut ids = Vec::new();
    for path in &args.attach {
        let bytes = std::fs::read(path).map_err(|error| {
            Failure::usage(format!("cannot attach {}: {error}", path.display()))
        })?;
        let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
        let name = client::encoded(&name);
        let path = format!("/v1/sessions/{id}/attachments?name={name}");
        ids.push(daemon.upload::<Made>(&path, bytes).await?.id);
    }
    Ok(ids)
}
