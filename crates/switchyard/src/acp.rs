//! `switchyard acp`: an ACP agent on stdin and stdout, for editors.

mod refusing;
mod there;

use std::process::ExitCode;

use sessions::front::{self, FrontSetup};
use sessions::yard::Yard;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::cli::AcpArgs;
use crate::config::Config;
use crate::launching::{Wanted, agent_command};
use crate::native::NATIVE;
use crate::outcome::Failure;
use crate::reach::Daemon;
use crate::{control, stdio, world};
pub(crate) use refusing::refuse;

pub(crate) async fn serve(args: AcpArgs, config: Config) -> Result<ExitCode, Failure> {
    let stop = CancellationToken::new();
    stop_on_signals(&stop)?;
    match prepared(&args, &config).await {
        Ok(Prepared::There(socket)) => {
            there::serve(socket, config.settings().client_line_bytes, stop).await
        }
        Ok(Prepared::Here { yard, setup }) => {
            let _listening = control::listen(&config.home.run, &yard)?;
            let (reader, writer) = stdio::open();
            front::serve(yard, setup, reader, writer, stop).await;
            Ok(ExitCode::SUCCESS)
        }
        Err(failure) => Err(refuse(failure, &stop).await),
    }
}

/// What an editor is served with.
#[expect(clippy::large_enum_variant, reason = "there is one")]
enum Prepared {
    There(there::Socket),
    Here { yard: Yard, setup: FrontSetup },
}

async fn prepared(args: &AcpArgs, config: &Config) -> Result<Prepared, Failure> {
    let cwd = world::working_directory(args.agent.cwd.as_deref())?;
    let name = args.name.as_deref().or(args.agent.agent.as_deref());
    // Whoever names nothing gets the agent that is always there.
    let name = name.or_else(|| args.command.is_empty().then_some(NATIVE));
    if let Some(name) = name.filter(|_| args.command.is_empty()) {
        crate::agents::check(name, config)?;
    }
    let is_plain = !args.permissions.approve_reads && args.permissions.policy.is_none();
    if let Some(daemon) = Daemon::find_for(config).filter(|_| is_plain && !args.no_daemon) {
        return Ok(Prepared::There(there::open(args, name, config, &daemon, &cwd).await?));
    }
    let add_dirs = args.agent.add_dirs()?;
    let policy = world::policy(config, &args.permissions)?;
    let wanted = Wanted {
        name,
        command: &args.command,
        cwd: &cwd,
        permissions: world::runtime_mode(policy.mode),
        add_dirs: &add_dirs,
        model: None,
    };
    let agent = agent_command(config, &wanted).await?;
    let yard = world::open_yard(config).await?;
    let setup = FrontSetup::Own { agent, policy, additional_directories: add_dirs };
    Ok(Prepared::Here { yard, setup })
}

pub(crate) fn stop_on_signals(stop: &CancellationToken) -> anyhow::Result<()> {
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
