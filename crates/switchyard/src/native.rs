//! The built-in agent: as a process of its own, and what there is to say about it.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use agent::native::discover::{Advice, CANDIDATES};
use agent::native::mcp::{ServerSpec, SpecError};
use agent::native::models::Models;
use agent::native::provider::Provider;
use agent::native::sandbox::{self, Sandbox};
use agent::native::{self, scene};
use clap::Args;
use serde_json::{Value, json};
use store::SqliteLog;
use tokio_util::sync::CancellationToken;

use crate::config::Config;
use crate::home;
use crate::outcome::Failure;
use crate::paint::Paint;
use crate::signals::Signals;
use crate::{bootstrap, stdio, terminal};

pub(crate) const NATIVE: &str = "native";

/// What whoever starts it knows, and its environment does not say.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Where its journal is; in the usual place otherwise
    #[arg(long, value_name = "DIR")]
    pub(crate) state: Option<PathBuf>,
    /// A directory that no session touches; may be given several times
    #[arg(long = "forbid", value_name = "DIR")]
    pub(crate) forbidden: Vec<PathBuf>,
    /// It has the environment of a daemon, and not that of whoever prompts it
    #[arg(long)]
    pub(crate) by_daemon: bool,
}

/// The argument that says so.
pub(crate) const BY_DAEMON: &str = "--by-daemon";

/// Serves one client on stdin and stdout until it goes.
pub(crate) async fn serve(args: Arguments, config: Config) -> Result<ExitCode, Failure> {
    let Arguments { state, forbidden, by_daemon } = args;
    let dir = state.unwrap_or_else(|| config.home.state.clone()).join(NATIVE);
    let forbidden = match forbidden.is_empty() {
        true => config.home.forbidden(),
        false => home::forbid(forbidden, Vec::new()),
    };
    bootstrap::make_private_dir(&dir)?;
    let log = Arc::new(SqliteLog::open(&dir, config.store_options())?);
    let table = &config.file.native;
    let (resolved, servers, refused) = match understood(&config) {
        Ok((resolved, servers)) => (resolved, servers, None),
        Err(failure) => (native::config::Setup::default(), Vec::new(), Some(failure)),
    };
    let system_prompt = resolved.system_prompt.clone();
    let context = table.context(&resolved);
    let mut tools = scene::Settings::new(bootstrap::own_exe(), vec![bootstrap::KEEPER_VERB.into()]);
    tools.cgroups = config.file.workers.cgroups;
    let keys = resolved.endpoints.iter().map(|endpoint| endpoint.key_name.clone().into());
    tools.commands.secrets.extend(keys);
    tools.commands_dir = Some(config.home.config.with_file_name("commands"));
    tools.sandbox = Sandbox::detect(table.sandbox()).await.hiding(&forbidden);
    tools.forbidden = forbidden;
    tools.webfetch.allow_private = table.fetch_private;
    tools.context = context;
    let advice = advice(&config, by_daemon);
    let models = match refused {
        None => Models::new(resolved, CANDIDATES.to_vec()).advising(advice),
        // An editor shows what a prompt was answered, and not why a process ended.
        Some(failure) => Models::none_because(told(failure)),
    };
    let setup = native::Setup {
        version: env!("CARGO_PKG_VERSION"),
        log,
        system_prompt,
        models: Arc::new(models),
        tools,
        limits: table.limits(),
        user_instructions: Some(config.home.config.with_file_name("AGENTS.md")),
        mcp: servers,
    };
    let stop = CancellationToken::new();
    let mut signals = Signals::listen()?;
    let (reader, writer) = stdio::open();
    let serving = native::serve(reader, writer, setup, stop.clone());
    tokio::pin!(serving);
    tokio::select! {
        () = &mut serving => return Ok(ExitCode::SUCCESS),
        _ = signals.next() => stop.cancel(),
    }
    serving.await;
    Ok(ExitCode::SUCCESS)
}

/// What sessions are made of, as far as that was configured.
fn understood(config: &Config) -> Result<(native::config::Setup, Vec<ServerSpec>), Failure> {
    Ok((resolve(config)?, servers(config)?))
}

