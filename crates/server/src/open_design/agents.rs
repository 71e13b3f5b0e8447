//! The agents of this machine in the fields of Open Design, and which of them is taken when
//! none is named.

use std::path::Path;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::response::sse::{Event as Frame, KeepAlive};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Value, json};

use super::Runs;
use crate::api::stream_agents;
use crate::daemon::agents::FoundAgents;
use crate::input::QueryParams;
use crate::problem::{Problem, kinds};

#[derive(Debug, Deserialize)]
pub(super) struct RunAgentsQuery {
    stream: Option<String>,
    refresh: Option<String>,
}

pub(super) async fn list(
    State(runs): State<Arc<Runs>>,
    QueryParams(wanted): QueryParams<RunAgentsQuery>,
) -> Response {
    let is_set = |flag: &Option<String>| matches!(flag.as_deref(), Some("" | "1" | "true"));
    let mut found = runs.daemon.agents.follow(&runs.daemon.registry, is_set(&wanted.refresh));
    if is_set(&wanted.stream) {
        let agent = |agent: &wire::Json| Some(info(agent)?.to_string());
        let keep_alive = KeepAlive::new().text("keepalive");
        return stream_agents(found, agent, end, keep_alive);
    }
    let found = FoundAgents::all(&mut found).await;
    let agents: Vec<Value> = found.agents.iter().filter_map(info).collect();
    Json(json!({ "agents": agents })).into_response()
}

fn end(_: usize, is_done: bool) -> Frame {
    match is_done {
        true => Frame::default().event("done").data("{}"),
        false => {
            let error = json!({ "message": "the search for agents broke off" });
            Frame::default().event("error").data(error.to_string())
        }
    }
}

impl Runs {
    /// The agent of a run: named, or configured, or the first that can be used.
    pub(super) async fn agent(&self, named: Option<&str>) -> Result<String, Problem> {
        if let Some(agent) = named.or(self.daemon.settings.default_agent.as_deref()) {
            return Ok(agent.to_owned());
        }
        let mut found = self.daemon.agents.follow(&self.daemon.registry, false);
        let found = FoundAgents::all(&mut found).await;
        let read = |one: &wire::Json| one.read::<Value>().ok();
        let known = found.agents.iter().filter_map(read);
        let usable = known.filter(|one| one["isUsable"] == true);
        // They are found in no order. The demo agent is taken when there is no other.
        let rank = |one: &Value| {
            let id = one["id"].as_str().unwrap_or_default().to_owned();
            (one["isDemo"] == true, one["auth"]["state"] != "ok", id)
        };
        let first = usable.min_by_key(rank);
        let none = "no agent on this machine can be used";
        let none = || Problem::of(kinds::AGENT_NOT_FOUND).detail(none);
        first.and_then(|one| Some(one["id"].as_str()?.to_owned())).ok_or_else(none)
    }
}

/// The reasoning efforts of an agent or a model, as detection found them.
pub(super) fn efforts_of(found: &Value) -> Vec<String> {
    let efforts = found["efforts"].as_array().into_iter().flatten();
    efforts.filter_map(|effort| effort.as_str().map(str::to_owned)).collect()
}

/// One agent as Open Design describes it.
fn info(found: &wire::Json) -> Option<Value> {
    let found: Value = found.read().ok()?;
    let id = found["id"].as_str()?;
    let is_usable = found["isUsable"] == true;
    let program = found["path"].as_str().or_else(|| found["run"]["argv"][0].as_str());
    let bin = program.and_then(|path| Path::new(path).file_name()?.to_str());
    let mut info = json!({
        "id": id,
        "name": found["name"],
        "bin": bin.unwrap_or(id),
        "available": is_usable,
        "path": found["path"],
        "version": found["version"],
        "models": models(&found),
        "modelsSource": match found["modelsFrom"].as_str() {
            Some("listed" | "acp") => "live",
            _ => "fallback",
        },
        "streamFormat": stream_format(found["run"]["dialect"].as_str()),
        "supportsCustomModel": true,
        "authStatus": found["auth"]["state"].as_str().unwrap_or("unknown"),
        "diagnostics": diagnostics(&found, is_usable),
    });
    let options = options(&efforts_of(&found));
    let more = [
        ("reasoningOptions", options),
        ("capabilities", capabilities(&found["run"])),
        ("authMessage", found["auth"]["by"].clone()),
        ("installHint", found["install"].clone()),
        ("docsUrl", found["docs"].clone()),
    ];
    for (name, value) in more {
        if !value.is_null() {
            info[name] = value;
        }
    }
    Some(info)
}

/// Its capabilities in the form in which it would be run; nothing is known of one that cannot be.
fn capabilities(run: &Value) -> Value {
    if !run.is_object() {
        return Value::Null;
    }
    let modes = run["modes"].as_array().map(Vec::as_slice).unwrap_or_default();
    json!({
        "streaming": run["dialect"] != "plain",
        "resume": run["resume"].as_str().is_some_and(|style| style != "none"),
        // Whether it asks before it acts, is held to a mode by its flags, or by nothing.
        "permissionMode": match (run["asks"] == true, modes) {
            (true, _) => "strict",
            (false, []) => "none",
            (false, _) => "permissive",
        },
        "permissionModes": modes,
        "images": run["takesImages"] == true,
        "mcp": run["takesMcp"] == true,
    })
}

/// The models to choose from; the first leaves the choice to the CLI.
fn models(found: &Value) -> Vec<Value> {
    let label = match found["defaultModel"].as_str() {
        Some(model) => format!("Default ({model})"),
        None => "Default (CLI config)".to_owned(),
    };
    let mut models = vec![json!({ "id": "default", "label": label })];
    for model in found["models"].as_array().into_iter().flatten() {
        let Some(id) = model["id"].as_str() else { continue };
        let mut one = json!({ "id": id, "label": model["name"].as_str().unwrap_or(id) });
        let options = options(&efforts_of(model));
        if !options.is_null() {
            one["reasoningOptions"] = options;
        }
        models.push(one);
    }
    models
}

fn options(efforts: &[String]) -> Value {
    if efforts.is_empty() {
        return Value::Null;
    }
    let mut options = vec![json!({ "id": "default", "label": "Default" })];
    let others = efforts.iter().filter(|effort| *effort != "default");
    options.extend(others.map(|effort| json!({ "id": effort, "label": effort })));
    Value::Array(options)
}

/// Open Design's name of the format that the agent itself speaks. Our events come in one vocabulary
/// whatever it is.
fn stream_format(dialect: Option<&str>) -> &str {
    match dialect {
        None | Some("acp") => "acp-json-rpc",
        Some(same @ ("claude-stream-json" | "pi-rpc" | "plain")) => same,
        Some("copilot-json") => "copilot-stream-json",
        Some(_) => "json-event-stream",
    }
}

fn diagnostics(found: &Value, is_usable: bool) -> Vec<Value> {
    let severity = if is_usable { "warning" } else { "error" };
    let all = found["diagnoses"].as_array().into_iter().flatten();
    let told = all.map(|one| {
        let reason = match one["reason"].as_str() {
            Some("override-invalid") => "configured-bin-invalid",
            reason => reason.unwrap_or("unknown"),
        };
        json!({
            "reason": reason,
            "severity": severity,
            "message": one["message"],
            "detail": one["remedy"],
        })
    });
    told.collect()
}

#[cfg(test)]
mod tests;
