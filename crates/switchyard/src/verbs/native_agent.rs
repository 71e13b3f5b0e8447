//! `switchyard native-agent`: the built-in agent as a process of its own.

use std::process::ExitCode;
use std::sync::Arc;

use agent::native::discovery::CANDIDATES;
use agent::native::models::Models;
use agent::native::sandbox::Sandbox;
use agent::native::{self, settings};
use runtimes::catalogue::BuiltInAgent;
use store::SqliteLog;
use tokio_util::sync::CancellationToken;
use wire::Category;

use crate::agents::native::{advice, setup_and_servers};
use crate::cli::hidden::NativeAgentArgs;
use crate::config::Config;
use crate::outcome::Failure;
use crate::signals::Signals;
use crate::this_process::own_exe;
use crate::{home, stdio};

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
    let (resolved, servers, refused) = match setup_and_servers(&config) {
        Ok((resolved, servers)) => (resolved, servers, None),
        Err(failure) => (native::config::ModelSetup::default(), Vec::new(), Some(failure)),
    };
    let system_prompt = resolved.system_prompt.clone();
    let context = table.context(&resolved);
    let mut tools = settings::ToolSettings::new(own_exe(), vec![bus::keeper::VERB.into()]);
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
        Some(failure) => Models::none_because(as_provider_failure(failure)),
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

/// Prints what is wrong with the configuration, and makes it the answer to every prompt.
fn as_provider_failure(failure: Failure) -> native::provider::ModelFailure {
    failure.say();
    let hint = failure.hint.map_or_else(String::new, |hint| format!("\nhint: {hint}"));
    let message = format!("{}{hint}", failure.message);
    native::provider::ModelFailure { category: Category::BadInput, message }
}