/// What is wrong with the configuration, on stderr now and as the answer to every prompt.
fn told(failure: Failure) -> native::provider::Failure {
    let (message, hint) = failure.into_words();
    let hint = hint.map_or_else(String::new, |hint| format!("\nhint: {hint}"));
    let message = format!("{message}{hint}");
    terminal::say(&projection::sanitize(&format!("switchyard: {message}")));
    native::provider::Failure { category: wire::Category::BadInput, message }
}

fn advice(config: &Config, by_daemon: bool) -> Advice {
    match by_daemon {
        true => Advice::Daemon { config: config.home.config.clone() },
        false => Advice::Variables,
    }
}

/// The variables with its endpoints' keys, as far as the configuration can be understood.
pub(crate) fn key_names(config: &Config) -> Vec<String> {
    let endpoints = resolve(config).map(|resolved| resolved.endpoints).unwrap_or_default();
    endpoints.into_iter().map(|endpoint| endpoint.key_name).collect()
}

/// The MCP servers of every session.
fn servers(config: &Config) -> Result<Vec<ServerSpec>, Failure> {
    let specs = config.file.native.mcp.iter().map(|(name, table)| table.to_spec(name));
    let specs: Result<Vec<Option<ServerSpec>>, SpecError> = specs.collect();
    let bad = |error: SpecError| Failure::usage(error.to_string());
    Ok(specs.map_err(bad)?.into_iter().flatten().collect())
}

fn resolve(config: &Config) -> Result<native::config::Setup, Failure> {
    let lookup = |name: &str| std::env::var(name).ok();
    config.file.native.resolve(&lookup).map_err(|error| {
        let hint = match error.variable() {
            Some(variable) => format!("set the variable {variable} to something else, or unset it"),
            None => format!("mend [native] in {}", config.home.config.display()),
        };
        Failure::usage(error.to_string()).hint(hint)
    })
}

/// Whether a session could begin, as far as that can be known without asking anybody.
pub(crate) fn check(config: &Config) -> Result<(), Failure> {
    understood(config).map(drop)
}

/// What `agents` says about it; asks its endpoints.
pub(crate) async fn about(config: &Config, by_daemon: bool) -> Value {
    let run = json!({ "dialect": "acp", "argv": ["switchyard", "native-agent"], "asks": true,
        "resume": "protocol", "takesImages": true, "takesMcp": true });
    let mut about = json!({
        "id": NATIVE, "name": "Built-in agent", "version": env!("CARGO_PKG_VERSION"),
        "isUsable": false, "auth": { "state": "unknown", "by": "its endpoint decides" },
        "models": [], "diagnoses": [], "run": run,
        "modes": native::modes(), "efforts": native::efforts(),
    });
    let sandbox = Sandbox::detect(config.file.native.sandbox()).await;
    about["sandbox"] = json!(match (config.file.native.sandbox(), sandbox.check()) {
        (sandbox::Mode::Off, _) => "off".to_owned(),
        (sandbox::Mode::Workspace { network }, Ok(())) => {
            let network = if network { "with network" } else { "no network" };
            format!("on, only the session's directories can be written, {network}")
        }
        (_, Err(refused)) => format!("on, but commands cannot run: {refused}"),
    });
    let servers = config.file.native.mcp.iter().map(|(name, table)| match table.to_spec(name) {
        Ok(Some(_)) => json!({ "name": name }),
        Ok(None) => json!({ "name": name, "problem": "switched off" }),
        Err(error) => json!({ "name": name, "problem": error.to_string() }),
    });
    about["mcpServers"] = servers.collect();
    let models = match resolve(config) {
        Ok(setup) => {
            let context = config.file.native.context(&setup);
            let names: Vec<&str> = context.tools.names().collect();
            if !names.is_empty() {
                about["contextTools"] = json!(names);
            }
            Models::new(setup, CANDIDATES.to_vec()).advising(advice(config, by_daemon))
        }
        Err(failure) => {
            about["diagnoses"] =
                json!([{ "reason": "bad_configuration", "message": failure.to_string() }]);
            return about;
        }
    };
    match models.ready().await {
        Ok(ready) => {
            let default = ready.providers.first();
            let name = default.map_or("", Provider::name);
            let mut failures = ready.failures.clone();
            if let Some(silent) = default.filter(|provider| !provider.lists_models())
                && let Err(failure) = silent.answers().await
            {
                failures.push((name.to_owned(), failure));
            }
            let trouble = failures.iter().find(|(failed, _)| failed == name);
            let trouble = trouble.map(|(_, failure)| failure);
            about["isUsable"] = json!(trouble.is_none());
            about["auth"] = match trouble {
                None => json!({ "state": "ok", "by": "its endpoint answers" }),
                Some(failure) if failure.category == wire::Category::Auth => {
                    json!({ "state": "missing", "by": "its endpoint wants another key" })
                }
                Some(_) => json!({ "state": "unknown", "by": "its endpoint does not answer" }),
            };
            let endpoints = ready.providers.all().iter().map(|provider| {
                let endpoint = provider.endpoint();
                json!({
                    "name": provider.name(), "base": endpoint.shown_base(),
                    "key": endpoint.key_name, "isKeySet": endpoint.key.is_some(),
                })
            });
            about["endpoints"] = endpoints.collect();
            let model = ready.providers.default_id(&ready.offers);
            let is_listed = ready.offers.iter().any(|offer| {
                offer.id == model || offer.id.strip_suffix(":latest") == Some(model.as_str())
            });
            about["defaultModel"] = json!(model);
            let models = ready.offers.iter().map(|offer| {
                json!({ "id": offer.id, "name": offer.model.name, "context": offer.model.context })
            });
            about["models"] = models.collect();
            let failures = failures.iter().map(
                |(_, failure)| json!({ "reason": failure.category, "message": failure.message }),
            );
            let mut diagnoses: Vec<Value> = failures.collect();
            if trouble.is_none() && !is_listed && !ready.offers.is_empty() {
                let message = format!("the endpoint does not list the model `{model}`");
                diagnoses.push(json!({ "reason": "model_unavailable", "message": message }));
            }
            about["diagnoses"] = json!(diagnoses);
            about["notes"] = ready.found.iter().chain(&ready.picked).cloned().collect();
        }
        Err(failure) => {
            about["auth"] = json!({ "state": "missing", "by": "no endpoint" });
            about["diagnoses"] =
                json!([{ "reason": failure.category, "message": failure.message }]);
        }
    }
    about
}

