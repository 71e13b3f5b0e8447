//! The built-in agent: how it is started, what there is to say about it, and its process.

use std::ffi::OsString;
use std::process::ExitCode;
use std::sync::Arc;

use agent::native;
use agent::native::config::ModelSetup;
use agent::native::discovery::{Advice, CANDIDATES};
use agent::native::mcp::ServerSpec;
use agent::native::models::Models;
use agent::native::provider::ModelFailure;
use agent::native::sandbox::{self, Sandbox};
use runtimes::catalogue::BuiltInAgent;
use runtimes::detect::{DetectedAgent, Diagnosis, DiagnosisReason, LoginState, LoginStatus};
use runtimes::dialect::Model;
use serde_json::{Value, json};
use store::SqliteLog;
use tokio_util::sync::CancellationToken;
use wire::Category;

use crate::cli::hidden::NativeAgentArgs;
use crate::config::Config;
use crate::outcome::Failure;
use crate::signals::stop_on_signals;
use crate::this_process::own_exe;
use crate::{home, stdio};

/// The verb by which the binary starts itself as this agent.
pub(crate) const VERB: &str = "native-agent";
const NAME: &str = "Built-in agent";
/// Its tools, as `switchyard agents` shows them.
const TOOLS: &str = "read, write, edit, apply_patch, list, glob, grep, bash, webfetch, todo, task, \
                     MCP servers";

/// The argument that says that it has the environment of a daemon.
pub(crate) const BY_DAEMON: &str = "--by-daemon";

fn advice(config: &Config, by_daemon: bool) -> Advice {
    match by_daemon {
        true => Advice::Daemon { config: config.home.config.clone() },
        false => Advice::Variables,
    }
}

/// The names of the variables with its endpoints' keys; none if the configuration is wrong.
pub(crate) fn key_names(config: &Config) -> Vec<String> {
    let endpoints = resolve(config).map(|resolved| resolved.endpoints).unwrap_or_default();
    endpoints.into_iter().map(|endpoint| endpoint.key_name).collect()
}

/// The MCP servers of every session.
fn servers(config: &Config) -> Result<Vec<ServerSpec>, Failure> {
    let specs = config.file.native.mcp.iter().map(|(name, table)| table.to_spec(name));
    let specs: Result<_, String> = specs.filter_map(Result::transpose).collect();
    specs.map_err(Failure::usage)
}

fn resolve(config: &Config) -> Result<ModelSetup, Failure> {
    let lookup = |name: &str| std::env::var(name).ok();
    config.file.native.resolve(&lookup).map_err(|error| {
        let hint = match error.variable() {
            Some(variable) => format!("set the variable {variable} to something else, or unset it"),
            None => format!("correct [native] in {}", config.home.config.display()),
        };
        Failure::usage(error.to_string()).hint(hint)
    })
}

/// Checks that a session could begin, as far as that can be known without asking an endpoint.
pub(crate) fn check(config: &Config) -> Result<(), Failure> {
    resolve(config)?;
    servers(config).map(drop)
}

/// The command line that serves sessions.
pub(crate) fn args(config: &Config) -> Vec<OsString> {
    let mut args = vec![VERB.into()];
    args.extend(config.to_args());
    args.extend(["--state".into(), config.home.state.clone().into()]);
    for dir in config.home.forbidden().paths() {
        args.extend(["--forbid".into(), dir.into()]);
    }
    args
}

/// Serves one client on stdin and stdout until it goes.
pub(crate) async fn serve(args: NativeAgentArgs, config: Config) -> Result<ExitCode, Failure> {
    let NativeAgentArgs { state, forbidden, by_daemon } = args;
    let dir = state.unwrap_or_else(|| config.home.state.clone()).join(BuiltInAgent::Native.id());
    let forbidden = match forbidden.is_empty() {
        true => config.home.forbidden(),
        false => home::forbid(forbidden, Vec::new()),
    };
    home::make_private_dir(&dir)?;
    let log = Arc::new(SqliteLog::open(&dir, config.store_options())?);
    let table = &config.file.native;
    let (resolved, servers, refused) =
        match resolve(&config).and_then(|setup| Ok((setup, servers(&config)?))) {
            Ok((resolved, servers)) => (resolved, servers, None),
            Err(failure) => (ModelSetup::default(), Vec::new(), Some(failure)),
        };
    let system_prompt = resolved.system_prompt.clone();
    let context = table.context(&resolved);
    let mut tools = native::settings::ToolSettings::new(own_exe(), vec![bus::keeper::VERB.into()]);
    tools.keeper.cgroups = config.file.workers.cgroups;
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
        // An editor shows the answer to a prompt, but not why a process ended.
        Some(failure) => {
            failure.say();
            let (category, message) = (Category::BadInput, failure.with_hint());
            Models::none_because(ModelFailure { category, message })
        }
    };
    let setup = native::AgentSetup {
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
    stop_on_signals(&stop)?;
    let (reader, writer) = stdio::open();
    native::serve(reader, writer, setup, stop).await;
    Ok(ExitCode::SUCCESS)
}

