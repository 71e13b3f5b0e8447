//! `switchyard serve`: the place where sessions live.

mod agents;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use server::daemon::{Daemon, Settings, router};
use server::principal::Principal;
use sessions::desk::Desk;
use sessions::permission::Policy;

use crate::cli_serve::ServeArgs;
use crate::config::Config;
use crate::outcome::Failure;
use crate::signals::Signals;
use crate::{control, format, world};

/// How long turns may go on after the daemon was asked to end.
const DRAIN: Duration = Duration::from_secs(30);
/// An idle session's worker costs memory; starting it again costs a wait.
const WORKER_IDLE: Duration = Duration::from_secs(15 * 60);
const PUT_ASIDE_AFTER: Duration = Duration::from_secs(60);

pub(crate) async fn serve(args: ServeArgs, config: Config) -> Result<ExitCode, Failure> {
    let mut signals = Signals::listen()?;
    let config = Arc::new(config);
    let mut yard = world::open_yard(&config).await?;
    yard.settings.questions_wait = true;
    yard.settings.worker_idle = Some(WORKER_IDLE);
    yard.settings.put_aside_after = Some(PUT_ASIDE_AFTER);
    let policy = Policy { rules: config.rules()?, mode: config.file.permissions.mode };
    let _listening = control::listen(&config.home.run, &yard)?;
    let agents = Arc::new(agents::Catalogued::new(config.clone()));
    let desk = Desk::new(yard, agents, policy);
    let settings = Settings {
        default_agent: None,
        roots: Vec::new(),
        sessions_dir: config.home.state.join("sessions"),
        projects_dir: config.home.state.join("projects"),
    };
    let daemon = Daemon::new(desk, settings);
    let admitted = router(&daemon).layer(axum::Extension(Principal::local()));
    let listener = tokio::net::TcpListener::bind(args.host)
        .await
        .with_context(|| format!("cannot listen on {}", args.host))?;
    let address = listener.local_addr().context("cannot tell where it listens")?;
    format::print(&format!("switchyard serve: http://{address}\n"))?;
    let stopping = daemon.stopping.clone();
    let serving = axum::serve(listener, admitted)
        .with_graceful_shutdown(async move { stopping.cancelled().await });
    let serving = tokio::spawn(async move { serving.await });
    let code = signals.next().await;
    daemon.stopping.cancel();
    daemon.desk.shut_down(DRAIN).await;
    serving.abort();
    let _ = code;
    Ok(ExitCode::SUCCESS)
}
