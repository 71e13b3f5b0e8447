//! `switchyard acp`: an ACP agent on stdin and stdout, for editors.

mod there;

use std::process::ExitCode;

use sessions::front::{self, FrontSetup};
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::cli::AcpArgs;
use crate::config::Config;
use crate::launching::{Wanted, agent_command};
use crate::native::NATIVE;
use crate::outcome::Failure;
use crate::reach::Daemon;
use crate::{control, stdio, world};

pub(crate) async fn serve(args: AcpArgs, config: Config) -> Result<ExitCode, Failure> {
    let cwd = world::working_directory(args.agent.cwd.as_deref())?;
    let name = args.name.as_deref().or(args.agent.agent.as_deref());
    // Whoever names nothing gets the agent that is always there.
    let name = name.or_else(|| args.command.is_empty().then_some(NATIVE));
    if let Some(name) = name.filter(|_| args.command.is_empty()) {
        crate::agents::check(name, &config)?;
    }
    let is_plain = !args.permissions.approve_reads && args.permissions.policy.is_none();
    if let Some(daemon) = Daemon::find_for(&config).filter(|_| is_plain && !args.no_daemon) {
        let stop = CancellationToken::new();
        stop_on_signals(&stop)?;
        return there::serve(&args, name, &config, &daemon, &cwd, stop).await;
    }
    let add_dirs = args.agent.add_dirs()?;
    let policy = world::policy(&config, &args.permissions)?;
    let wanted = Wanted {
        name,
        command: &args.command,
        cwd: &cwd,
        permissions: world::runtime_mode(policy.mode),
        add_dirs: &add_dirs,
        model: None,
    };
    let agent = agent_command(&config, &wanted).await?;
    let yard = world::open_yard(&config).await?;
    let _listening = control::listen(&config.home.run, &yard)?;
    let stop = CancellationToken::new();
    stop_on_signals(&stop)?;
    let setup = FrontSetup::Own { agent, policy, additional_directories: add_dirs };
    let (reader, writer) = stdio::open();
    front::serve(yard, setup, reader, writer, stop).await;
    Ok(ExitCode::SUCCESS)
}

fn stop_on_signals(stop: &CancellationToken) -> anyhow::Result<()> {
    for kind in [SignalKind::terminate(), SignalKind::interrupt(), SignalKind::hangup()] {
        let mut signals = signal(kind)?;
        let stop = stop.clone();
        task::spawn(async move {
            signals.recv().await;
            stop.cancel();
        });
    }
    Ok(())
}