/// Its detection result, as `switchyard agents` shows it; asks its endpoints.
pub(crate) async fn detect(config: &Config, by_daemon: bool) -> DetectedAgent {
    let auth = |state, by: &str| LoginState { state, by: Some(by.to_owned()) };
    let mut found = DetectedAgent::built_in(BuiltInAgent::Native, NAME, ["switchyard", VERB]);
    found.auth = auth(LoginStatus::Unknown, "its endpoint decides");
    found.efforts = native::efforts().into_iter().map(str::to_owned).collect();
    found.run.iter_mut().for_each(|run| run.takes_mcp = true);
    let mut tell = |name: &str, value: Value| _ = found.more.insert(name.to_owned(), value);
    tell("modes", json!(native::modes()));
    tell("tools", TOOLS.split(", ").collect());
    let sandbox = Sandbox::detect(config.file.native.sandbox()).await;
    tell("sandbox", json!(sandbox_in_words(config.file.native.sandbox(), &sandbox)));
    let servers = config.file.native.mcp.iter().map(|(name, table)| match table.to_spec(name) {
        Ok(Some(_)) => json!({ "name": name }),
        Ok(None) => json!({ "name": name, "problem": "switched off" }),
        Err(error) => json!({ "name": name, "problem": error }),
    });
    tell("mcpServers", servers.collect());
    let models = match resolve(config) {
        Ok(setup) => {
            let context = config.file.native.context(&setup);
            let names: Vec<&str> = context.tools.names().collect();
            if !names.is_empty() {
                tell("contextTools", json!(names));
            }
            Models::new(setup, CANDIDATES.to_vec()).advising(advice(config, by_daemon))
        }
        Err(failure) => {
            let Failure { message, hint: remedy, .. } = failure;
            let reason = DiagnosisReason::Inside("bad_configuration");
            found.diagnoses = vec![Diagnosis::new(reason, message, remedy.unwrap_or_default())];
            return found;
        }
    };
    let ready = match models.ready().await {
        Ok(ready) => ready,
        Err(failure) => {
            found.auth = auth(LoginStatus::Missing, "no endpoint");
            found.diagnoses = vec![diagnosis(&failure)];
            return found;
        }
    };
    let default = ready.providers.first();
    let name = default.name();
    let mut failures = ready.failures.clone();
    if !default.lists_models()
        && let Err(failure) = default.answers().await
    {
        failures.push((name.to_owned(), failure));
    }
    let trouble = failures.iter().find(|(failed, _)| failed == name);
    let trouble = trouble.map(|(_, failure)| failure);
    found.is_usable = trouble.is_none();
    found.auth = match trouble {
        None => auth(LoginStatus::Ok, "its endpoint answers"),
        Some(failure) if failure.category == Category::Auth => {
            auth(LoginStatus::Missing, "its endpoint wants another key")
        }
        Some(_) => auth(LoginStatus::Unknown, "its endpoint does not answer"),
    };
    let endpoints = ready.providers.all().iter().map(|provider| {
        let endpoint = provider.endpoint();
        json!({
            "name": provider.name(), "base": endpoint.shown_base(),
            "key": endpoint.key_name, "isKeySet": endpoint.key.is_some(),
        })
    });
    tell("endpoints", endpoints.collect());
    let model = ready.providers.default_id(&ready.offers);
    let is_listed = ready
        .offers
        .iter()
        .any(|offer| offer.id == model || offer.id.strip_suffix(":latest") == Some(model.as_str()));
    found.diagnoses = failures.iter().map(|(_, failure)| diagnosis(failure)).collect();
    if trouble.is_none() && !is_listed && !ready.offers.is_empty() {
        let message = format!("the endpoint does not list the model `{model}`");
        let reason = DiagnosisReason::Inside("model_unavailable");
        found.diagnoses.push(Diagnosis::new(reason, message, ""));
    }
    found.default_model = Some(model);
    let models = ready.offers.iter().map(|offer| Model {
        id: offer.id.clone(),
        name: offer.model.name.clone(),
        context: offer.model.context,
        ..Model::default()
    });
    found.models = models.collect();
    found.notes = ready.found.iter().chain(&ready.picked).cloned().collect();
    found
}

fn sandbox_in_words(mode: sandbox::SandboxMode, sandbox: &Sandbox) -> String {
    match (mode, sandbox.check()) {
        (sandbox::SandboxMode::Off, _) => "off".to_owned(),
        (sandbox::SandboxMode::Workspace { network }, Ok(())) => {
            let network = if network { "with network" } else { "no network" };
            format!("on, only the session's directories can be written, {network}")
        }
        (_, Err(refused)) => format!("on, but commands cannot run: {refused}"),
    }
}

/// A provider's failure as a diagnosis; the hint in its text becomes the remedy.
fn diagnosis(failure: &ModelFailure) -> Diagnosis {
    let message = failure.message.as_str();
    let (message, remedy) = message.split_once("\nhint: ").unwrap_or((message, ""));
    Diagnosis::new(DiagnosisReason::Inside(failure.category.as_str()), message, remedy)
}
