//! `switchyard serve`: the place where sessions live.

mod agents;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use server::daemon::{Daemon, Settings, router};
use server::metrics::{self, Metrics};
use server::principal::Principal;
use sessions::desk::Desk;
use sessions::permission::Policy;

use crate::cli_serve::ServeArgs;
use crate::config::Config;
use crate::outcome::Failure;
use crate::service::{Drained, Service};
use crate::{control, format, world};

/// How long turns may go on after the daemon was asked to end.
const DRAIN: Duration = Duration::from_secs(30);
/// An idle session's worker costs memory; starting it again costs a wait.
const WORKER_IDLE: Duration = Duration::from_secs(15 * 60);
const PUT_ASIDE_AFTER: Duration = Duration::from_secs(60);

pub(crate) async fn serve(
    args: ServeArgs,
    config: Config,
    mut service: Service,
) -> Result<ExitCode, Failure> {
    let config = Arc::new(config);
    let mut yard = world::open_yard(&config).await?;
    yard.settings.questions_wait = true;
    yard.settings.worker_idle = Some(WORKER_IDLE);
    yard.settings.put_aside_after = Some(PUT_ASIDE_AFTER);
    let names = crate::agents::catalogue(&config)?;
    let metrics = Metrics::new(names.iter().map(|one| one.id.clone()).chain(["demo".to_owned()]));
    yard.settings.observers = yard.settings.observers.and(metrics.as_observer());
    let logging = service.logging.clone();
    metrics.dropped_lines_from(move || logging.n_dropped());
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
    let admitted = router(&daemon)
        .merge(metrics::router(&metrics))
        .layer(axum::Extension(Principal::local()))
        .layer(axum::middleware::from_fn_with_state(metrics, metrics::measure));
    let listener = match service.inherited.http.pop() {
        Some(listener) => tokio::net::TcpListener::from_std(listener),
        None => tokio::net::TcpListener::bind(args.host).await,
    };
    let listener = listener.with_context(|| format!("cannot listen on {}", args.host))?;
    let address = listener.local_addr().context("cannot tell where it listens")?;
    format::print(&format!("switchyard serve: http://{address}\n"))?;
    let stopping = daemon.stopping.clone();
    let serving = axum::serve(listener, admitted)
        .with_graceful_shutdown(async move { stopping.cancelled().await });
    let serving = tokio::spawn(async move { serving.await });
    let status = format!("http://{address}");
    service.ready(&status);
    let named = config.home.config.clone();
    service
        .until_asked_to_end(&status, async |service| {
            let fresh = crate::config::load(Some(&named), true)?;
            service.log_as(&fresh.file.log)
        })
        .await;
    daemon.stopping.cancel();
    let drained = service.drain("turns come to an end", daemon.desk.shut_down(DRAIN)).await;
    if drained == Drained::CutShort {
        tracing::warn!("ended before every turn had");
    }
    serving.abort();
    Ok(ExitCode::SUCCESS)
}
