//! `switchyard acp`: an ACP agent on stdin and stdout, for editors.
//!
//! The daemon serves the editor: the one that runs, to which lines are only carried, or one that
//! is started in this process, for the editor alone. Either way it is the same front.

mod refusal;
mod relay;

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use runtimes::catalogue::BuiltInAgent;
use server::principal::Principal;
use sessions::order::SessionOrder;
use tokio_util::sync::CancellationToken;

use crate::agents::command::name_of;
use crate::cli::acp::AcpArgs;
use crate::command_daemon::RunningDaemon;
use crate::config::Config;
use crate::daemon::in_process::{InProcessDaemon, InProcessOptions};
use crate::outcome::Failure;
use crate::signals::stop_on_signals;
use crate::this_process::is_worker;
use crate::verbs::session_args;
use crate::verbs::session_args::add_dirs;
use crate::verbs::session_args::working_directory;
use crate::{stdio, this_process};
pub(crate) use refusal::refuse;

pub(crate) async fn serve(args: AcpArgs, config: Arc<Config>) -> Result<ExitCode, Failure> {
    let stop = CancellationToken::new();
    stop_on_signals(&stop)?;
    let max_line_bytes = config.file.limits.client_line_bytes;
    match prepare(&args, &config).await {
        Ok(EditorBackend::Relayed(socket)) => relay::serve(socket, max_line_bytes, stop).await,
        Ok(EditorBackend::InProcess(own, order)) => {
            let (daemon, editor) = (&own.daemon, Principal::in_process(is_worker()));
            server::acp::serve_in_process(daemon, &editor, *order, stdio::open(), stop).await;
            own.end().await;
            Ok(ExitCode::SUCCESS)
        }
        Err(failure) => Err(refuse(failure, &stop).await),
    }
}

/// The daemon that serves an editor.
enum EditorBackend {
    Relayed(Box<relay::DaemonSocket>),
    InProcess(InProcessDaemon, Box<SessionOrder>),
}

async fn prepare(args: &AcpArgs, config: &Arc<Config>) -> Result<EditorBackend, Failure> {
    let cwd = working_directory(args.agent.cwd.as_deref())?;
    let order = order(args, &cwd)?;
    if let Some(name) = order.agent.as_deref().filter(|_| args.command.is_empty()) {
        crate::agents::find(name, config)?;
    }
    // A running daemon cannot be given rules for this run alone.
    let is_plain = !args.permissions.approve_reads && args.permissions.policy.is_none();
    if let Some(daemon) = RunningDaemon::find_for(config).filter(|_| is_plain && !args.no_daemon) {
        let socket = relay::open(&order, config, &daemon).await?;
        return Ok(EditorBackend::Relayed(Box::new(socket)));
    }
    let policy = session_args::policy(config, &args.permissions)?;
    // An editor has few sessions; it need not pay for agents that it may never ask for.
    let options = InProcessOptions { policy, can_ask: true, ..InProcessOptions::default() };
    let own = InProcessDaemon::start(config, options).await?;
    Ok(EditorBackend::InProcess(own, Box::new(order)))
}

/// The order for the sessions of this editor. Whoever names no agent gets the built-in one.
fn order(args: &AcpArgs, cwd: &Path) -> Result<SessionOrder, Failure> {
    let name = args.name.clone().or_else(|| args.agent.agent.clone());
    let usual = || match args.command.is_empty() {
        true => BuiltInAgent::Native.id().to_owned(),
        false => name_of(&args.command),
    };
    let env = this_process::environment_for_agents();
    Ok(SessionOrder {
        agent: Some(name.unwrap_or_else(usual)),
        command: args.command.clone(),
        cwd: cwd.to_owned(),
        additional_directories: add_dirs(&args.agent)?,
        env: env.map(|env| env.into_iter().map(|(k, v)| (k.into(), v.into())).collect()),
        permissions: args.permissions.mode(),
        ..SessionOrder::default()
    })
}