/// The same for people.
pub(crate) fn describe(about: &Value, paint: Paint) -> String {
    let words = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    let mut lines = vec![format!("{}  {}", paint.strong(NATIVE), words(&about["name"]))];
    for endpoint in about["endpoints"].as_array().into_iter().flatten() {
        let (base, name) = (words(&endpoint["base"]), words(&endpoint["name"]));
        lines.push(format!("  endpoint   {base} ({name})"));
        let is_set = if endpoint["isKeySet"] == true { "set" } else { "not set" };
        lines.push(format!("  key        {} ({is_set})", words(&endpoint["key"])));
    }
    for note in about["notes"].as_array().into_iter().flatten() {
        lines.push(format!("             {}", words(note)));
    }
    if about["isUsable"] == true {
        lines.push(format!("  model      {}", words(&about["defaultModel"])));
        let models: Vec<String> = about["models"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|model| match model["context"].as_u64() {
                Some(context) => format!("{} ({context} tokens)", words(&model["id"])),
                None => words(&model["id"]),
            })
            .collect();
        lines.push(format!("  offers     {}", models.join("\n             ")));
    }
    lines.push(
        "  can do     read, write, edit, apply_patch, list, glob, grep, bash, webfetch, todo, task, \
         MCP servers"
            .to_owned(),
    );
    if let Some(tools) = about["contextTools"].as_array() {
        let names: Vec<String> = tools.iter().map(words).collect();
        lines.push(format!("  context    {}", names.join(", ")));
    }
    lines.push("  modes      ask, code, plan, auto".to_owned());
    lines.push(format!("  sandbox    {}", words(&about["sandbox"])));
    for server in about["mcpServers"].as_array().into_iter().flatten() {
        let problem = server["problem"].as_str().map_or_else(String::new, |p| format!(": {p}"));
        lines.push(format!("  MCP server {}{problem}", words(&server["name"])));
    }
    for diagnosis in about["diagnoses"].as_array().into_iter().flatten() {
        for (n, line) in words(&diagnosis["message"]).lines().enumerate() {
            let head = if n == 0 { "  problem    " } else { "             " };
            lines.push(paint.bad(&format!("{head}{line}")));
        }
    }
    lines.join("\n") + "\n"
}
